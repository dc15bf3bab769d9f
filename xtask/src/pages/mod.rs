//! README and the pages of the site: the blocks of code in them, and what runs each.

mod comparison;
pub(crate) mod site;
pub(crate) mod steps;

use crate::context::Context;
use anyhow::{Context as _, ensure};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The pages where a user begins: `cargo xtask prove first-steps` runs the steps of each in order.
pub(crate) const GETTING_STARTED: &[&str] = &[
    "README.md",
    "docs/rust.md",
    "docs/python.md",
    "docs/kotlin.md",
    "bindings/web/README.md",
    "docs/server.md",
];

/// README is one screen and the first programs.
const README_LINES: usize = 150;

/// The marks that a comment before a block of code may have; CONTRIBUTING.md explains each.
const MARKS: &str = "background until|env|file|in|not run|run by|shown in|unless|with";

const ADVICE: &str = "make it a file of examples/, or say `shown in`, `run by` or `not run`";

const LANGUAGES: &str =
    "bash console dart javascript js kotlin python rust sh swift ts tsx typescript";

/// A block of code.
#[derive(Debug)]
pub(crate) struct Block {
    /// The first word after the fence.
    language: String,
    text: String,
    line: usize,
    /// The marks in the comments before the block: `<!-- NAME: VALUE -->`.
    marks: Vec<(String, String)>,
}

impl Block {
    fn mark(&self, name: &str) -> Option<&str> {
        let found = self.marks.iter().find(|(known, _)| known == name)?;
        Some(&found.1)
    }
}

/// The blocks of a page.
fn blocks(text: &str) -> anyhow::Result<Vec<Block>> {
    let (mut blocks, mut marks) = (Vec::new(), Vec::new());
    // The marks of `<!-- every LANGUAGE block: … -->` for all blocks that follow.
    let mut of_all: Vec<(String, String)> = Vec::new();
    let mut lines = text.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        if let Some(comment) = line.strip_prefix("<!-- ") {
            let said = comment.trim_end_matches(" -->").split_once(": ");
            let (name, value) = said.with_context(|| format!("line {number} is no mark"))?;
            if let Some(language) = name.strip_prefix("every ") {
                of_all.push((language.replace(" block", ""), value.to_owned()));
                continue;
            }
            let is_known = MARKS.split('|').any(|known| known == name);
            ensure!(is_known, "line {number}: there is no mark `{name}`");
            marks.push((name.to_owned(), value.to_owned()));
        } else if let Some(info) = line.strip_prefix("```") {
            let language = info.split([',', ' ']).next().unwrap_or_default();
            let all = of_all.iter().filter(|(of, _)| of == language);
            marks.extend(all.map(|(_, said)| ("run by".to_owned(), said.clone())));
            let body = lines.by_ref().map(|(line, _)| line);
            blocks.push(Block {
                language: language.to_owned(),
                text: body
                    .take_while(|line| *line != "```")
                    .fold(String::new(), |text, line| text + line + "\n"),
                line: number,
                marks: std::mem::take(&mut marks),
            });
        } else if !line.is_empty() {
            marks.clear();
        }
    }
    Ok(blocks)
}

