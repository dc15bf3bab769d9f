//! Cargo for a tool that would build the bindings' library for itself: it is told of the one that there is.
//!
//! maturin asks cargo for one package, and for one package cargo chooses other features of the dependencies than for the
//! workspace: so all of them would be compiled once more.

use crate::{context::Context, log::Log, process, workspace};
use anyhow::Context as _;
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Has `tool` find the library and the generators of the one build.
pub(crate) fn set_up(context: &Context, log: &mut Log, tool: &mut Command) -> anyhow::Result<()> {
    let folder = context.scratch().join("built-cargo");
    fs::create_dir_all(&folder)?;
    let message = message(context, log, &folder)?;
    let real = process::cargo();
    let script = folder.join("cargo");
    let path = env::var_os("PATH").context("there is no PATH")?;
    let text = script_text(
        Path::new(real.get_program()),
        &path.to_string_lossy(),
        &message,
        &context.debug(),
    );
    fs::write(&script, text)?;
    executable(&script)?;
    let folders = std::iter::once(folder).chain(env::split_paths(&path));
    tool.env("PATH", env::join_paths(folders)?)
        .env("CARGO", &script);
    Ok(())
}

/// Where cargo's message of the library is kept. The library is a copy, since maturin moves it away for a while.
fn message(context: &Context, log: &mut Log, folder: &Path) -> anyhow::Result<PathBuf> {
    let mut message = workspace::library(context, log, "stepwell_ffi")?;
    for file in message["filenames"].as_array_mut().into_iter().flatten() {
        let original = PathBuf::from(file.as_str().context("cargo named no file")?);
        let name = original.file_name().context("cargo named a folder")?;
        let copy = folder.join(name);
        fs::copy(&original, &copy)
            .with_context(|| format!("cannot copy {}", original.display()))?;
        *file = copy.to_string_lossy().into();
    }
    let kept = folder.join("library.json");
    fs::write(&kept, format!("{message}\n"))?;
    Ok(kept)
}

/// `cargo rustc` has built the library, `cargo run` runs a program that there is, and all else is cargo's.
fn script_text(cargo: &Path, path: &str, message: &Path, programs: &Path) -> String {
    format!(
        "#!/bin/sh\n\
         case $1 in\n\
         rustc) exec cat '{}' ;;\n\
         run)\n\
         while [ \"$1\" != --bin ]; do shift; done\n\
         program=$2\n\
         while [ \"$1\" != generate ]; do shift; done\n\
         exec '{}'/\"$program\" \"$@\" ;;\n\
         *) PATH='{path}' CARGO='{cargo}' exec '{cargo}' \"$@\" ;;\n\
         esac\n",
        message.display(),
        programs.display(),
        cargo = cargo.display(),
    )
}

#[cfg(unix)]
fn executable(script: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs::set_permissions(
        script,
        fs::Permissions::from_mode(0o755),
    )?)
}

#[cfg(not(unix))]
fn executable(_: &Path) -> anyhow::Result<()> {
    Ok(())
}
