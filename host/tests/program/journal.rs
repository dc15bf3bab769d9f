use crate::file::File;
use crate::run::run;
use serde_json::Value;
use std::fs;
use std::path::Path;

fn recorded(name: &str) -> File {
    let file = File::new(name);
    let ran = run(&["record", file.as_str()], b"").succeeded();
    assert!(ran.out.contains("Alice's number is 42"), "{}", ran.out);
    file
}

#[test]
fn a_turn_is_recorded_and_replayed() {
    let file = recorded("plain.jsonl");
    let ran = run(&["replay", file.as_str()], b"").succeeded();
    let lines: Vec<_> = ran.out.lines().collect();
    assert!(lines[0].starts_with("inputs   "), "{}", ran.out);
    assert_eq!(lines[1], "effects  open:0:0 tool:0:0 tool:0:1 open:1:0");
    assert_eq!(
        lines[3],
        "states   Idle → Opening → Streaming → ExecutingTools → Opening → Streaming → Completed"
    );
    assert_eq!(lines[4], "outcome  success");
    assert!(lines[5].starts_with("digest   "), "{}", ran.out);
    assert_eq!(lines.len(), 6, "a closed journal has no more to say");
    let piped = run(&["replay", "-"], file.text().as_bytes()).succeeded();
    assert_eq!(piped.out, ran.out);
}

#[test]
fn a_journal_is_written_in_full_for_the_page() {
    let file = recorded("short.jsonl");
    let full = File::new("full.jsonl");
    run(&["replay", file.as_str(), "--full", full.as_str()], b"").succeeded();
    assert!(full.text().contains(r#""open_stream":{"request":{"#));
    let ran = run(&["replay", full.as_str()], b"").succeeded();
    assert!(ran.out.contains("outcome  success"), "{}", ran.out);
}

#[test]
fn a_journal_that_differs_ends_with_code_1_and_the_input() {
    let file = recorded("differs.jsonl");
    let text = file.text();
    assert!(text.contains(r#"{"Ok":"42"}"#), "{text}");
    fs::write(
        file.path(),
        text.replace(r#"{"Ok":"42"}"#, r#"{"Ok":"43"}"#),
    )
    .expect("writable");
    let ran = run(&["replay", file.as_str()], b"");
    let line = ran.failed(1);
    assert!(
        line.starts_with("the replay differs at input ") && line.contains("tool_finished"),
        "{line}"
    );
}

#[test]
fn a_journal_that_was_cut_is_replayed_as_far_as_it_goes() {
    let file = recorded("cut.jsonl");
    let text = file.text();
    let half = &text[..text.rfind("\"gives\"").expect("some line")];
    let ran = run(&["replay", "-"], half.as_bytes()).succeeded();
    let last = ran.out.lines().last().expect("some lines");
    assert!(last.starts_with("cut      in line "), "{last}");
}

#[test]
fn a_redacted_journal_hides_the_texts_and_is_not_replayed() {
    let file = File::new("redacted.jsonl");
    run(&["record", "--redact", file.as_str()], b"").succeeded();
    let plain = recorded("to-redact.jsonl");
    let copy = File::new("copy.jsonl");
    run(&["replay", "--redact", copy.as_str(), plain.as_str()], b"").succeeded();
    for file in [&file, &copy] {
        let text = file.text();
        for word in ["alice", "Alice", "Bob's", "number is", "127.0.0.1"] {
            assert!(!text.contains(word), "{word}: {text}");
        }
        assert!(text.contains("get_secret_number"), "the tools' names stay");
        let ran = run(&["replay", file.as_str()], b"");
        assert!(ran.failed(1).contains("the journal is redacted"));
    }
}

#[test]
fn what_is_no_journal_is_refused_with_advice() {
    let ran = run(&["replay", "-"], b"{}\n");
    assert!(
        ran.failed(1)
            .contains("line 1 is not the head of a journal")
    );
    let ran = run(&["replay", "-"], b"");
    assert!(ran.failed(1).contains("the journal is empty"));
    let missing = File::new("missing.jsonl");
    run(&["replay", missing.as_str()], b"").failed(2);
    let nowhere = Path::new("/nowhere/at/all.jsonl");
    let ran = run(&["record", nowhere.to_str().expect("plain")], b"");
    assert!(ran.failed(2).contains("all.jsonl"));
    let ran = run(&["record", "x.jsonl", "--model", "m"], b"");
    assert!(ran.failed(2).contains("--provider"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_recorded_with_what_is_set() {
    use crate::run::{finish, stepwell};
    use stepwell_mock_llm::{Hop, MockLlm, Script};

    let call = || Hop::new().tool_call("clock", serde_json::json!({}));
    let script = Script::new().hop(call()).hop(call());
    let model = MockLlm::start(script).await.expect("the mock starts");
    let file = File::new("set.jsonl");
    let mut command = stepwell(&["record", file.as_str(), "--question", "What time is it?"]);
    command.env("STEPWELL_PROVIDER", "openai-compatible");
    command.env("STEPWELL_MODEL", "m");
    command.env("STEPWELL_BASE_URL", model.base_url());
    command.env("MAX_TOOL_ROUNDS", "1");
    let ran = finish(command, b"");
    assert!(ran.failed(1).contains("tool rounds, 1"), "{}", ran.err);
    assert_eq!(model.requests().len(), 2);
    let replayed = run(&["replay", file.as_str()], b"").succeeded();
    assert!(replayed.out.contains("outcome  "), "{}", replayed.out);
}

#[test]
fn the_statechart_is_printed_as_a_picture_and_as_data() {
    let ran = run(&["statechart"], b"").succeeded();
    assert_eq!(ran.out, stepwell_core::run::statechart_mermaid());
    let picture = run(&["statechart", "--format", "mermaid"], b"").succeeded();
    assert_eq!(picture.out, ran.out);
    let data = run(&["statechart", "--format", "json"], b"").succeeded();
    let chart = serde_json::to_value(stepwell_core::run::statechart()).expect("JSON");
    assert_eq!(data.json(), chart);
    assert_eq!(data.json()["initial"], Value::from("idle"));
}