/// Checks every page that is written for users: each block of code is run or compiled, or has the reason why not.
/// Returns the number of blocks.
pub(crate) fn check(context: &Context) -> anyhow::Result<usize> {
    let mut examples = files_below(&context.root.join("examples"))?;
    // What npm installs for a suite is no example.
    examples.retain(|path| {
        path.components()
            .all(|part| part.as_os_str() != "node_modules")
    });
    let examples: Vec<_> = examples.iter().flat_map(fs::read_to_string).collect();
    let mut pages = files_below(&context.root.join("docs"))?;
    pages.retain(|path| path.extension().is_some_and(|end| end == "md"));
    pages.extend(["README.md", "bindings/web/README.md"].map(|path| context.root.join(path)));
    let (mut count, mut faults) = (0, Vec::new());
    for path in pages {
        let text = fs::read_to_string(&path)?;
        let page = path.strip_prefix(&context.root)?;
        let page = page.to_str().context("a page without a name")?;
        if page == "README.md" && text.lines().count() >= README_LINES {
            faults.push(format!("README.md has {README_LINES} lines or more"));
        }
        if page.starts_with("docs/guides/") && !begins_with_code(&text) {
            faults.push(format!(
                "{page} has a table or a section before its first block of code: show a program first"
            ));
        }
        let begins_here = GETTING_STARTED.contains(&page);
        for block in blocks(&text).with_context(|| page.to_owned())? {
            count += 1;
            let (line, language) = (block.line, block.language.as_str());
            let is_code = LANGUAGES.split(' ').any(|known| known == language);
            if let Some(source) = block.mark("shown in") {
                let source = fs::read_to_string(context.root.join(source));
                if let Some(part) = missing(&block.text, &source.unwrap_or_default()) {
                    faults.push(format!("{page}:{line}: not in its source: {part}"));
                }
            } else if is_code
                && block.mark("run by").or(block.mark("not run")).is_none()
                && !(begins_here && language == "console")
                && !examples.contains(&block.text)
            {
                faults.push(format!("{page}:{line}: nothing runs this block: {ADVICE}"));
            }
        }
    }
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    comparison::check(context)?;
    Ok(count)
}

/// Returns whether a page shows code before any table or section.
fn begins_with_code(page: &str) -> bool {
    let first = page.lines().find(|line| {
        ["```", "|", "## "]
            .iter()
            .any(|part| line.starts_with(part))
    });
    first.is_some_and(|line| line.starts_with("```"))
}

pub(crate) fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}

/// The first paragraph of the block that the source does not have, however far in, or as Rust's documentation.
fn missing<'b>(block: &'b str, source: &str) -> Option<&'b str> {
    let line = |line: &str| line.trim().trim_start_matches("///").trim().to_owned();
    let plain = |code: &str| code.trim().lines().map(line).collect::<Vec<_>>().join("\n");
    let (source, mut parts) = (plain(source), block.split("\n\n"));
    parts.find(|part| !source.contains(&plain(part)))
}

#[cfg(test)]
mod tests {
    use super::{begins_with_code, blocks, missing};

    const PAGE: &str = "\
<!-- not run: of no block -->
[Elsewhere](https://example.org).

<!-- in: app -->
<!-- file: a.py -->
```python
print()
```

<!-- every dart block: no compiler -->
```dart
main() {}
```
";

    #[test]
    fn marks_are_of_the_block_that_follows_them() {
        let [python, dart] = &blocks(PAGE).unwrap()[..] else {
            panic!("there are two blocks")
        };
        assert_eq!((python.language.as_str(), python.line), ("python", 6));
        assert_eq!(python.text, "print()\n");
        assert_eq!(python.mark("in"), Some("app"));
        assert_eq!(python.mark("file"), Some("a.py"));
        assert_eq!(python.mark("not run"), None);
        assert_eq!(dart.mark("run by"), Some("no compiler"));
        for wrong in ["<!-- run: x -->", "<!-- not run: -->", "<!-- nothing -->"] {
            assert!(blocks(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_guide_begins_with_code() {
        assert!(begins_with_code(
            "# A\n\nText:\n\n```js\na()\n```\n\n| b |\n"
        ));
        for page in [
            "# A\n\n| b |\n\n```js\n```\n",
            "# A\n\n## B\n```js\n```\n",
            "# A\n",
        ] {
            assert!(!begins_with_code(page), "{page}");
        }
    }

    #[test]
    fn a_block_is_compared_paragraph_by_paragraph() {
        let source = "fn a() {\n    /// let b = 1;\n    /// let c = 2;\n}\n\n    let d = 3;\n";
        assert_eq!(
            missing("let b = 1;\nlet c = 2;\n\nlet d = 3;\n", source),
            None
        );
        assert_eq!(
            missing("let b = 1;\n\nlet e = 4;\n", source),
            Some("let e = 4;\n")
        );
    }
}
