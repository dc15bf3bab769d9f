//! Streams, cut at every byte.

use crate::stream::{Recorder, Stream};
use crate::wire::event_stream::{event, exception, message};
use serde_json::{Value, json};
use stepwell_core::dialect::{ApiErrorKind, DecodeError, Dialect, HopIds};
use stepwell_core::event::Event;
use stepwell_core::pipeline::{Pipeline, StreamEnd};
use stepwell_core::transcript::Transcript;
use stepwell_core::wire::{FrameLimits, MessageFault, WireError};

#[allow(clippy::needless_pass_by_value, reason = "a literal at each call")]
fn delta(index: usize, delta: Value) -> Vec<u8> {
    let payload = json!({"contentBlockIndex": index, "delta": delta, "p": "abcdefgh"});
    event("contentBlockDelta", &payload.to_string())
}

fn start() -> Vec<u8> {
    event("messageStart", r#"{"p":"abcd","role":"assistant"}"#)
}

fn stop(reason: &str) -> Vec<u8> {
    event("messageStop", &json!({"stopReason": reason}).to_string())
}

fn read_in(body: &[u8], size: usize) -> (Recorder, Result<(), DecodeError>) {
    let mut stream = Stream::new(Dialect::BedrockConverse);
    stream.snapshots = size != usize::MAX;
    let mut result = Ok(());
    for chunk in body.chunks(size) {
        result = result.and_then(|()| stream.receive(chunk));
    }
    let result = result.and_then(|()| stream.end());
    (stream.recorder, result)
}

/// The events of the body, the same however it is cut.
fn read(body: &[u8]) -> Recorder {
    let (whole, result) = read_in(body, usize::MAX);
    assert_eq!(result, Ok(()));
    for size in [1, 7, 64] {
        let (cut, result) = read_in(body, size);
        assert_eq!(result, Ok(()));
        assert_eq!(cut, whole, "in {size} bytes");
    }
    whole
}

fn events(recorder: &Recorder) -> Vec<Value> {
    let json = |event: &Event| serde_json::to_value(event).expect("JSON");
    recorder.events.iter().map(json).collect()
}

fn kinds(recorder: &Recorder) -> Vec<String> {
    let kind = |event: &Value| event["type"].as_str().unwrap_or_default().to_owned();
    events(recorder).iter().map(kind).collect()
}

#[test]
fn an_answer_with_everything_is_read() {
    let call =
        r#"{"contentBlockIndex":2,"start":{"toolUse":{"toolUseId":"tooluse_1","name":"look"}}}"#;
    let metadata = json!({
        "usage": {
            "inputTokens": 10, "outputTokens": 20, "totalTokens": 37, "cacheReadInputTokens": 3,
            "cacheWriteInputTokens": 4, "cacheDetails": [{"ttl": "1h", "inputTokens": 4}],
        },
        "metrics": {"latencyMs": 500},
    });
    let body = [
        start(),
        delta(0, json!({"reasoningContent": {"text": "Hm, "}})),
        delta(0, json!({"reasoningContent": {"text": "well."}})),
        delta(0, json!({"reasoningContent": {"signature": "c2ln"}})),
        event("contentBlockStop", r#"{"contentBlockIndex":0}"#),
        delta(1, json!({"text": "Let me "})),
        delta(1, json!({"text": "look."})),
        event("contentBlockStop", r#"{"contentBlockIndex":1}"#),
        event("contentBlockStart", call),
        delta(2, json!({"toolUse": {"input": "{\"at\":"}})),
        delta(2, json!({"toolUse": {"input": "\"it\"}"}})),
        event("contentBlockStop", r#"{"contentBlockIndex":2}"#),
        stop("tool_use"),
        event("metadata", &metadata.to_string()),
    ]
    .concat();
    let recorder = read(&body);
    assert_eq!(
        kinds(&recorder),
        [
            "RUN_STARTED",
            "REASONING_START",
            "REASONING_MESSAGE_START",
            "REASONING_MESSAGE_CONTENT",
            "REASONING_MESSAGE_CONTENT",
            "REASONING_ENCRYPTED_VALUE",
            "REASONING_MESSAGE_END",
            "REASONING_END",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "TOOL_CALL_START",
            "TOOL_CALL_ARGS",
            "TOOL_CALL_ARGS",
            "TOOL_CALL_END",
            "RUN_FINISHED",
        ]
    );
    let all = events(&recorder);
    let sealed: Value =
        serde_json::from_str(all[5]["encryptedValue"].as_str().expect("text")).expect("JSON");
    assert_eq!(sealed["value"], json!({"signature": "c2ln"}));
    assert_eq!(all[12]["toolCallId"], "tooluse_1");
    let end = all.last().expect("an end");
    assert_eq!(end["metadata"]["stopReason"], "tool_use");
    assert_eq!(
        end["usage"],
        json!([{
            "inputTokens": 10, "outputTokens": 20, "cachedInputTokens": 3, "cacheWriteInputTokens": 4,
            "cacheWrite1hInputTokens": 4,
        }])
    );
    assert!(recorder.warnings.is_empty(), "{:?}", recorder.warnings);
}

#[test]
fn redacted_reasoning_is_kept_for_the_next_request() {
    let body = [
        start(),
        delta(0, json!({"reasoningContent": {"redactedContent": "AAEC"}})),
        event("contentBlockStop", r#"{"contentBlockIndex":0}"#),
        delta(1, json!({"text": "Hi"})),
        stop("end_turn"),
    ]
    .concat();
    let recorder = read(&body);
    let all = events(&recorder);
    let sealed = all
        .iter()
        .find_map(|event| event["encryptedValue"].as_str());
    let sealed: Value = serde_json::from_str(sealed.expect("sealed")).expect("JSON");
    assert_eq!(sealed["value"], json!({"redacted": "AAEC"}));
}

#[test]
fn what_is_unknown_is_passed_over() {
    let own = r#"{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"s","name":"nova_grounding","type":"server_tool_use"}}}"#;
    let body = [
        event("aNewEvent", r#"{"with":["anything"]}"#),
        start(),
        event("contentBlockStart", own),
        delta(0, json!({"toolUse": {"input": "{\"query\":1}"}})),
        event("contentBlockStop", r#"{"contentBlockIndex":0}"#),
        event(
            "contentBlockStart",
            r#"{"contentBlockIndex":1,"start":{"hologram":{}}}"#,
        ),
        delta(1, json!({"hologram": {"x": 1}})),
        event("contentBlockStop", r#"{"contentBlockIndex":1}"#),
        event(
            "contentBlockDelta",
            r#"{"contentBlockIndex":2,"delta":{"text":"Hi"},"later":{"a":[1]}}"#,
        ),
        delta(2, json!({"citation": {"title": "A"}})),
        event(
            "messageStop",
            r#"{"stopReason":"a_new_reason","additionalModelResponseFields":{}}"#,
        ),
        event("metadata", r#"{"usage":{"inputTokens":"many"},"trace":{}}"#),
    ]
    .concat();
    let recorder = read(&body);
    assert_eq!(
        kinds(&recorder),
        [
            "RUN_STARTED",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "CUSTOM",
            "TEXT_MESSAGE_END",
            "RUN_FINISHED",
        ]
    );
}

/// The kind of the failure that the stream reports.
fn failed(body: &[u8]) -> (Option<ApiErrorKind>, String) {
    let recorder = read(body);
    let Some(Event::RunError(error)) = recorder.events.last() else {
        panic!("no failure: {:?}", recorder.events);
    };
    let said = error
        .common
        .as_ref()
        .and_then(|common| common.metadata.as_ref());
    let said = said.and_then(|metadata| metadata.get("errorKind")?.as_str());
    let kind = said.and_then(ApiErrorKind::named);
    let code = error.code.as_deref();
    let kind = kind.or_else(|| ApiErrorKind::of_stream(code, &error.message));
    (kind, error.message.clone())
}

#[test]
fn an_exception_is_a_failure_of_its_kind() {
    for (name, words, kind, is_transient) in [
        (
            "throttlingException",
            "Too many tokens, please wait before trying again.",
            ApiErrorKind::RateLimit,
            true,
        ),
        (
            "modelTimeoutException",
            "The request took too long.",
            ApiErrorKind::ServerError,
            true,
        ),
        (
            "internalServerException",
            "An unexpected error.",
            ApiErrorKind::ServerError,
            true,
        ),
        (
            "modelStreamErrorException",
            "Retry your request.",
            ApiErrorKind::ServerError,
            true,
        ),
        (
            "serviceUnavailableException",
            "Not now.",
            ApiErrorKind::ServerError,
            true,
        ),
        (
            "validationException",
            "A field is wrong.",
            ApiErrorKind::InvalidRequest,
            false,
        ),
        (
            "validationException",
            "Input is too long for requested model.",
            ApiErrorKind::ContextTooLong,
            false,
        ),
    ] {
        let payload = json!({"message": words}).to_string();
        let begun = [start(), delta(0, json!({"text": "Hi"}))].concat();
        let failure = exception(name, &payload);
        let (found, message) = failed(&[&begun[..], &failure, &stop("end_turn")].concat());
        assert_eq!((found, &*message), (Some(kind), words), "{name}");
        assert_eq!(kind.is_transient(), is_transient, "{name}");
        assert_eq!(failed(&failure).0, Some(kind), "{name} at the beginning");
    }
}

#[test]
fn an_error_without_a_payload_is_a_failure() {
    let error = [
        (":message-type", "error"),
        (":error-code", "InternalFailure"),
        (":error-message", "An internal server error occurred"),
    ];
    let (kind, words) = failed(&[start(), message(&error, b"")].concat());
    assert_eq!(kind, Some(ApiErrorKind::ServerError));
    assert_eq!(words, "An internal server error occurred");
}

#[test]
fn what_the_provider_could_not_read_may_be_asked_again() {
    for reason in ["malformed_tool_use", "malformed_model_output"] {
        let (kind, _) = failed(&[start(), stop(reason)].concat());
        assert_eq!(kind, Some(ApiErrorKind::UnreadableOutput), "{reason}");
    }
    let (kind, _) = failed(&[start(), stop("tool_use")].concat());
    assert_eq!(kind, Some(ApiErrorKind::UnreadableOutput), "without a call");
}

fn pipeline(body: &[u8]) -> Result<StreamEnd, String> {
    let dialect = Dialect::BedrockConverse;
    let mut pipeline = Pipeline::new(dialect, HopIds::default(), FrameLimits::default());
    let mut transcript = Transcript::default();
    pipeline
        .receive(body, &mut transcript, &mut ())
        .and_then(|()| pipeline.end(&mut transcript, &mut ()))
        .map_err(|error| error.to_string())
}

#[test]
fn a_body_that_ends_early_is_truncated() {
    let body = [
        start(),
        delta(0, json!({"text": "Hi"})),
        stop("end_turn"),
        event("metadata", "{}"),
    ];
    let whole = body.concat();
    let stopped = body[..3].concat().len();
    assert_eq!(pipeline(&whole), Ok(StreamEnd::Finished));
    for at in 0..whole.len() {
        let end = match at {
            at if at == stopped => StreamEnd::Finished,
            _ => StreamEnd::Truncated,
        };
        assert_eq!(pipeline(&whole[..at]), Ok(end), "cut at {at}");
    }
}

#[test]
fn an_index_that_is_none_is_an_error() {
    let body = event("contentBlockStop", r#"{"contentBlockIndex":"one"}"#);
    let error = read_in(&body, usize::MAX).1.expect_err("an error");
    let words = error.to_string();
    assert!(words.contains("an index is a whole number"), "{words}");
}

#[test]
fn a_changed_body_has_a_clear_error() {
    let mut body = [start(), delta(0, json!({"text": "Hi"}))].concat();
    let last = body.len() - 6;
    body[last] ^= 1;
    let (recorder, result) = read_in(&body, usize::MAX);
    let fault = MessageFault::Checksum;
    let error = DecodeError::from(WireError::BadMessage { fault });
    assert_eq!(result, Err(error));
    assert_eq!(kinds(&recorder), ["RUN_STARTED"], "what came before counts");
    let error = pipeline(&body).expect_err("an error");
    assert!(error.contains("its checksum is wrong"), "{error}");
    let page = pipeline(b"<html><title>502 Bad Gateway</title></html>");
    let error = page.expect_err("an error");
    assert!(
        error.contains("check that the body matches its media type"),
        "{error}"
    );
}
