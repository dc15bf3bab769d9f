//! The one build of the workspace: every suite takes its programs, its libraries and its tests from it.
//!
//! Cargo chooses the features of a dependency by the packages that it is asked for, and builds all above it once for
//! each choice. So nothing else of the workspace is built for this machine, but what is to be seen as a user gets it.
//! The compiler is Clippy's, which lints what it compiles: a check of its own would compile all of it once more.

use crate::{context::Context, linter, log::Log, process};
use anyhow::{Context as _, bail};
use serde_json::Value;
use std::{
    collections::HashMap,
    env::consts::EXE_SUFFIX,
    path::{Path, PathBuf},
    process::Command,
};

/// The features beside the default ones: those of the bindings' generators, and the engine for many hosts.
pub(crate) const FEATURES: [&str; 2] = ["--features", "stepwell-ffi/bindgen,stepwell/restate"];

/// A program of tests.
#[derive(Clone, Debug)]
pub(crate) struct TestProgram {
    /// The package that it belongs to.
    pub(crate) package: String,
    /// Its name: that of the library, the program or the file of tests.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    path: PathBuf,
    /// The package's folder, in which it runs.
    folder: PathBuf,
}

/// What a program of tests tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The source from within.
    Unit,
    /// The package from without.
    Integration,
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
        let programs = self.made.workspace.get(|| build(self, log))?;
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
        let programs = self.build(log)?;
        let named = programs.iter().filter(|program| program.name == name);
        let found: Vec<_> = named
            .filter(|program| program.kind == Kind::Integration)
            .collect();
        if found.is_empty() {
            bail!("there is no test program `{name}`");
        }
        Ok(found)
    }
}

/// Cargo with Clippy's compiler for the workspace's own crates; a warning is an error.
pub(crate) fn linting_cargo(context: &Context) -> anyhow::Result<Command> {
    let mut cargo = process::cargo();
    cargo
        .current_dir(&context.root)
        // In the form in which `cargo clippy` hands on what is behind its `--`.
        .env(
            "CLIPPY_ARGS",
            "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__",
        );
    linter::set_up(context, &mut cargo)?;
    Ok(cargo)
}

fn build(context: &Context, log: &mut Log) -> anyhow::Result<Vec<TestProgram>> {
    crate::tools::rustup::component(log, "clippy", "clippy")?;
    programs(log, &mut the_build(context)?)
}

fn the_build(context: &Context) -> anyhow::Result<Command> {
    let mut cargo = linting_cargo(context)?;
    cargo.args(["build", "--workspace", "--all-targets"]);
    cargo.args(FEATURES);
    Ok(cargo)
}

/// What cargo says of the library of this name: <https://doc.rust-lang.org/cargo/reference/external-tools.html>.
pub(crate) fn library(context: &Context, log: &mut Log, name: &str) -> anyhow::Result<Value> {
    context.build(log)?;
    // All of it is there; cargo says it once more.
    let messages = messages(log, &mut the_build(context)?)?;
    let found = messages.into_iter().find(|message| {
        message["reason"] == "compiler-artifact"
            && message["target"]["name"] == name
            && message["profile"]["test"] == false
    });
    found.with_context(|| format!("there is no library `{name}`"))
}

/// Runs the build and gives back its programs of tests.
pub(crate) fn programs(log: &mut Log, cargo: &mut Command) -> anyhow::Result<Vec<TestProgram>> {
    let mut programs = HashMap::new();
    for message in messages(log, cargo)? {
        if let Some(program) = test_program(&message) {
            programs.insert(program.path.clone(), program);
        }
    }
    let mut programs: Vec<_> = programs.into_values().collect();
    programs.sort_by(|a, b| (&a.package, &a.name).cmp(&(&b.package, &b.name)));
    Ok(programs)
}

/// Runs the build and gives back what cargo says.
fn messages(log: &mut Log, cargo: &mut Command) -> anyhow::Result<Vec<Value>> {
    cargo.arg("--message-format=json-render-diagnostics");
    let output = log.build_output(cargo)?;
    if !output.status.success() {
        bail!(
            "`{}` failed: {}; {} says where",
            process::line(cargo),
            output.status,
            log.path().display()
        );
    }
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .map(|line| serde_json::from_str(line).context("cargo wrote what is not a message"))
        .collect()
}

/// The program of tests that a message of cargo's tells of:
/// <https://doc.rust-lang.org/cargo/reference/external-tools.html#artifact-messages>.
fn test_program(message: &Value) -> Option<TestProgram> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let target = &message["target"];
    let kind = match target["kind"][0].as_str()? {
        "bench" => return None,
        "test" => Kind::Integration,
        _ => Kind::Unit,
    };
    if message["profile"]["test"] != true {
        return None;
    }
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    let package = text(&message["package_id"])?;
    let package = package.rsplit_once('#')?.1;
    Some(TestProgram {
        // `name@version`, or the version alone where the folder has the package's name.
        package: match package.split_once('@') {
            Some((name, _)) => name.to_owned(),
            None => folder.file_name()?.to_string_lossy().into_owned(),
        },
        name: text(&target["name"])?,
        kind,
        path: text(&message["executable"])?.into(),
        folder: folder.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::{Kind, test_program};
    use serde_json::json;

    #[test]
    fn programs_of_tests_are_known_by_cargos_messages() {
        let mut message = json!({
            "reason": "compiler-artifact",
            "package_id": "path+file:///a/core#stepwell-core@0.1.0",
            "manifest_path": "/a/core/Cargo.toml",
            "target": { "kind": ["test"], "name": "legal" },
            "profile": { "test": true },
            "executable": "/a/target/debug/deps/legal-1",
        });
        let program = test_program(&message).unwrap();
        assert_eq!(program.package, "stepwell-core");
        assert_eq!(
            (program.name.as_str(), program.kind),
            ("legal", Kind::Integration)
        );
        assert_eq!(program.folder.to_str(), Some("/a/core"));

        message["package_id"] = json!("path+file:///a/core#0.1.0");
        assert_eq!(test_program(&message).unwrap().package, "core");
        message["target"]["kind"] = json!(["bench"]);
        assert!(test_program(&message).is_none());
        message["target"]["kind"] = json!(["cdylib", "lib"]);
        assert_eq!(test_program(&message).unwrap().kind, Kind::Unit);
        message["profile"]["test"] = json!(false);
        assert!(test_program(&message).is_none());
    }
}
