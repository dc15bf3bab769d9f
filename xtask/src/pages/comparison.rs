//! The table of lines in `docs/comparison.md`: the same six jobs by four SDKs, counted in the programs themselves.

use crate::context::Context;
use anyhow::{Context as _, ensure};
use std::{fmt::Write as _, fs, path::Path};

/// The file of each job, and what the page calls the job.
const JOBS: [(&str, &str); 6] = [
    ("ask", "ask, and print the answer"),
    ("stream", "stream the answer"),
    ("tool", "a tool"),
    ("typed", "a typed answer"),
    ("users", "a conversation for each of two users"),
    ("approval", "approve a tool call, after a restart too"),
];

/// The folder of each SDK, and the end of its programs' names.
const SDKS: [(&str, &str); 4] = [
    ("stepwell-python", "py"),
    ("pydantic-ai", "py"),
    ("stepwell-web", "mjs"),
    ("ai-sdk", "mjs"),
];

const HEAD: &str = "| lines | Stepwell, Python | Pydantic AI | Stepwell, TypeScript | AI SDK |\n|---|--:|--:|--:|--:|\n";

/// Checks that the page has the table as it is counted.
pub(super) fn check(context: &Context) -> anyhow::Result<()> {
    let table = table(&context.root.join("examples/comparison"))?;
    let page = fs::read_to_string(context.root.join("docs/comparison.md"))?;
    ensure!(
        page.contains(&table),
        "put this into docs/comparison.md, as the table of lines:\n{table}"
    );
    Ok(())
}

fn table(folder: &Path) -> anyhow::Result<String> {
    let (mut table, mut sums) = (HEAD.to_owned(), [0; SDKS.len()]);
    for (file, job) in JOBS {
        write!(table, "| {job} |")?;
        for ((sdk, end), sum) in SDKS.iter().zip(&mut sums) {
            let program = folder.join(sdk).join(format!("{file}.{end}"));
            let text = fs::read_to_string(&program);
            let count = lines(&text.with_context(|| program.display().to_string())?);
            *sum += count;
            write!(table, " {count} |")?;
        }
        table.push('\n');
    }
    table.push_str("| all |");
    for sum in sums {
        write!(table, " {sum} |")?;
    }
    table.push('\n');
    Ok(table)
}

/// The lines that are neither empty nor a comment.
fn lines(program: &str) -> usize {
    let lines = program.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#') && !line.starts_with("//"))
        .count()
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn counts_neither_empty_lines_nor_comments() {
        assert_eq!(lines("// This.\nimport a;\n\n  # That.\nb(); // c\n"), 2);
        assert_eq!(lines(""), 0);
    }
}
