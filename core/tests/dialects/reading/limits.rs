//! The most calls of an answer: the same everywhere, and told as what it is.

use super::answer::{Answer, Call, body, read, read_once};
use serde_json::json;
use stepwell_core::dialect::{AnswerLimit, DecodeError, Dialect};
use stepwell_core::pipeline::StreamEnd;

fn answer(calls: usize) -> Answer {
    let call = |at: usize| Call {
        // Ids that are taken are made anew.
        id: "",
        name: "f",
        arguments: vec![format!("{{\\\"n\\\":{at}}}")],
    };
    Answer {
        thought: Vec::new(),
        text: Vec::new(),
        calls: (0..calls).map(call).collect(),
    }
}

#[test]
fn an_answer_has_as_many_calls_in_every_dialect() {
    for dialect in Dialect::ALL.into_iter().skip(1) {
        let most = read(dialect, &answer(1_024).frames(dialect));
        assert_eq!(
            (most.calls.len(), most.end),
            (1_024, Ok(StreamEnd::Finished)),
            "{dialect:?}"
        );
        let more = read(dialect, &answer(1_025).frames(dialect));
        assert_eq!(
            more.end.expect_err("a limit").source,
            DecodeError::Answer(AnswerLimit::Calls { max: 1_024 }),
            "{dialect:?}"
        );
    }
}

