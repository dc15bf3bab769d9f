//! A copy of the repository, in which some sources are changed.

use crate::{context::Context, log::Log, process};
use anyhow::Context as _;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

pub(crate) struct Copy {
    pub(crate) root: PathBuf,
    /// The files that are to be changed, as they are: only [`Copy::write`] puts them into the copy.
    pub(crate) sources: BTreeMap<String, String>,
}

impl Copy {
    /// Copies all that git knows or would add; `changed` is how the names of those begin that are to be changed.
    pub(crate) fn make(
        context: &Context,
        log: &mut Log,
        root: &Path,
        changed: &[&str],
    ) -> anyhow::Result<Self> {
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
            if changed.iter().any(|start| name.starts_with(start)) {
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

    /// Writes a source, changed.
    pub(crate) fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        write(&self.root.join(name), text.as_bytes())
    }
}

/// All files in a folder, and in those in it.
pub(crate) fn files_below(folder: &Path) -> anyhow::Result<BTreeSet<PathBuf>> {
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
