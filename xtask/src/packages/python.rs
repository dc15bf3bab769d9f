//! The Python wheel: one for every CPython 3, with the library stripped.

use super::emptied;
use crate::{
    context::Context,
    log::Log,
    process,
    tools::{built_cargo, venv::Venv},
};
use anyhow::ensure;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

pub(super) fn make(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    shipped(context, log)?;
    let folder = context.target.join("package/python");
    let mut maturin = venv(context, log)?.program("maturin");
    maturin.args(["sdist", "--out"]).arg(&folder);
    log.run(maturin.current_dir(sources(context)))?;
    Ok(folder)
}

/// The wheel alone, as it would be published.
pub(crate) fn shipped(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    let venv = venv(context, log)?;
    let folder = context.target.join("package/python");
    wheel(context, log, &venv, "shipped", &folder)
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
    let unstripped = context.emptied("wheel")?;
    emptied(folder.to_owned())?;
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
        strip(log, venv, &built, &unstripped.join("unpacked"), folder)?;
    } else if let Some(name) = built.file_name() {
        fs::copy(&built, folder.join(name))?;
    }
    let wheel = only_entry(folder)?;
    check(context, log, venv, &wheel)?;
    Ok(wheel)
}

/// Repacks a wheel into a folder, with its library stripped.
fn strip(
    log: &mut Log,
    venv: &Venv,
    wheel: &Path,
    unpacked: &Path,
    folder: &Path,
) -> anyhow::Result<()> {
    let mut unpack = venv.python();
    unpack.args(["-m", "wheel", "unpack"]).arg(wheel);
    log.run(unpack.arg("--dest").arg(unpacked))?;
    let contents = only_entry(unpacked)?;
    let library = contents.join("stepwell/_ffi/libstepwell_ffi.so");
    let mut strip = process::command("strip");
    log.run(strip.arg("--strip-unneeded").arg(&library))?;
    let mut pack = venv.python();
    pack.args(["-m", "wheel", "pack"]).arg(&contents);
    log.run(pack.arg("--dest-dir").arg(folder))
}

/// Checks that a wheel's name has the version, and that it is for every Linux of its architecture; reports its size.
fn check(context: &Context, log: &mut Log, venv: &Venv, wheel: &Path) -> anyhow::Result<()> {
    let name = wheel.file_name().unwrap_or_default().to_string_lossy();
    let expected = format!("stepwell-{}-py3-none-", context.version()?);
    ensure!(
        name.starts_with(&expected),
        "the wheel is {name}, not {expected}…"
    );
    if cfg!(target_os = "linux") {
        ensure!(
            name.contains("manylinux"),
            "{name} is for no other Linux than this one"
        );
        let check = sources(context).join("check_glibc.py");
        log.run(venv.python().arg(check).arg(wheel))?;
    }
    log.say(&format!("{name}: {} bytes", fs::metadata(wheel)?.len()))
}

/// Returns the content of a folder that has one file or folder.
fn only_entry(folder: &Path) -> anyhow::Result<PathBuf> {
    let entries: Vec<_> = fs::read_dir(folder)?.collect::<io::Result<_>>()?;
    let count = entries.len();
    ensure!(count == 1, "{} holds {count} entries", folder.display());
    Ok(entries[0].path())
}
