use super::Suite;
use crate::{context::Context, json, log::Log, process, tools::Unavailable};
use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, fs, path::Path};

pub(super) const SUITE: Suite = Suite {
    name: "conformance",
    about: "the recorded streams of ../shared/fixtures decode to what the providers' own libraries make of them",
    run,
};

/// Bytes in a chunk; `None` is the whole stream at once.
const CHUNKS: &[Option<u32>] = &[Some(1), Some(7), Some(64), Some(1024), None];

/// Where the library that the expectation comes from is believed wrong, or where the same is said in another way: the
/// stream, the part of the outcome, and why.
const DIFFERENT: &[(&str, &str, &str)] = &[
    (
        "anthropic/pyai-anthropic-mcp-servers-stream.sse",
        "$.server_tools[0].input",
        "the library loses the input of an mcp_tool_use that comes in pieces",
    ),
    (
        "anthropic/vercel-refusal.sse",
        "$.refusal",
        "the library knows no explanation of a refusal; the stream has one",
    ),
    (
        "openrouter/pyai-openrouter-stream-error.sse",
        "$.input",
        "the stream says what it cost, and failed: the library tells the error alone",
    ),
    (
        "openrouter/pyai-openrouter-stream-error.sse",
        "$.output",
        "the stream says what it cost, and failed: the library tells the error alone",
    ),
    (
        "openai/responses-vercel-custom-tool-1.sse",
        "$.tool_calls[0].arguments",
        "the free text of a custom tool is the field `input` of an object here, since arguments are objects",
    ),
];

#[derive(Deserialize)]
struct Entry {
    file: String,
    api: String,
}

#[derive(Default)]
struct Score {
    right: usize,
    all: usize,
}

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let fixtures = context.shared.join("fixtures");
    let manifest = fixtures.join("manifest.json");
    if !manifest.is_file() {
        return Err(Unavailable(format!(
            "the recorded streams are not at {}",
            fixtures.display()
        ))
        .into());
    }
    let entries: Vec<Entry> = serde_json::from_str(&fs::read_to_string(&manifest)?)
        .with_context(|| format!("{} is not a list of files and APIs", manifest.display()))?;
    let program = context.program(log, "stepwell")?;

    let mut scores: BTreeMap<&str, Score> = BTreeMap::new();
    for entry in &entries {
        let (provider, _) = entry
            .file
            .split_once('/')
            .with_context(|| format!("{} names no provider", entry.file))?;
        let score = scores.entry(provider).or_default();
        score.all += 1;
        match check(
            &program,
            provider,
            entry,
            &fixtures.join("streams").join(&entry.file),
            log,
        ) {
            Ok(()) => score.right += 1,
            Err(error) => log.say(&format!("{}: {error:#}", entry.file))?,
        }
    }
    let line =
        |name: &str, score: &Score| format!("{name:<20} {:>3} of {}", score.right, score.all);
    for (provider, score) in &scores {
        log.say(&line(provider, score))?;
    }
    let right = scores.values().map(|score| score.right).sum();
    let all = scores.values().map(|score| score.all).sum();
    ensure!(all > 0, "{} names no stream", manifest.display());
    if right < all {
        bail!("{right} of {all} streams are right");
    }
    log.say(&line("all", &Score { right, all }))
}

/// Decodes one stream in every chunk size.
fn check(
    program: &Path,
    provider: &str,
    entry: &Entry,
    stream: &Path,
    log: &mut Log,
) -> anyhow::Result<()> {
    let expected = stream.with_extension("expected.json");
    let expected: Value = serde_json::from_str(
        &fs::read_to_string(&expected)
            .with_context(|| format!("cannot read {}", expected.display()))?,
    )?;
    for chunk in CHUNKS {
        let mut command = process::command(program);
        command.args(["decode", "--provider", provider, "--api", &entry.api]);
        if let Some(bytes) = chunk {
            command.args(["--chunk", &bytes.to_string()]);
        }
        let name = chunk.map_or("whole".to_owned(), |bytes| format!("in chunks of {bytes}"));
        let output = log.output(command.arg(stream))?;
        // A stream that holds an error is printed too, and then the program fails.
        let actual: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("{name}: printed no JSON ({})", output.status))?;
        let mut differences = compare(&expected, &actual);
        for (file, part, why) in DIFFERENT.iter().filter(|(file, ..)| *file == entry.file) {
            let before = differences.len();
            differences.retain(|difference| !difference.starts_with(part));
            if differences.len() == before {
                bail!("{name}: {file} is listed for {part} ({why}), and is as expected there");
            }
        }
        if !differences.is_empty() {
            bail!("{name}: {}", differences.join("; "));
        }
    }
    for (_, part, why) in DIFFERENT.iter().filter(|(file, ..)| *file == entry.file) {
        log.say(&format!("{}: {part} differs: {why}", entry.file))?;
    }
    Ok(())
}

