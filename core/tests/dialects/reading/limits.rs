//! The most calls of an answer: the same everywhere, and told as what it is.

use super::answer::{Answer, Call, body, read};
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
