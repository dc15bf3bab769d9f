//! The Swift package, from a repository that stands for the one on GitHub. On Linux the native library is not in it: there
//! it is linked where it was built.

use super::{Install, trial::Trial};
use crate::{
    packages::swift as package,
    process,
    tools::{
        apt, mock_llm,
        swift::{OLDEST, Swift},
    },
};
use std::{fs, path::Path, process::Command};

pub(crate) const INSTALL: Install = Install {
    name: "swift",
    line: ".package(url: \"https://github.com/stepwell/stepwell-swift\", from: \"0.1.0\")",
    page: "docs/swift.md",
    make: package::make,
    run: |trial, package| {
        let mut swift = Swift::ensure(trial.context, trial.log, OLDEST)?;
        swift.see(trial.project());
        swift.see(trial.home());
        let model = mock_llm::start(trial.context, trial.log, None)?;
        let repository = trial.context.scratch().join("installs/stepwell-swift");
        commit(trial, package, &repository)?;
        trial.write(
            "Package.swift",
            &PROJECT.replace("// dependency", trial.line()),
        )?;
        trial.paste("swift/hello/Hello.swift", "Sources/Hello/Hello.swift")?;
        let library = trial.context.debug();
        let home = trial.home().to_owned();
        let project = trial.project().to_owned();
        let set_up = |mut command: Command| {
            let instead = format!("url.file://{}.insteadOf", repository.display());
            command
                .env("HOME", &home)
                .env("GIT_CONFIG_COUNT", "1")
                .env("GIT_CONFIG_KEY_0", instead)
                .env(
                    "GIT_CONFIG_VALUE_0",
                    "https://github.com/stepwell/stepwell-swift",
                )
                .env("LD_LIBRARY_PATH", &library)
                .env("DYLD_LIBRARY_PATH", &library)
                .env("STEPWELL_SYSTEM_LIBRARY", "1");
            command
        };
        let line = |arguments: &[&str]| {
            let mut command = set_up(swift.program("swift", &project));
            command.args(arguments);
            command
        };
        trial.install_by(&mut line(&["package", "resolve"]), "swift package resolve")?;
        trial.build_by(
            line(&["build"])
                .args(swift.flags())
                .args(["-Xlinker", &format!("-L{}", library.display())]),
            "swift build",
        )?;
        let built = project.join(".build/debug/Hello");
        let mut program = set_up(swift.program(&built.to_string_lossy(), &project));
        trial.first_program(program.arg(model.base_url()), ".build/debug/Hello")
    },
};

/// A project as a user has one.
const PROJECT: &str = include_str!("Package.swift");

/// The package as a repository with a tag, as SwiftPM wants it.
fn commit(trial: &mut Trial<'_>, package: &Path, repository: &Path) -> anyhow::Result<()> {
    apt::ensure(trial.log, &["git"], &["git"])?;
    if repository.exists() {
        fs::remove_dir_all(repository)?;
    }
    crate::packages::copied(package, repository)?;
    let version = trial.context.version()?;
    for arguments in [
        &["init", "--quiet"][..],
        &["add", "--all", "--force"],
        &["commit", "--quiet", "--message", &version],
        &["tag", &version],
    ] {
        trial.log.set_up(
            process::command("git")
                .args([
                    "-c",
                    "user.name=Stepwell",
                    "-c",
                    "user.email=stepwell@localhost",
                ])
                .args(arguments)
                .current_dir(repository),
        )?;
    }
    Ok(())
}
