//! The Python wheel: one for every CPython 3, with the library stripped.

use super::Package;
use crate::{
    context::Context,
    log::Log,
    process,
    tools::{built_cargo, venv::Venv},
};
use anyhow::{Context as _, ensure};
use std::{
    fs,
    path::{Path, PathBuf},
};

pub(super) const PACKAGE: Package = Package {
    name: "python",
    about: "the Python wheel for this platform, stripped, and the source distribution",
    make,
};

fn make(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    let venv = venv(context, log)?;
    let folder = context.target.join("package/python");
    wheel(context, log, &venv, "shipped", &folder)?;
    log.run(
        venv.program("maturin")
            .args(["sdist", "--out"])
            .arg(&folder)
            .current_dir(sources(context)),
    )?;
    for file in fs::read_dir(&folder)? {
        let file = file?;
        let name = file.file_name();
        log.say(&format!(
            "{}: {} bytes",
            name.to_string_lossy(),
            file.metadata()?.len()
        ))?;
    }
    Ok(folder)
}

/// The wheel alone, as it would be published.
pub(crate) fn shipped(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    let venv = venv(context, log)?;
    wheel(
        context,
        log,
        &venv,
        "shipped",
        &context.target.join("package/python"),
    )
}

/// The environment with what builds and tests the wheel.
pub(crate) fn venv(context: &Context, log: &mut Log) -> anyhow::Result<Venv> {
    let requirements = sources(context).join("requirements-dev.txt");
    Venv::ensure(context, log, "venv", &requirements)
}

fn sources(context: &Context) -> PathBuf {
    context.root.join("bindings/python")
}

/// Builds the wheel in the folder, which is emptied, and strips its library.
pub(crate) fn wheel(
    context: &Context,
    log: &mut Log,
    venv: &Venv,
    profile: &str,
    folder: &Path,
) -> anyhow::Result<PathBuf> {
    let unstripped = context.scratch().join("wheel");
    for folder in [folder, &unstripped] {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)?;
    }
    // The generator reads the library's symbols, so it is stripped afterwards.
    let mut maturin = venv.program("maturin");
    maturin
        .args(["build", "--profile", profile, "--out"])
        .arg(&unstripped)
        .current_dir(sources(context))
        .env("CARGO_TARGET_DIR", &context.target);
    if profile == "dev" && cfg!(unix) {
        built_cargo::set_up(context, log, &mut maturin)?;
    }
    log.build(&mut maturin)?;
    let built = only_entry(&unstripped)?;
    if cfg!(target_os = "linux") {
        let packed = |command: &str| {
            let mut python = venv.python();
            python.args(["-m", "wheel", command]);
            python
        };
        let unpacked = unstripped.join("unpacked");
        log.run(packed("unpack").arg(&built).arg("--dest").arg(&unpacked))?;
        let contents = only_entry(&unpacked)?;
        let library = contents.join("stepwell/_ffi/libstepwell_ffi.so");
        log.run(
            process::command("strip")
                .arg("--strip-unneeded")
                .arg(&library),
        )?;
        log.say(&format!(
            "the wheel's library: {} bytes",
            fs::metadata(&library)?.len()
        ))?;
        log.run(packed("pack").arg(&contents).arg("--dest-dir").arg(folder))?;
    } else if let Some(name) = built.file_name() {
        fs::copy(&built, folder.join(name))?;
    }
    let wheel = only_entry(folder)?;
    let (version, name) = (context.version()?, file_name(&wheel));
    ensure!(
        name.starts_with(&format!("stepwell-{version}-py3-none-")),
        "the wheel is {name}, not of version {version} for every Python 3"
    );
    ensure!(
        !cfg!(target_os = "linux") || name.contains("manylinux"),
        "{name} is for no other Linux than this one"
    );
    if cfg!(target_os = "linux") {
        let check = sources(context).join("check_glibc.py");
        log.run(venv.python().arg(check).arg(&wheel))?;
    }
    log.say(&format!("{name}: {} bytes", fs::metadata(&wheel)?.len()))?;
    Ok(wheel)
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn only_entry(folder: &Path) -> anyhow::Result<PathBuf> {
    let entries = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<anyhow::Result<Vec<_>>>()?;
    ensure!(
        entries.len() == 1,
        "{} holds {} entries, not one",
        folder.display(),
        entries.len()
    );
    entries.into_iter().next().context("the folder is empty")
}
