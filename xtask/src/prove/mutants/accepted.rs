//! `core/mutants-accepted`: the mutants that may live, each with the reason.

use anyhow::{Context as _, bail};
use std::{collections::BTreeMap, fs, path::Path};

/// A mutant without its place in the file, which every edit moves, and why it may live.
#[derive(Debug)]
pub(super) struct Accepted(BTreeMap<String, String>);

impl Accepted {
    pub(super) fn load(root: &Path) -> anyhow::Result<Self> {
        let path = root.join("core/mutants-accepted");
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("in {}", path.display()))
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let mut accepted = BTreeMap::new();
        let lines = text.lines().map(str::trim);
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match line.split_once(" | ") {
                Some((mutant, reason)) if !reason.trim().is_empty() => {
                    accepted.insert(mutant.trim().to_owned(), reason.trim().to_owned());
                }
                _ => bail!("`{line}` is not `FILE: MUTANT | REASON`"),
            }
        }
        Ok(Self(accepted))
    }

    /// Whether this mutant, as cargo-mutants names it, may live.
    pub(super) fn allows(&self, mutant: &str) -> bool {
        self.0.contains_key(&placeless(mutant))
    }

    /// Those that are no longer among the living.
    pub(super) fn dead<'a>(&'a self, living: &[String]) -> Vec<&'a str> {
        let living: Vec<_> = living.iter().map(|mutant| placeless(mutant)).collect();
        let names = self.0.keys().map(String::as_str);
        names
            .filter(|name| !living.iter().any(|mutant| mutant == name))
            .collect()
    }
}

/// `core/src/a.rs:12:5: replace …` without `12:5`.
fn placeless(mutant: &str) -> String {
    let mut parts = mutant.splitn(4, ':');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(file), Some(_), Some(_), Some(what)) => format!("{file}: {}", what.trim()),
        _ => mutant.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::Accepted;

    #[test]
    fn a_listed_mutant_may_live_wherever_it_stands() {
        let accepted =
            Accepted::parse("# why\ncore/a.rs: replace f -> u64 with 0 | it is 0\n").unwrap();
        assert!(accepted.allows("core/a.rs:3:9: replace f -> u64 with 0"));
        assert!(!accepted.allows("core/a.rs:3:9: replace f -> u64 with 1"));
        assert!(!accepted.allows("core/b.rs:3:9: replace f -> u64 with 0"));
        assert_eq!(accepted.dead(&[]), ["core/a.rs: replace f -> u64 with 0"]);
        assert!(
            accepted
                .dead(&["core/a.rs:1:1: replace f -> u64 with 0".into()])
                .is_empty()
        );
    }

    #[test]
    fn a_line_without_a_reason_is_refused() {
        for text in ["core/a.rs: replace f", "core/a.rs: replace f | "] {
            assert!(Accepted::parse(text).is_err(), "{text}");
        }
    }
}
