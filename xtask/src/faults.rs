//! Deliberate faults, which the searches of `tests/model` must find: `tests/faults` lists them. They are all put into
//! one copy of the repository and built once, and an environment variable switches one on.

use crate::{
    context::Context,
    log::Log,
    process,
    workspace::{self, TestProgram},
};
use anyhow::{Context as _, ensure};
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The faults of a run.
pub(crate) const RUN: &str = "tests/faults/run.toml";

/// The faults of the shared registry.
pub(crate) const REGISTRY: &str = "tests/faults/registry.toml";

/// The crates that the faulty sources are compiled in, and what they get to know which fault is on.
const CRATES: [&str; 2] = ["core/src/lib.rs", "tests/model/tests/interleavings/main.rs"];
const SWITCH: &str = r#"
/// Returns whether this fault is on.
#[allow(clippy::disallowed_methods)]
pub(crate) fn fault(name: &str) -> bool {
    static ON: std::sync::LazyLock<Option<String>> =
        std::sync::LazyLock::new(|| std::env::var("STEPWELL_FAULT").ok());
    ON.as_deref() == Some(name)
}
"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    fault: Vec<Fault>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fault {
    pub(crate) name: String,
    /// The fault, in words.
    what: String,
    /// A part of the message of the test that finds it.
    shows: String,
    /// The bounds that it shows in, where it takes long to come to them.
    bounds: Option<String>,
    edits: Vec<Edit>,
}

/// A text of a source, and what replaces it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    file: String,
    find: String,
    with: String,
}

/// The tests of `tests/model` with all faults in them.
pub(crate) struct Faulty(Vec<TestProgram>);

impl Faulty {
    /// Builds them, unless that is done.
    pub(crate) fn built<'a>(context: &'a Context, log: &mut Log) -> anyhow::Result<&'a Self> {
        context.made.faulty.get(|| build(context, log))
    }

    /// The test program of this name, with no fault switched on.
    pub(crate) fn program(&self, name: &str) -> anyhow::Result<&TestProgram> {
        let program = self.0.iter().find(|program| program.name == name);
        program.with_context(|| format!("there is no test program `{name}`"))
    }

    /// A command for this test program with each fault of a file on.
    pub(crate) fn commands(
        &self,
        context: &Context,
        file: &str,
        program: &str,
    ) -> anyhow::Result<Vec<(Fault, Command)>> {
        let program = self.program(program)?;
        let with = |fault: Fault| {
            let mut command = program.command();
            command.env("STEPWELL_FAULT", &fault.name);
            command.env(
                "STEPWELL_BOUNDS",
                fault.bounds.as_deref().unwrap_or_default(),
            );
            (fault, command)
        };
        Ok(read(&context.root, file)?.into_iter().map(with).collect())
    }
}

/// Runs tests with each fault: one must fail, and report what it found.
pub(crate) fn are_found(
    log: &mut Log,
    tests: Vec<(Fault, Command)>,
    arguments: &[&str],
) -> anyhow::Result<()> {
    let count = tests.len();
    for (fault, mut tests) in tests {
        let Fault {
            name, what, shows, ..
        } = &fault;
        let output = log.output(tests.args(arguments))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().find(|line| line.contains(shows));
        log.write(&format!("{name}: {}", line.unwrap_or(&text)))?;
        ensure!(
            line.is_some() && !output.status.success(),
            "the fault {name} is not found ({what}): no test fails and says `{shows}`"
        );
    }
    log.say(&format!("{count} faults found"))
}

fn read(root: &Path, file: &str) -> anyhow::Result<Vec<Fault>> {
    let text = fs::read_to_string(root.join(file))?;
    let file: File = toml::from_str(&text).with_context(|| format!("cannot read {file}"))?;
    Ok(file.fault)
}

