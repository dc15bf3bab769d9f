//! The Maven package: a jar with the native library inside, its sources and their documentation, in a repository that
//! is a folder.

use super::{copied, emptied};
use crate::{
    bindings::{self, Language},
    context::Context,
    log::Log,
    process,
    tools::apt,
};
use anyhow::{Context as _, bail};
use std::{
    env::{
        self,
        consts::{ARCH, DLL_PREFIX, DLL_SUFFIX, OS},
    },
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Names a folder with libraries of other platforms, each in a folder as JNA names it: they go into the jar too.
const NATIVES: &str = "STEPWELL_NATIVES";

/// Makes the package, and reports its size.
pub(crate) fn make(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    ensure_tools(log)?;
    bindings::generate(context, log, Language::Kotlin)?;
    log.build(
        process::cargo()
            .args(["build", "-p", "stepwell-ffi", "--lib"])
            .args(["--profile", "shipped"])
            .current_dir(&context.root),
    )?;
    let library = context.target.join("shipped").join(library_name());
    deploy(context, log, &library, |maven| {
        maven.args(["-Dmaven.test.skip=true", "-Pdocumentation"]);
    })
}

/// Makes sure that the tools for a package are there.
pub(crate) fn ensure_tools(log: &mut Log) -> anyhow::Result<()> {
    let packages = ["default-jdk-headless", "maven", "binutils"];
    apt::ensure(log, &["java", "mvn", "strip"], &packages)
}

/// Tests the package, unless `set_up` skips that, and puts it into a repository, with `library` in it.
pub(crate) fn deploy(
    context: &Context,
    log: &mut Log,
    library: &Path,
    set_up: impl FnOnce(&mut Command),
) -> anyhow::Result<PathBuf> {
    let natives = natives(context, log, library)?;
    let repository = emptied(context.target.join("package/kotlin"))?;
    let address = format!("packages::file://{}", repository.display());
    let mut maven = process::command("mvn");
    maven
        .args(["--batch-mode", "--no-transfer-progress", "deploy"])
        .arg("-Dmaven.install.skip=true")
        .arg(format!("-Dstepwell.natives={}", natives.display()))
        .arg(format!("-DaltDeploymentRepository={address}"))
        .current_dir(context.root.join("bindings/kotlin"));
    set_up(&mut maven);
    log.run(&mut maven)?;
    // Maven keeps what it once took from a repository, and looks no more: an earlier build's package, of the same version.
    let home = env::home_dir().context("there is no home folder")?;
    emptied(home.join(".m2/repository/dev/stepwell/stepwell-kotlin"))?;
    Ok(repository)
}

/// Lays the libraries out as JNA looks for them in a jar: this platform's, stripped, and those that were built elsewhere.
fn natives(context: &Context, log: &mut Log, library: &Path) -> anyhow::Result<PathBuf> {
    let natives = emptied(context.target.join("package/kotlin-natives"))?;
    if let Some(others) = env::var_os(NATIVES) {
        copied(Path::new(&others), &natives)?;
    }
    let copy = natives.join(jna_platform(OS, ARCH)?).join(library_name());
    copied(library, &copy)?;
    let is_mac = OS == "macos";
    let how = if is_mac { "-x" } else { "--strip-unneeded" };
    log.run(process::command("strip").arg(how).arg(&copy))?;
    let size = fs::metadata(&copy)?.len();
    log.say(&format!("the native library in the jar: {size} bytes"))?;
    Ok(natives)
}

fn library_name() -> String {
    format!("{DLL_PREFIX}stepwell_ffi{DLL_SUFFIX}")
}

/// Returns JNA's name of a platform: `com.sun.jna.Platform.RESOURCE_PREFIX`.
fn jna_platform(os: &str, arch: &str) -> anyhow::Result<String> {
    let os = match os {
        "macos" => "darwin",
        "windows" => "win32",
        "linux" => "linux",
        other => bail!("there is no package for {other}"),
    };
    let arch = if arch == "x86_64" { "x86-64" } else { arch };
    Ok(format!("{os}-{arch}"))
}

#[cfg(test)]
mod tests {
    use super::jna_platform;

    #[test]
    fn platforms_have_the_names_that_jna_looks_for() {
        let cases = [
            ("linux", "x86_64", "linux-x86-64"),
            ("linux", "aarch64", "linux-aarch64"),
            ("macos", "aarch64", "darwin-aarch64"),
            ("windows", "x86_64", "win32-x86-64"),
        ];
        for (os, arch, name) in cases {
            assert_eq!(jna_platform(os, arch).expect("a platform"), name);
        }
        assert!(jna_platform("plan9", "x86_64").is_err());
    }
}
