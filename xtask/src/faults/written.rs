//! Faults that somebody has written down, each as places in the source and what stands there instead.

use super::weave::Change;
use anyhow::{Context as _, ensure};
use serde::Deserialize;
use std::{fs, ops::Range, path::Path};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    fault: Vec<Fault>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fault {
    pub(super) name: String,
    /// What is wrong, in words.
    pub(super) what: String,
    /// What the test says that finds it.
    pub(super) shows: String,
    pub(super) edits: Vec<Edit>,
}

/// One place, in a function.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    pub(super) file: String,
    find: String,
    with: String,
}

pub(super) fn read(path: &Path) -> anyhow::Result<Vec<Fault>> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let file: File =
        toml::from_str(&text).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(file.fault)
}

impl Edit {
    /// Where it is made in the file's text.
    pub(super) fn change(&self, number: usize, source: &str) -> anyhow::Result<Change> {
        let found = source.matches(&self.find).count();
        ensure!(
            found == 1,
            "its text must stand once in the file, and is found {found} times: `{}`",
            self.find
        );
        let start = source.find(&self.find).unwrap_or_default();
        let range = start..start + self.find.len();
        let body = body(source, &range)
            .with_context(|| format!("its text stands in no function: `{}`", self.find))?;
        Ok(Change {
            number,
            body,
            range,
            replacement: self.with.clone(),
        })
    }
}

/// The body of the function that has these bytes, without its braces, in a source that rustfmt has laid out: it ends with
/// the first line that is a brace as far to the right as the function's first line.
fn body(source: &str, range: &Range<usize>) -> Option<Range<usize>> {
    let mut starts: Vec<_> = source[..range.start]
        .match_indices('\n')
        .map(|(at, _)| at + 1)
        .collect();
    starts.insert(0, 0);
    starts.into_iter().rev().find_map(|start| {
        let line = source[start..].lines().next()?;
        let words = line.trim_start();
        let is_function = words.starts_with("fn ")
            || words
                .split_once(" fn ")
                .is_some_and(|(before, _)| before.starts_with("pub") || before == "async");
        if !is_function {
            return None;
        }
        let indent = &line[..line.len() - words.len()];
        let end = start + source[start..].find(&format!("\n{indent}}}\n"))? + 1;
        let begin = start + source[start..end].find("{\n")? + 1;
        (begin <= range.start && range.end <= end).then_some(begin..end)
    })
}

#[cfg(test)]
mod tests {
    use super::Edit;

    const SOURCE: &str = "impl A {\n    /// Does.\n    pub(crate) fn f(\n        &self,\n    ) -> u8 {\n        if a {\n            b();\n        \
                          }\n        1\n    }\n\n    fn g() {\n        c(2);\n        c(2);\n    }\n}\n";

    fn edit(find: &str) -> anyhow::Result<super::Change> {
        let edit = Edit {
            file: "a.rs".into(),
            find: find.into(),
            with: String::new(),
        };
        edit.change(0, SOURCE)
    }

    #[test]
    fn a_place_lies_in_the_body_of_its_function() {
        let change = edit("b();").unwrap();
        assert_eq!(&SOURCE[change.range], "b();");
        assert_eq!(
            &SOURCE[change.body],
            "\n        if a {\n            b();\n        }\n        1\n"
        );
    }

    #[test]
    fn a_text_that_is_not_there_once_within_a_function_is_an_error() {
        for (find, error) in [
            ("c(2);", "found 2 times"),
            ("c(3);", "found 0 times"),
            ("impl A", "in no function"),
            ("&self", "in no function"),
        ] {
            let text = format!("{:#}", edit(find).unwrap_err());
            assert!(text.contains(error), "{find}: {text}");
        }
    }
}
