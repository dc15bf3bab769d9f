use crate::run::{finish, run, stepwell};
use serde_json::Value;

#[test]
fn the_final_conversation_is_printed_as_json_and_nothing_else() {
    let ran = run(&["demo", "--json"], b"").succeeded();
    assert_eq!(ran.out, include_str!("../demo.expected.json"));
}

#[test]
fn a_turn_is_shown_in_plain_lines_where_there_is_no_terminal() {
    let ran = run(&[], b"").succeeded();
    let (summary, lines) = {
        let mut lines: Vec<_> = ran.out.lines().collect();
        (lines.pop().expect("a last line"), lines)
    };
    assert_eq!(
        lines,
        [
            "› What are Alice's and Bob's secret numbers?",
            "Let me look those numbers up.",
            "✓ get_secret_number {\"name\":\"alice\"} → 42",
            "✓ get_secret_number {\"name\":\"bob\"} → 7",
            "Alice's number is 42, Bob's is 7",
        ]
    );
    assert!(summary.starts_with("2 hops · 2 tools · "), "{summary}");
    assert!(
        summary.contains(" tokens (") && summary.ends_with(" s"),
        "{summary}"
    );
}

#[test]
fn the_log_goes_to_standard_error_as_json_where_asked_for() {
    let mut command = stepwell(&["--log-format", "json", "demo", "--json"]);
    command.env("STEPWELL_LOG", "stepwell=debug");
    let ran = finish(command, b"");
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.out, include_str!("../demo.expected.json"));
    let lines: Vec<Value> = ran
        .err
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    assert!(lines.iter().any(|line| line["target"] == "stepwell"));
}

/// Every format has the same messages, calls and answers; only the ids differ.
#[test]
fn the_demo_runs_in_the_formats_of_the_providers() {
    let said = |out: &str| {
        let transcript: Value = serde_json::from_str(out).expect("JSON");
        let messages = transcript["messages"].as_array().expect("messages").clone();
        messages
            .iter()
            .map(|message| {
                let calls = message["toolCalls"].as_array().into_iter().flatten();
                let calls: Vec<_> = calls.map(|call| call["function"].clone()).collect();
                (message["role"].clone(), message["content"].clone(), calls)
            })
            .collect::<Vec<_>>()
    };
    let wanted = said(include_str!("../demo.expected.json"));
    for (provider, api) in FORMATS {
        let mut arguments = vec!["demo", "--json", "--provider", provider];
        arguments.extend(api.iter().flat_map(|api| ["--api", api]));
        let ran = run(&arguments, b"").succeeded();
        assert_eq!(said(&ran.out), wanted, "{provider} {api:?}");
    }
}

/// One provider of each format, and the others that speak it.
const FORMATS: &[(&str, Option<&str>)] = &[
    ("openai", None),
    ("openai", Some("responses")),
    ("openrouter", None),
    ("openrouter", Some("responses")),
    ("openrouter", Some("messages")),
    ("anthropic", None),
    ("gemini", None),
    ("gemini", Some("interactions")),
    ("bedrock", None),
    ("mistral", None),
    ("cohere", None),
    ("groq", None),
    ("together", None),
    ("fireworks", None),
    ("nvidia", None),
    ("ollama", None),
    ("ollama", Some("chat")),
    ("openai-compatible", None),
    ("ag-ui", None),
];