fn build(context: &Context, log: &mut Log) -> anyhow::Result<Faulty> {
    let mut sources = BTreeMap::new();
    let mut edit = |file: &str, change: &dyn Fn(&str) -> anyhow::Result<String>| {
        let source = match sources.remove(file) {
            Some(source) => source,
            None => fs::read_to_string(context.root.join(file))?,
        };
        let changed = change(&source).with_context(|| file.to_owned())?;
        anyhow::Ok(sources.insert(file.to_owned(), changed))
    };
    for file in [RUN, REGISTRY] {
        for fault in read(&context.root, file)? {
            for Edit { file, find, with } in &fault.edits {
                edit(file, &|source| replaced(source, find, with))
                    .with_context(|| format!("the fault {}", fault.name))?;
            }
        }
    }
    for file in CRATES {
        edit(file, &|source| Ok(source.to_owned() + SWITCH))?;
    }
    // The copy shares its dependencies' build with the workspace, and in that folder cargo tells the two by their versions.
    let version = format!("\nversion = \"{}", context.version()?);
    edit("Cargo.toml", &|manifest| {
        replaced(manifest, &version, &format!("{version}+faults"))
    })?;
    let root = copy(context, log, sources)?;

    // The code that is compiled for the checker alone is linted here.
    let mut cargo = workspace::linting_cargo(context);
    cargo
        .args(["test", "--no-run", "--package", "stepwell-model"])
        .args(["--features", "search", "--target-dir"])
        .arg(&context.target)
        .current_dir(root);
    for package in ["stepwell-core", "stepwell-model"] {
        // A fault shows soon: what the compiler would take to make it faster is more than it would save. What they depend
        // on stays as it is, so that it is that of the one build.
        cargo.args([
            "--config",
            &format!("profile.dev.package.{package}.opt-level=1"),
        ]);
        for check in ["debug-assertions", "overflow-checks"] {
            let off = format!("profile.dev.package.{package}.{check}=false");
            cargo.args(["--config", &off]);
        }
    }
    Ok(Faulty(workspace::programs(log, &mut cargo)?))
}

fn replaced(source: &str, find: &str, with: &str) -> anyhow::Result<String> {
    let count = source.matches(find).count();
    ensure!(
        count == 1,
        "this must occur once, and is found {count} times: `{find}`"
    );
    Ok(source.replace(find, with))
}

/// Copies all that git knows or would add, with these files changed.
fn copy(
    context: &Context,
    log: &mut Log,
    mut changed: BTreeMap<String, String>,
) -> anyhow::Result<PathBuf> {
    let root = context.scratch().join("faults");
    let files = ["ls-files", "--cached", "--others", "--exclude-standard"];
    let mut git = process::command("git");
    let names = log.read(git.args(files).current_dir(&context.root))?;
    let known: BTreeSet<PathBuf> = names.lines().map(|name| root.join(name)).collect();
    remove_unknown(&root, &known)?;
    for name in names.lines() {
        let copy = root.join(name);
        let bytes = match changed.remove(name) {
            Some(text) => text.into_bytes(),
            None => match fs::read(context.root.join(name)) {
                Ok(bytes) => bytes,
                Err(_) => continue, // deleted, and not yet committed
            },
        };
        // Cargo builds again what is newer, so a file that is right stays as it is.
        if !fs::read(&copy).is_ok_and(|there| there == bytes) {
            fs::create_dir_all(copy.parent().unwrap_or(&root))?;
            fs::write(&copy, bytes)?;
        }
    }
    Ok(root)
}

/// Removes what an earlier copy had, and the project has no more: cargo would compile it.
fn remove_unknown(folder: &Path, known: &BTreeSet<PathBuf>) -> anyhow::Result<()> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() {
            remove_unknown(&path, known)?;
        } else if !known.contains(&path) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn replaces_what_occurs_once() {
        assert_eq!(replaced("a b", "b", "c").unwrap(), "a c");
        for text in ["a", "b b"] {
            assert!(replaced(text, "b", "c").is_err(), "{text}");
        }
    }
}
