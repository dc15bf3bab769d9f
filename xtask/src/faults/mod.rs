//! Deliberate faults, which the tests must find. They are put into a copy of the repository, all of them in one build,
//! and a variable of the environment switches one on.
//!
//! Those written in `tests/faults` are found here; those that cargo-mutants thinks of, in `prove mutants`.

pub(crate) mod copy;
pub(crate) mod weave;
mod written;

use crate::{
    context::Context,
    log::Log,
    tools::rustup,
    workspace::{self, TestProgram},
};
use anyhow::{Context as _, bail};
use copy::Copy;
use std::{collections::BTreeMap, process::Command};
use weave::{Change, SWITCH, VARIABLE};
use written::Fault;

/// The faults of a run.
pub(crate) const RUN: &str = "tests/faults/run.toml";

/// The faults of the shared registry.
pub(crate) const REGISTRY: &str = "tests/faults/registry.toml";

/// The crates that the faulty sources are compiled in.
const CRATES: [&str; 2] = ["core/src/lib.rs", "tests/model/tests/interleavings/main.rs"];

/// The tests of `tests/model` with all written faults in them.
#[derive(Debug)]
pub(crate) struct Faulty {
    /// Each with the file that it is written in.
    faults: Vec<(&'static str, Fault)>,
    programs: Vec<TestProgram>,
}

/// One fault of those that are to be found.
pub(crate) struct Trial<'a> {
    number: usize,
    fault: &'a Fault,
    program: &'a TestProgram,
}

impl Faulty {
    /// Builds them, unless that is done.
    pub(crate) fn built<'a>(context: &'a Context, log: &mut Log) -> anyhow::Result<&'a Self> {
        context.made.faulty.get(|| build(context, log))
    }

    /// The test program of this name, with no fault switched on.
    pub(crate) fn program(&self, name: &str) -> anyhow::Result<&TestProgram> {
        let program = self.programs.iter().find(|program| program.name == name);
        program.with_context(|| format!("there is no test program `{name}`"))
    }

    /// A trial of each fault that is written in this file, with the test program of this name.
    pub(crate) fn trials(&self, file: &str, test: &str) -> anyhow::Result<Vec<Trial<'_>>> {
        let program = self.program(test)?;
        let of_file = self.faults.iter().enumerate();
        let of_file = of_file.filter(|(_, (of, _))| *of == file);
        Ok(of_file
            .map(|(number, (_, fault))| Trial {
                number,
                fault,
                program,
            })
            .collect())
    }
}

impl Trial<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.program.command();
        command
            .env(VARIABLE, self.number.to_string())
            .args(arguments);
        command
    }

    /// Runs the tests with the fault, and these variables: one must fail, and say what it found.
    pub(crate) fn is_found(
        &self,
        log: &mut Log,
        arguments: &[&str],
        variables: &[(&str, String)],
    ) -> anyhow::Result<()> {
        let Fault { name, shows, .. } = self.fault;
        let mut tests = self.command(arguments);
        tests.envs(variables.iter().map(|(name, value)| (name, value)));
        let output = log.output(&mut tests)?;
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().find(|line| line.contains(shows));
        match line {
            Some(line) if !output.status.success() => log.write(&format!("{name}: {line}")),
            _ => {
                log.write(&text)?;
                let what = &self.fault.what;
                bail!("the fault {name} is not found ({what}): no test fails and says `{shows}`")
            }
        }
    }

    /// Runs tests that must pass with the fault too.
    pub(crate) fn passes(&self, log: &mut Log, arguments: &[&str]) -> anyhow::Result<()> {
        let passed = log.run(&mut self.command(arguments));
        passed.with_context(|| format!("with the fault {}", self.fault.name))
    }
}

fn build(context: &Context, log: &mut Log) -> anyhow::Result<Faulty> {
    let mut faults = Vec::new();
    for file in [RUN, REGISTRY] {
        let written = written::read(&context.root.join(file))?;
        faults.extend(written.into_iter().map(|fault| (file, fault)));
    }
    let copy = Copy::make(
        context,
        log,
        &context.scratch().join("faults"),
        &[
            "core/src/run/",
            "core/src/registry/",
            CRATES[0],
            CRATES[1],
            MANIFEST,
        ],
    )?;
    let mut changes: BTreeMap<&str, Vec<Change>> = BTreeMap::new();
    for (number, (file, fault)) in faults.iter().enumerate() {
        for edit in &fault.edits {
            let source = copy.sources.get(&edit.file);
            let change = source
                .context("there is no such file in core/src/run or core/src/registry")
                .and_then(|source| edit.change(number, source))
                .with_context(|| format!("the fault {} of {file}: {}", fault.name, edit.file))?;
            changes.entry(&edit.file).or_default().push(change);
        }
    }
    for (name, source) in &copy.sources {
        let mut text = match changes.remove(name.as_str()) {
            Some(changes) => weave::weave(source, changes).text,
            None => source.clone(),
        };
        if CRATES.contains(&name.as_str()) {
            text.push_str(SWITCH);
        }
        if name == MANIFEST {
            text = of_another_version(&text, &context.version()?)?;
        }
        copy.write(name, &text)?;
    }
    // What is compiled for the checker alone is linted here.
    let mut cargo = workspace::linting_cargo(context)?;
    cargo
        .current_dir(&copy.root)
        .args(["test", "--no-run", "--package", "stepwell-model"])
        .args(["--features", "search", "--target-dir"])
        .arg(&context.target)
        // Macros and build scripts, which are not optimised where a target is named, are then those of the one build.
        .args(["--target", &rustup::host(log)?])
        // A fault shows soon: what the compiler would take to make it faster is more than it would save.
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
    for package in ["stepwell-core", "stepwell-model"] {
        for check in ["debug-assertions", "overflow-checks"] {
            let off = format!("profile.dev.package.{package}.{check}=false");
            cargo.args(["--config", &off]);
        }
    }
    let programs = workspace::programs(log, &mut cargo)?;
    Ok(Faulty { faults, programs })
}

const MANIFEST: &str = "Cargo.toml";

/// The manifest with a version of its own: the copy shares its dependencies' build with the workspace, and in that
/// folder cargo tells the two by name and version.
fn of_another_version(manifest: &str, version: &str) -> anyhow::Result<String> {
    let line = format!("\nversion = \"{version}\"\n");
    if manifest.matches(&line).count() != 1 {
        bail!("{MANIFEST} does not have one line with the version {version}");
    }
    Ok(manifest.replace(&line, &format!("\nversion = \"{version}+faults\"\n")))
}

#[cfg(test)]
mod tests {
    use super::of_another_version;

    #[test]
    fn the_copy_has_a_version_of_its_own() {
        let manifest = "[workspace.package]\nversion = \"1.2.3\"\n";
        let changed = of_another_version(manifest, "1.2.3").unwrap();
        assert_eq!(changed, "[workspace.package]\nversion = \"1.2.3+faults\"\n");
        assert!(of_another_version(manifest, "1.2.4").is_err());
    }
}
