//! Cargo for maturin, which would build the bindings' library for itself: it returns the library that exists.
//!
//! maturin asks cargo for one package, and for one package cargo chooses other features of the dependencies than for
//! the workspace: so all of them would be compiled again.

use crate::{context::Context, log::Log, process, workspace};
use anyhow::Context as _;
use std::{env, fs, os::unix::fs::PermissionsExt as _, process::Command};

/// Has `maturin` find the library and the generators of the one build.
pub(crate) fn set_up(
    context: &Context,
    log: &mut Log,
    maturin: &mut Command,
) -> anyhow::Result<()> {
    let folder = context.emptied("built-cargo")?;
    let mut library = workspace::library(context, log, "stepwell_ffi")?;
    for file in &mut library.filenames {
        let copy = folder.join(file.file_name().context("cargo named a folder")?);
        // maturin moves it away for a while.
        fs::copy(&*file, &copy)?;
        *file = copy.try_into()?;
    }
    let mut message = serde_json::to_value(&library)?;
    message["reason"] = "compiler-artifact".into();
    let said = folder.join("library.json");
    fs::write(&said, format!("{message}\n"))?;
    let path = env::var_os("PATH").context("there is no PATH")?;
    // `cargo rustc` has built the library, `cargo run` runs a program that there is, and all else is cargo's.
    let script = format!(
        "#!/bin/sh\n\
         case $1 in\n\
         rustc) exec cat '{said}' ;;\n\
         run)\n\
         while [ \"$1\" != --bin ]; do shift; done\n\
         program=$2\n\
         while [ \"$1\" != generate ]; do shift; done\n\
         exec '{programs}'/\"$program\" \"$@\" ;;\n\
         *) PATH='{path}' CARGO='{cargo}' exec '{cargo}' \"$@\" ;;\n\
         esac\n",
        said = said.display(),
        programs = context.debug().display(),
        path = path.to_string_lossy(),
        cargo = process::cargo().get_program().display(),
    );
    let cargo = folder.join("cargo");
    fs::write(&cargo, script)?;
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755))?;
    let folders = std::iter::once(folder).chain(env::split_paths(&path));
    maturin
        .env("PATH", env::join_paths(folders)?)
        .env("CARGO", &cargo);
    Ok(())
}
