//! A copy of the repository in which all mutants stand, and its tests.

use super::{
    list::Mutant,
    notes::Notes,
    weave::{self, SWITCH, Woven},
};
use crate::{context::Context, log::Log, process};
use anyhow::{Context as _, bail};
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
    let tree = Tree::copy(context, log, &place.join("tree"))?;
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
                folder: tree.root.join("core"),
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

struct Tree {
    root: PathBuf,
    /// The files that mutants lie in, as they are.
    sources: BTreeMap<String, String>,
}

impl Tree {
    fn copy(context: &Context, log: &mut Log, root: &Path) -> anyhow::Result<Self> {
        let mut git = process::command("git");
        git.args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(&context.root);
        let files = log.read(&mut git)?;
        let mut old = files_below(root)?;
        let mut sources = BTreeMap::new();
        for name in files.split_terminator('\0') {
            let Ok(bytes) = fs::read(context.root.join(name)) else {
                continue; // deleted, and not yet committed
            };
            old.remove(&root.join(name));
            let in_question = [
                "core/src/journal/",
                "core/src/run/",
                "core/src/registry/",
                "core/src/lib.rs",
            ];
            if in_question.iter().any(|start| name.starts_with(start)) {
                let text =
                    String::from_utf8(bytes).with_context(|| format!("{name} is no text"))?;
                sources.insert(name.to_owned(), text);
            } else {
                write(&root.join(name), &bytes)?;
            }
        }
        for file in old {
            fs::remove_file(file)?;
        }
        Ok(Self {
            root: root.to_owned(),
            sources,
        })
    }

    /// A number that changes with the core's code.
    fn fingerprint(&self) -> anyhow::Result<u64> {
        let mut hasher = DefaultHasher::new();
        for path in files_below(&self.root.join("core/src"))? {
            if !self.is_source(&path) {
                fs::read(path)?.hash(&mut hasher);
            }
        }
        self.sources.hash(&mut hasher);
        Ok(hasher.finish())
    }

    /// Whether mutants lie in this file, or may.
    fn is_source(&self, path: &Path) -> bool {
        let name = path.strip_prefix(&self.root).ok().and_then(Path::to_str);
        name.is_some_and(|name| self.sources.contains_key(&name.replace('\\', "/")))
    }

    /// Writes the sources with the mutants that are left.
    fn write(
        &self,
        listed: &[Mutant],
        mutants: &[Mutant],
        without: &BTreeSet<String>,
    ) -> anyhow::Result<BTreeMap<String, Woven>> {
        let mut all = BTreeMap::new();
        for (name, source) in &self.sources {
            let of_file = listed.iter().filter(|mutant| mutant.file == *name);
            let bodies = weave::bodies(source, of_file);
            let left = mutants
                .iter()
                .enumerate()
                .filter(|(_, mutant)| mutant.file == *name && !without.contains(&mutant.name));
            let mut woven = weave::weave(source, &bodies, &left.collect::<Vec<_>>())?;
            if name == "core/src/lib.rs" {
                woven.text.push_str(SWITCH);
            }
            write(&self.root.join(name), woven.text.as_bytes())?;
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
            .current_dir(&self.root);
        command
    }
}

fn files_below(folder: &Path) -> anyhow::Result<BTreeSet<PathBuf>> {
    let mut files = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue; // not there yet
        };
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else {
                files.insert(entry.path());
            }
        }
    }
    Ok(files)
}

/// Cargo builds again what is newer, so a file that is right stays as it is.
fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
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
                    file.mutant_at(usize::try_from(span["line_start"].as_u64()?).ok()?)
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
