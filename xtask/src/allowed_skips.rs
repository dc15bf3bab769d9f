//! `.ci/allowed-skips`: the suites that CI may skip, each with the reason.

use anyhow::{Context as _, bail};
use std::{collections::BTreeMap, fs, path::Path};

/// The suites that may be skipped.
#[derive(Debug)]
pub(crate) struct AllowedSkips(BTreeMap<String, String>);

impl AllowedSkips {
    /// Reads `.ci/allowed-skips` below `root`; `known` are the suites there are.
    pub(crate) fn load(root: &Path, known: &[&str]) -> anyhow::Result<Self> {
        let path = root.join(".ci/allowed-skips");
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text, known).with_context(|| format!("in {}", path.display()))
    }

    fn parse(text: &str, known: &[&str]) -> anyhow::Result<Self> {
        let mut skips = BTreeMap::new();
        for line in text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            let Some((name, reason)) = line.split_once(':') else {
                bail!("`{line}` is not `SUITE: REASON`");
            };
            let (name, reason) = (name.trim(), reason.trim());
            if !known.contains(&name) {
                bail!("there is no suite `{name}`");
            }
            if reason.is_empty() {
                bail!("`{name}` has no reason");
            }
            skips.insert(name.to_owned(), reason.to_owned());
        }
        Ok(Self(skips))
    }

    /// Whether this suite may be skipped.
    pub(crate) fn allows(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

#[cfg(test)]
mod tests {
    use super::AllowedSkips;

    const KNOWN: &[&str] = &["rust", "swift-package"];

    #[test]
    fn a_listed_suite_may_be_skipped_and_no_other() {
        let skips = AllowedSkips::parse("# why\n\nswift-package: no swiftc\n", KNOWN).unwrap();
        assert!(skips.allows("swift-package"));
        assert!(!skips.allows("rust"));
    }

    #[test]
    fn a_line_without_a_reason_or_with_an_unknown_suite_is_refused() {
        for text in ["swift-package", "swift-package:", "swfit: no swiftc"] {
            assert!(AllowedSkips::parse(text, KNOWN).is_err(), "{text}");
        }
    }
}
