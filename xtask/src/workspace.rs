//! The one build of the workspace: every suite takes its programs, its libraries and its tests from it.
//!
//! Cargo chooses the features of a dependency by the packages that it is asked for, and builds all above it once for
//! each choice. So nothing else of the workspace is built for this machine, except packages as a user gets them. The
//! compiler is Clippy's, which lints what it compiles: a check of its own would compile all of it again.

use crate::{context::Context, log::Log, process, tools::rustup};
use anyhow::{Context as _, ensure};
use cargo_metadata::{Artifact, Message, TargetKind};
use std::{
    collections::BTreeMap,
    env::consts::EXE_SUFFIX,
    path::{Path, PathBuf},
    process::Command,
};

/// The features in addition to the default ones: the engine for many hosts, and the stores of Python's wheel.
/// Dev-dependencies ask for those that tests need.
pub(crate) const FEATURES: [&str; 2] = [
    "--features",
    "stepwell/restate,stepwell-ffi/aws,stepwell-ffi/postgres",
];

/// A program of tests.
#[derive(Clone, Debug)]
pub(crate) struct TestProgram {
    /// The package that it belongs to.
    pub(crate) package: String,
    /// Its name: that of the library, the program or the file of tests.
    pub(crate) name: String,
    /// Whether it tests the package from outside.
    is_integration: bool,
    path: PathBuf,
    /// The package's folder, in which it runs.
    folder: PathBuf,
}

impl TestProgram {
    /// Runs it, as `cargo test` does.
    pub(crate) fn command(&self) -> Command {
        let mut command = process::command(&self.path);
        command
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }
}

impl Context {
    /// Builds the workspace, unless that is done.
    pub(crate) fn build(&self, log: &mut Log) -> anyhow::Result<&[TestProgram]> {
        let programs = self.made.workspace.get(|| {
            rustup::component(log, "clippy", "clippy")?;
            programs(log, &mut the_build(self))
        })?;
        Ok(programs)
    }

    /// A program of the workspace.
    pub(crate) fn program(&self, log: &mut Log, name: &str) -> anyhow::Result<PathBuf> {
        self.build(log)?;
        Ok(self.debug().join(format!("{name}{EXE_SUFFIX}")))
    }

    /// The integration tests of this name, of whatever package.
    pub(crate) fn integration_tests(
        &self,
        log: &mut Log,
        name: &str,
    ) -> anyhow::Result<Vec<&TestProgram>> {
        let programs = self.build(log)?.iter();
        let named = programs.filter(|program| program.is_integration && program.name == name);
        let found: Vec<_> = named.collect();
        ensure!(!found.is_empty(), "there is no test program `{name}`");
        Ok(found)
    }

    /// Runs them, set up as they need it.
    pub(crate) fn test(
        &self,
        log: &mut Log,
        name: &str,
        arguments: &[&str],
        set_up: impl Fn(&mut Command),
    ) -> anyhow::Result<()> {
        for program in self.integration_tests(log, name)? {
            let mut tests = program.command();
            set_up(tests.args(arguments));
            log.run_tests(&mut tests)?;
        }
        Ok(())
    }
}

/// Cargo with Clippy's compiler for the workspace's own crates; a warning is an error.
pub(crate) fn linting_cargo(context: &Context) -> Command {
    let mut cargo = process::cargo();
    let linter = context.root.join("xtask/linter.sh");
    // Not by a variable, which cargo in a test would find too.
    let wrapper = format!("build.rustc-workspace-wrapper='{}'", linter.display());
    // In the form in which `cargo clippy` hands on what is behind its `--`.
    let denied = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";
    cargo
        .args(["--config", &wrapper])
        .env("CLIPPY_ARGS", denied)
        .current_dir(&context.root);
    cargo
}

fn the_build(context: &Context) -> Command {
    let mut cargo = linting_cargo(context);
    cargo
        // With `--all-targets` there would be a harness for benchmarks of each library and program.
        .args("build --workspace --lib --bins --tests --bench *".split(' '))
        .args(FEATURES);
    cargo
}

/// Returns cargo's artifact of the library of this name.
pub(crate) fn library(context: &Context, log: &mut Log, name: &str) -> anyhow::Result<Artifact> {
    context.build(log)?;
    // The build is complete; cargo reports it again.
    let mut artifacts = artifacts(log, &mut the_build(context))?.into_iter();
    let found = artifacts.find(|it| it.target.name == name && !it.profile.test);
    found.with_context(|| format!("there is no library `{name}`"))
}

/// Runs the build and returns its test programs.
pub(crate) fn programs(log: &mut Log, cargo: &mut Command) -> anyhow::Result<Vec<TestProgram>> {
    let programs = artifacts(log, cargo)?.into_iter().filter_map(|artifact| {
        let program = test_program(artifact)?;
        Some(((program.package.clone(), program.path.clone()), program))
    });
    Ok(programs.collect::<BTreeMap<_, _>>().into_values().collect())
}

/// Runs the build and returns the artifacts that cargo reports.
fn artifacts(log: &mut Log, cargo: &mut Command) -> anyhow::Result<Vec<Artifact>> {
    let said = log.read_build(cargo.arg("--message-format=json-render-diagnostics"))?;
    let mut artifacts = Vec::new();
    for message in Message::parse_stream(said.as_bytes()) {
        if let Message::CompilerArtifact(artifact) = message? {
            artifacts.push(artifact);
        }
    }
    Ok(artifacts)
}

fn test_program(artifact: Artifact) -> Option<TestProgram> {
    let target = artifact.target;
    if !artifact.profile.test || target.is_bench() {
        return None;
    }
    let folder: &Path = artifact.manifest_path.parent()?.as_ref();
    // `name@version`, or the version alone where the folder has the package's name.
    let (_, package) = artifact.package_id.repr.rsplit_once('#')?;
    let package = match package.split_once('@') {
        Some((name, _)) => name.to_owned(),
        None => folder.file_name()?.to_string_lossy().into_owned(),
    };
    Some(TestProgram {
        package,
        is_integration: target.kind.contains(&TargetKind::Test),
        name: target.name,
        path: artifact.executable?.into(),
        folder: folder.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::test_program;
    use serde_json::{Value, json};

    #[test]
    fn programs_of_tests_are_known_by_cargos_messages() {
        let mut message = json!({
            "package_id": "path+file:///a/core#stepwell-core@0.1.0",
            "manifest_path": "/a/core/Cargo.toml",
            "target": { "kind": ["test"], "name": "legal", "src_path": "/a/core/tests/legal.rs" },
            "profile": {
                "opt_level": "0", "debuginfo": 0, "debug_assertions": true, "overflow_checks": true, "test": true
            },
            "features": [], "filenames": [], "fresh": true,
            "executable": "/a/target/debug/deps/legal-1",
        });
        let program = |message: &Value| {
            let artifact = serde_json::from_value(message.clone());
            test_program(artifact.unwrap())
        };
        let legal = program(&message).unwrap();
        assert_eq!(legal.package, "stepwell-core");
        assert_eq!((legal.name.as_str(), legal.is_integration), ("legal", true));
        assert_eq!(legal.folder.to_str(), Some("/a/core"));

        message["package_id"] = json!("path+file:///a/core#0.1.0");
        assert_eq!(program(&message).unwrap().package, "core");
        message["target"]["kind"] = json!(["bench"]);
        assert!(program(&message).is_none());
        message["target"]["kind"] = json!(["cdylib", "lib"]);
        assert!(!program(&message).unwrap().is_integration);
        message["profile"]["test"] = json!(false);
        assert!(program(&message).is_none());
    }
}
