use super::support::{finish, text};
use crate::decoding::{Stream, body, short};
use serde_json::json;
use stepwell_core::dialect::{DecodeError, Dialect};

fn run(bytes: &str) -> (Vec<String>, Vec<String>, Result<(), DecodeError>) {
    let (recorder, result) = Stream::new(Dialect::Gemini).run(bytes.as_bytes(), usize::MAX);
    let events = recorder.events.iter().map(short).collect();
    (events, recorder.warnings, result)
}

#[test]
fn an_error_in_the_stream_ends_it() {
    let error = json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}});
    let bytes = body(
        Dialect::Gemini,
        &[text("a"), error.clone(), text("late"), finish("STOP")],
    );
    let (events, _, result) = run(&bytes);
    assert_eq!(result, Ok(()));
    assert_eq!(
        events[2..],
        ["text r-message-0: a", "error 503: The model is overloaded."]
    );
    let (events, ..) = run(&body(Dialect::Gemini, &[error]));
    assert_eq!(events, ["error 503: The model is overloaded."]);
    let (events, ..) = run(&body(Dialect::Gemini, &[json!({"error": {}})]));
    assert_eq!(events, [r#"error -: {"error":{}}"#]);
}

#[test]
fn a_body_without_a_finish_reason_was_cut_off() {
    let (events, warnings, result) = run(&body(Dialect::Gemini, &[text("a")]));
    assert_eq!((warnings, result), (vec![], Ok(())));
    assert_eq!(events.last().unwrap(), "text r-message-0: a");
}

#[test]
fn an_answer_that_is_no_stream_is_told() {
    let array = format!("[{},\r\n{}]", text("a"), finish("STOP"));
    let (events, warnings, result) = run(&format!("data: {array}\n\n").replace("\r\n", " "));
    assert!(events.is_empty());
    assert!(warnings.is_empty());
    let reason = result.unwrap_err().to_string();
    assert!(reason.contains("alt=sse"), "{reason}");
    // The array itself has no event at all.
    let (events, warnings, result) = run(&array);
    assert_eq!((events, result), (vec![], Ok(())));
    assert!(warnings[0].contains("alt=sse"), "{warnings:?}");
}

#[test]
fn broken_json_says_nothing() {
    for frame in [
        r#"{"candidates":[{"content":{"parts":[{"text":"x"}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":"x"}, tru]}}]}"#,
    ] {
        let bytes = format!("{}data: {frame}\n\n", body(Dialect::Gemini, &[text("a")]));
        let (events, _, result) = run(&bytes);
        assert!(matches!(result, Err(DecodeError::Json { .. })), "{frame}");
        assert_eq!(events.len(), 3, "{frame}");
    }
}