fn compare(expected: &Value, actual: &Value) -> Vec<String> {
    json::differences(&outcome(expected, expected), &outcome(actual, expected))
}

/// What is compared of an outcome; ids only where `expected` has them.
fn outcome(decoded: &Value, expected: &Value) -> Value {
    let calls = |value: &Value| value["tool_calls"].as_array().cloned().unwrap_or_default();
    let asserted = calls(expected);
    let calls: Vec<_> = calls(decoded)
        .iter()
        .enumerate()
        .map(|(index, call)| {
            let mut kept = Map::new();
            kept.insert("name".to_owned(), call["name"].clone());
            kept.insert("arguments".to_owned(), arguments(&call["arguments"]));
            if asserted
                .get(index)
                .is_some_and(|call| !call["id"].is_null())
            {
                kept.insert("id".to_owned(), call["id"].clone());
            }
            Value::Object(kept)
        })
        .collect();
    json!({
        "text": decoded["text"],
        "reasoning": decoded["reasoning"],
        "tool_calls": calls,
        "stop_reason": decoded["stop_reason"],
        "input": decoded["usage"]["input"],
        "output": decoded["usage"]["output"],
        "failed": !decoded["error"].is_null(),
        "refusal": decoded["refusal"],
        "tool_plan": decoded["tool_plan"],
        "server_tools": decoded["server_tools"],
        "thought_signatures": decoded["thought_signatures"],
    })
}

/// A call without arguments shows up in three ways; all of them mean `{}`.
fn arguments(value: &Value) -> Value {
    match value {
        Value::Null => json!({}),
        Value::String(text) if text.is_empty() => json!({}),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::compare;
    use serde_json::{Value, json};

    fn expected() -> Value {
        json!({
            "text": "Hi", "reasoning": null, "stop_reason": "tool_calls", "error": null,
            "tool_calls": [{"id": "a", "name": "now", "arguments": "", "raw_arguments": ""}, {"id": null, "name": "add", "arguments": {"x": 1}}],
            "usage": {"input": 1, "output": 2}, "oracle": "some library", "refusal": null, "tool_plan": null
        })
    }

    fn with(path: &str, value: Value) -> Value {
        let mut outcome = expected();
        if let Some(place) = outcome.pointer_mut(path) {
            *place = value;
        }
        outcome
    }

    #[test]
    fn what_the_oracle_leaves_open_is_not_asserted() {
        assert!(compare(&expected(), &with("/tool_calls/0/arguments", json!({}))).is_empty());
        assert!(compare(&expected(), &with("/tool_calls/0/arguments", Value::Null)).is_empty());
        assert!(compare(&expected(), &with("/tool_calls/1/id", json!("made-up"))).is_empty());
        assert!(
            compare(
                &with("/usage", Value::Null),
                &with("/usage", json!({"input": null, "output": null}))
            )
            .is_empty()
        );
    }

    #[test]
    fn every_part_of_the_outcome_counts() {
        for (path, value) in [
            ("/text", json!("Ho")),
            ("/reasoning", json!("hm")),
            ("/stop_reason", json!("stop")),
            ("/error", json!("broken")),
            ("/tool_calls/0/id", json!("b")),
            ("/tool_calls/0/arguments", json!({"x": 1})),
            ("/tool_calls/1/name", json!("sub")),
            ("/tool_calls", json!([])),
            ("/usage/output", json!(3)),
            ("/refusal", json!("no")),
            ("/tool_plan", json!("first")),
        ] {
            assert!(
                !compare(&expected(), &with(path, value)).is_empty(),
                "{path}"
            );
        }
    }
}