#[test]
fn calls_that_come_all_at_once_are_counted_before_any_is_said() {
    let calls = |call: &str| vec![call; 1_025].join(",");
    for (dialect, frame) in [
        (
            Dialect::OpenAiChat,
            format!(
                r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{}]}}}}]}}"#,
                calls(r#"{"function":{"name":"f"}}"#)
            ),
        ),
        (
            Dialect::OpenAiResponses,
            format!(
                r#"{{"type":"response.completed","response":{{"output":[{}]}}}}"#,
                calls(r#"{"type":"function_call","name":"f","arguments":"{}"}"#)
            ),
        ),
        (
            Dialect::Anthropic,
            format!(
                r#"{{"type":"message_start","message":{{"content":[{}]}}}}"#,
                calls(r#"{"type":"tool_use","name":"f","input":{}}"#)
            ),
        ),
        (
            Dialect::Gemini,
            format!(
                r#"{{"candidates":[{{"content":{{"parts":[{}]}}}}]}}"#,
                calls(r#"{"functionCall":{"name":"f"}}"#)
            ),
        ),
        (
            Dialect::GeminiInteractions,
            format!(
                r#"{{"event_type":"interaction.completed","interaction":{{"status":"requires_action","steps":[{}]}}}}"#,
                calls(r#"{"type":"function_call","name":"f","arguments":{}}"#)
            ),
        ),
        (
            Dialect::Ollama,
            format!(
                r#"{{"message":{{"tool_calls":[{}]}}}}"#,
                calls(r#"{"function":{"name":"f"}}"#)
            ),
        ),
    ] {
        assert!(body(dialect, &[&frame]).len() > 1_025);
        let read = read(dialect, &[frame]);
        assert_eq!(
            read.end.expect_err("a limit").source,
            DecodeError::Answer(AnswerLimit::Calls { max: 1_024 }),
            "{dialect:?}"
        );
        assert_eq!(read.calls.len(), 0, "{dialect:?}");
    }
}

fn long_call(arguments: Vec<String>) -> Answer {
    Answer {
        thought: Vec::new(),
        text: Vec::new(),
        calls: vec![Call {
            id: "one",
            name: "f",
            arguments,
        }],
    }
}

/// The most that an answer may bring, without what the call takes beside its arguments.
const LONGEST: usize = (32 << 20) - 1024;

/// Reads a call whose arguments are one string in so many equal pieces.
fn read_long(dialect: Dialect, pieces: usize) -> bool {
    let piece = "x".repeat(LONGEST / pieces);
    let mut arguments = vec!["{\\\"t\\\":\\\"".to_owned()];
    arguments.extend((0..pieces).map(|_| "@".to_owned()));
    arguments.push("\\\"}".to_owned());
    if pieces == 1 {
        arguments = vec![arguments.concat()];
    }
    let frames = long_call(arguments).frames(dialect);
    let frames: Vec<_> = frames
        .iter()
        .map(|frame| frame.replace('@', &piece))
        .collect();
    let read = read_once(dialect, &body(dialect, &frames));
    assert_eq!(read.end, Ok(StreamEnd::Finished), "{dialect:?}");
    let said = read.calls[0][2].trim_matches(|char| char != 'x');
    said == piece.repeat(pieces)
}

#[test]
fn a_call_may_be_as_long_as_an_answer_in_every_dialect() {
    for dialect in Dialect::ALL {
        assert!(read_long(dialect, 1), "{dialect:?}");
    }
}

#[test]
fn a_long_call_may_come_in_pieces_in_every_dialect() {
    for dialect in Dialect::ALL {
        // These two send a call whole.
        if !matches!(dialect, Dialect::Gemini | Dialect::Ollama) {
            assert!(read_long(dialect, 30), "{dialect:?}");
        }
    }
}

#[test]
fn a_long_call_may_come_all_at_once() {
    let arguments = format!("{{\"t\":\"{}\"}}", "x".repeat(256 << 10));
    let text = json!(arguments);
    for (dialect, frames) in [
        (
            Dialect::OpenAiChat,
            vec![
                format!(
                    r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":0,"id":"one","function":{{"name":"f","arguments":{text}}}}}]}}}}]}}"#
                ),
                r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#.to_owned(),
            ],
        ),
        (
            // The arguments come before the name.
            Dialect::Mistral,
            vec![
                format!(
                    r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":0,"function":{{"arguments":{text}}}}}]}}}}]}}"#
                ),
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"one","function":{"name":"f"}}]},"finish_reason":"tool_calls"}]}"#.to_owned(),
            ],
        ),
        (
            Dialect::OpenAiResponses,
            vec![format!(
                r#"{{"type":"response.completed","response":{{"status":"completed","output":[{{"type":"function_call","call_id":"one","name":"f","arguments":{text}}}]}}}}"#
            )],
        ),
        (
            Dialect::Anthropic,
            vec![
                format!(
                    r#"{{"type":"message_start","message":{{"content":[{{"type":"tool_use","id":"one","name":"f","input":{arguments}}}]}}}}"#
                ),
                r#"{"type":"message_stop"}"#.to_owned(),
            ],
        ),
        (
            Dialect::Gemini,
            vec![
                format!(
                    r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"id":"one","name":"f","partialArgs":[{{"jsonPath":"$.t","stringValue":"{}"}}],"willContinue":false}}}}]}}}}]}}"#,
                    "x".repeat(256 << 10)
                ),
                r#"{"candidates":[{"finishReason":"STOP"}]}"#.to_owned(),
            ],
        ),
        (
            Dialect::GeminiInteractions,
            vec![
                format!(
                    r#"{{"event_type":"step.start","index":0,"step":{{"type":"function_call","id":"one","name":"f","arguments":{arguments}}}}}"#
                ),
                r#"{"event_type":"interaction.completed","interaction":{"status":"requires_action"}}"#.to_owned(),
            ],
        ),
        (
            Dialect::Cohere,
            vec![
                format!(
                    r#"{{"type":"tool-call-start","index":0,"delta":{{"message":{{"tool_calls":{{"id":"one","function":{{"name":"f","arguments":{text}}}}}}}}}}}"#
                ),
                r#"{"type":"tool-call-end","index":0}"#.to_owned(),
                r#"{"type":"message-end","delta":{"finish_reason":"TOOL_CALL"}}"#.to_owned(),
            ],
        ),
    ] {
        let read = read(dialect, &frames);
        assert_eq!(read.end, Ok(StreamEnd::Finished), "{dialect:?}");
        assert!(read.calls[0][2] == arguments, "{dialect:?}");
    }
}
