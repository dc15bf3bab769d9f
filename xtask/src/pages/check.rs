//! That every block of code on a page is run or compiled, or says why not.

use super::{GETTING_STARTED, Page, page::Block};
use crate::context::Context;
use std::{collections::BTreeSet, fs, io, path::Path};

/// What is code.
const CODE: &[&str] = &[
    "bash",
    "console",
    "dart",
    "javascript",
    "js",
    "kotlin",
    "python",
    "rust",
    "sh",
    "swift",
    "ts",
    "typescript",
];

/// README is one screen and the first programs.
const README_LINES: usize = 150;

/// What is wrong with the pages, a line each.
pub(crate) fn faults(context: &Context, pages: &[Page]) -> anyhow::Result<Vec<String>> {
    let programs = examples(&context.root.join("examples"))?;
    let mut faults = Vec::new();
    for page in pages {
        let path = page.path.display();
        for block in &page.blocks {
            if let Err(fault) = accounted_for(context, page, block, &programs) {
                faults.push(format!("{path}:{}: {fault}", block.line));
            }
        }
        let wrong = page.links.iter().filter(|link| !is_sound(link));
        faults.extend(wrong.map(|link| format!("{path}: `{link}` is no address")));
        if page.path == Path::new("README.md") && page.lines >= README_LINES {
            faults.push(format!(
                "README.md has {} lines, and not less than {README_LINES}",
                page.lines
            ));
        }
    }
    Ok(faults)
}

fn accounted_for(
    context: &Context,
    page: &Page,
    block: &Block,
    programs: &BTreeSet<String>,
) -> Result<(), String> {
    if !CODE.contains(&block.language.as_str()) {
        return Ok(());
    }
    if let Some(source) = &block.marks.shown_in {
        let text = fs::read_to_string(context.root.join(source))
            .map_err(|error| format!("{source} cannot be read: {error}"))?;
        return stands_in(&block.text, &text)
            .map_err(|part| format!("{source} does not have, as it is here: {part}"));
    }
    let marks = &block.marks;
    let said = page.of_language.iter();
    let mut of_language = said.map(|(language, _)| language);
    let is_said = marks.not_run.is_some()
        || marks.run_by.is_some()
        || of_language.any(|language| *language == block.language);
    if is_said || programs.contains(&block.text) {
        return Ok(());
    }
    let begins_here = GETTING_STARTED
        .iter()
        .any(|path| page.path == Path::new(path));
    match block.language.as_str() {
        "console" if begins_here => Ok(()),
        "sh" | "bash" => Err("write commands as `console`, each behind `$ `".to_owned()),
        _ => Err(
            "nothing runs this block: make it a file of examples/, or say `shown in`, `run by` or `not run`"
                .to_owned(),
        ),
    }
}

/// The texts of the example programs, which their languages' suites compile and run.
fn examples(folder: &Path) -> io::Result<BTreeSet<String>> {
    let mut texts = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            texts.append(&mut examples(&path)?);
        } else if let Ok(text) = fs::read_to_string(&path) {
            texts.insert(text);
        }
    }
    Ok(texts)
}

/// Whether each paragraph of the block is in the source, however far in; the first that is not.
fn stands_in<'b>(block: &'b str, source: &str) -> Result<(), &'b str> {
    let source = plain(source);
    let missing = block
        .split("\n\n")
        .find(|part| !source.contains(&plain(part)));
    missing.map_or(Ok(()), Err)
}

/// Without indentation, and without what makes a line one of Rust's documentation.
fn plain(code: &str) -> String {
    let lines = code.trim().lines().map(str::trim);
    let lines = lines.map(|line| line.trim_start_matches("///").trim());
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether a link of the web has an address; the site's build looks at all others.
fn is_sound(link: &str) -> bool {
    match link.split_once("://") {
        Some((scheme, rest)) => {
            let host = rest.split('/').next().unwrap_or_default();
            ["http", "https"].contains(&scheme)
                && !host.is_empty()
                && rest.chars().all(|c| c.is_ascii_graphic())
        }
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_sound, stands_in};

    #[test]
    fn a_block_stands_in_a_source_paragraph_by_paragraph() {
        let source = "fn a() {\n    /// let b = 1;\n    /// let c = 2;\n}\n\n    let d = 3;\n";
        assert_eq!(
            stands_in("let b = 1;\nlet c = 2;\n\nlet d = 3;\n", source),
            Ok(())
        );
        assert_eq!(
            stands_in("let b = 1;\n\nlet e = 4;\n", source),
            Err("let e = 4;\n")
        );
    }

    #[test]
    fn addresses() {
        assert!(is_sound("https://example.org/a#b"));
        assert!(is_sound("../core/README.md#words"));
        assert!(!is_sound("https:///a"));
        assert!(!is_sound("htps://example.org"));
        assert!(!is_sound("https://example.org/a b"));
    }
}
