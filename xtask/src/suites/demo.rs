use super::Suite;
use crate::{context::Context, json, log::Log, process, workspace};
use anyhow::{Context as _, bail, ensure};
use serde_json::Value;
use std::fs;

pub(super) const SUITE: Suite = Suite {
    name: "demo",
    about: "the programs of `cargo run` and `cargo install` compile with their own features; the first shows the secret-number turn; `demo --json` prints the conversation that is expected",
    run,
};

const EXPECTED: &str = "host/tests/demo.expected.json";
const LAST_WORDS: &str = "Alice's number is 42, Bob's is 7";

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    // What a user's first command builds, with its own choice of features; `prove first-steps` runs that command itself.
    log.build(process::cargo().arg("check").current_dir(&context.root))?;
    // The whole program without the features that the one build adds, as `cargo install` has it.
    log.build(workspace::linting_cargo(context)?.args(["check", "--package", "stepwell"]))?;
    let program = context.program(log, "stepwell-demo")?;
    let printed = log.read(process::command(&program).args(["demo", "--json"]))?;
    log.write(&printed)?;
    let actual: Value = serde_json::from_str(&printed)
        .context("`demo --json` printed what is not one JSON value")?;
    let expected = fs::read_to_string(context.root.join(EXPECTED))
        .with_context(|| format!("cannot read {EXPECTED}"))?;
    let expected: Value =
        serde_json::from_str(&expected).with_context(|| format!("{EXPECTED} is not JSON"))?;
    let differences = json::differences(&expected, &actual);
    if !differences.is_empty() {
        bail!(
            "the conversation is not that of {EXPECTED}: {}",
            differences.join("; ")
        );
    }

    let shown = log.read(&mut process::command(&program))?;
    log.write(&shown)?;
    ensure!(
        words(&shown).contains(LAST_WORDS),
        "the demo does not show `{LAST_WORDS}`"
    );
    Ok(())
}

/// The text without colours and line breaks.
fn words(text: &str) -> String {
    let mut plain = String::new();
    let mut pieces = text.split("\u{1b}[");
    plain.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let end = piece
            .find(|c: char| ('@'..='~').contains(&c))
            .map_or(piece.len(), |at| at + 1);
        plain.push_str(&piece[end..]);
    }
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn colours_and_line_breaks_are_not_words() {
        assert_eq!(
            words("\u{1b}[1;32mAlice's\u{1b}[0m\n  number\u{1b}[K is"),
            "Alice's number is"
        );
    }
}
