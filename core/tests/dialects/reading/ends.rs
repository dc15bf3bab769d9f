//! Ends that are none.

use super::answer::{body, read, read_in};
use stepwell_core::dialect::Dialect;
use stepwell_core::pipeline::StreamEnd;

const TEXT: &str = r#"{"choices":[{"index":0,"delta":{"content":"Hi"}}]}"#;

fn call(arguments: &str) -> String {
    format!(
        r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":0,"id":"c","function":{{"name":"f","arguments":"{arguments}"}}}}]}}}}]}}"#
    )
}

#[test]
fn a_call_that_is_cut_off_is_not_run() {
    for (arguments, expected) in [
        (r#"{\"a\":"#, StreamEnd::Truncated),
        ("", StreamEnd::Truncated),
        (r#"{\"a\":1}"#, StreamEnd::Finished),
    ] {
        let frames = [TEXT.to_owned(), call(arguments), "[DONE]".to_owned()];
        let read = read(Dialect::OpenAiChat, &frames);
        assert_eq!(read.end, Ok(expected), "{arguments}");
        let added = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c","name":"f","arguments":""}}"#;
        let delta = format!(
            r#"{{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{arguments}"}}"#
        );
        let read =
            super::answer::read(Dialect::OpenAiResponses, &[added, delta.as_str(), "[DONE]"]);
        assert_eq!(read.end, Ok(expected), "{arguments}");
    }
}

#[test]
fn an_answer_without_a_reason_to_stop_is_told_of() {
    let responses = r#"{"type":"response.output_text.delta","output_index":0,"delta":"Hi"}"#;
    for (dialect, frame) in [
        (Dialect::OpenAiChat, TEXT),
        (Dialect::OpenAiResponses, responses),
    ] {
        let (read, warnings) = read_in(dialect, &body(dialect, &[frame, "[DONE]"]), usize::MAX);
        assert_eq!(
            (read.text.as_str(), read.end),
            ("Hi", Ok(StreamEnd::Finished))
        );
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains("why it stopped"), "{warnings:?}");
    }
}
