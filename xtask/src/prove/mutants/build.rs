//! A copy of the repository in which all mutants stand, and its tests.

use super::{
    list::{self, Mutant},
    notes::Notes,
};
use crate::{
    context::Context,
    faults::{
        copy::{Copy, files_below},
        weave::{self, SWITCH, Woven},
    },
    log::Log,
    process,
};
use anyhow::bail;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::Command,
};

/// Tests that hold all mutants.
pub(super) struct Built {
    /// The programs, by the name of their target.
    pub(super) tests: BTreeMap<String, PathBuf>,
    /// The folder that they are run in.
    pub(super) folder: PathBuf,
    /// Which mutants do not compile, and what was found out before.
    pub(super) notes: Notes,
}

/// Builds the tests with these mutants in them; those that do not compile are found and left out. `all` that are listed
/// say where the functions' bodies are.
pub(super) fn build(
    context: &Context,
    log: &mut Log,
    all: &[Mutant],
    mutants: &[Mutant],
    tests: &[&str],
) -> anyhow::Result<Built> {
    let place = context.scratch().join("mutants");
    let tree = Tree(Copy::make(
        context,
        log,
        &place.join("tree"),
        &[
            "core/src/journal/",
            "core/src/run/",
            "core/src/registry/",
            "core/src/lib.rs",
        ],
    )?);
    let mut notes = Notes::open(&place.join("notes"), tree.fingerprint()?)?;
    // The compiler goes by stages, and tells of the errors of one at a time.
    loop {
        let woven = tree.write(all, mutants, &notes.unviable)?;
        let mut command = tree.cargo(&place);
        let output = log.output(command.args(tests))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let found = blamed(&text, &woven)?;
        if found.is_empty() {
            if !output.status.success() {
                bail!(
                    "the tests with mutants in them were not built: {}",
                    output.status
                );
            }
            return Ok(Built {
                tests: messages(&text)
                    .filter_map(|message| executable(&message))
                    .collect(),
                folder: tree.0.root.join("core"),
                notes,
            });
        }
        log.write(&format!("{} do not compile", found.len()))?;
        notes.add_unviable(
            found
                .iter()
                .map(|number| mutants[*number].name.clone())
                .collect(),
        )?;
    }
}

/// The sources are the files that mutants lie in.
struct Tree(Copy);

impl Tree {
    /// A number that changes with the core's code.
    fn fingerprint(&self) -> anyhow::Result<u64> {
        let mut hasher = DefaultHasher::new();
        for path in files_below(&self.0.root.join("core/src"))? {
            if !self.is_source(&path) {
                fs::read(path)?.hash(&mut hasher);
            }
        }
        self.0.sources.hash(&mut hasher);
        Ok(hasher.finish())
    }

    /// Whether mutants lie in this file, or may.
    fn is_source(&self, path: &Path) -> bool {
        let name = path.strip_prefix(&self.0.root).ok().and_then(Path::to_str);
        name.is_some_and(|name| self.0.sources.contains_key(&name.replace('\\', "/")))
    }

    /// Writes the sources with the mutants that are left.
    fn write(
        &self,
        listed: &[Mutant],
        mutants: &[Mutant],
        without: &BTreeSet<String>,
    ) -> anyhow::Result<BTreeMap<String, Woven>> {
        let mut all = BTreeMap::new();
        for (name, source) in &self.0.sources {
            let of_file = listed.iter().filter(|mutant| mutant.file == *name);
            let bodies = list::bodies(source, of_file);
            let left = mutants
                .iter()
                .enumerate()
                .filter(|(_, mutant)| mutant.file == *name && !without.contains(&mutant.name));
            let changes = left
                .filter_map(|(number, mutant)| mutant.change(number, source, &bodies).transpose());
            let mut woven = weave::weave(source, changes.collect::<anyhow::Result<_>>()?);
            if name == "core/src/lib.rs" {
                woven.text.push_str(SWITCH);
            }
            self.0.write(name, &woven.text)?;
            all.insert(name.clone(), woven);
        }
        Ok(all)
    }

    fn cargo(&self, place: &Path) -> Command {
        let mut command = process::cargo();
        command
            .args([
                "test",
                "--no-run",
                "--package",
                "stepwell-core",
                "--profile",
                "mutants",
            ])
            // Built once, run a thousand times.
            .args([
                "--config",
                "profile.mutants.package.stepwell-core.opt-level=1",
            ])
            .args(["--message-format", "json", "--target-dir"])
            .arg(place.join("target"))
            .current_dir(&self.0.root);
        command
    }
}

fn messages(output: &str) -> impl Iterator<Item = Value> {
    output
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
}

/// The name of a test and its program, if the message tells of one.
fn executable(message: &Value) -> Option<(String, PathBuf)> {
    let name = message["target"]["name"].as_str()?;
    let program = message["executable"].as_str()?;
    Some((name.to_owned(), program.into()))
}

/// The mutants that the compiler's errors lie in; none if it had no errors.
fn blamed(text: &str, woven: &BTreeMap<String, Woven>) -> anyhow::Result<BTreeSet<usize>> {
    let mut found = BTreeSet::new();
    for message in messages(text) {
        let message = &message["message"];
        if message["level"] != "error" || message["spans"].as_array().is_none_or(Vec::is_empty) {
            continue;
        }
        let Some(number) = message["spans"]
            .as_array()
            .into_iter()
            .flatten()
            .find_map(|span| {
                let mutant = |span: &Value| {
                    let file = woven.get(span["file_name"].as_str()?)?;
                    file.fault_at(usize::try_from(span["line_start"].as_u64()?).ok()?)
                };
                mutant(span).or_else(|| mutant(&span["expansion"]["span"]))
            })
        else {
            bail!("an error that no mutant explains: {}", message["rendered"]);
        };
        found.insert(number);
    }
    Ok(found)
}
