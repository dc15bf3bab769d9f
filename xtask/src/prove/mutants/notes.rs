//! What an earlier run found out.

use super::trial::Verdict;
use anyhow::Context as _;
use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::Write,
    path::Path,
};

/// A file that says which mutants do not compile and which were found or lived. It holds as long as the core's code is
/// the same; the tests may have become more.
pub(super) struct Notes {
    file: File,
    pub(super) unviable: BTreeSet<String>,
    pub(super) caught: BTreeSet<String>,
    pub(super) no_end: BTreeSet<String>,
    /// Those that no test had found.
    pub(super) lived: BTreeSet<String>,
}

impl Notes {
    /// Opens the notes, and begins new ones if they are of another state of the code. `fingerprint` stands for that.
    pub(super) fn open(path: &Path, fingerprint: u64) -> anyhow::Result<Self> {
        let heading = format!("of {fingerprint}");
        let text = fs::read_to_string(path).unwrap_or_default();
        let mut lines = text.lines();
        let is_same = lines.next() == Some(&heading);
        let of = |kind: &str| -> BTreeSet<String> {
            let own = lines.clone().filter(|_| is_same);
            own.filter_map(|line| Some(line.strip_prefix(kind)?.strip_prefix(": ")?.to_owned()))
                .collect()
        };
        let (unviable, caught) = (of("unviable"), of("caught"));
        let (no_end, lived) = (of("no end"), of("lived"));
        let mut options = File::options();
        let options = if is_same {
            options.append(true)
        } else {
            options.write(true).truncate(true).create(true)
        };
        let file = options.open(path);
        let mut file = file.with_context(|| format!("cannot write {}", path.display()))?;
        if !is_same {
            writeln!(file, "{heading}")?;
        }
        Ok(Self {
            file,
            unviable,
            caught,
            no_end,
            lived,
        })
    }

    pub(super) fn add_unviable(&mut self, names: BTreeSet<String>) -> anyhow::Result<()> {
        for name in &names {
            writeln!(self.file, "unviable: {name}")?;
        }
        self.unviable.extend(names);
        Ok(())
    }

    pub(super) fn add(&mut self, name: &str, verdict: Verdict) -> anyhow::Result<()> {
        match verdict {
            Verdict::Caught => writeln!(self.file, "caught: {name}")?,
            Verdict::NoEnd => writeln!(self.file, "no end: {name}")?,
            Verdict::Lived => writeln!(self.file, "lived: {name}")?,
            Verdict::TooLate => {}
        }
        Ok(())
    }
}
