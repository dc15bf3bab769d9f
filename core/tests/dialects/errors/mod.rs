//! Every provider's errors, in the form in which it sends them, and what becomes of them.
//!
//! `bodies.txt` has one body a line: the HTTP status, the kind that it must give, whether it passes by itself, the JSON.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use stepwell_core::dialect::ApiError;
use stepwell_core::dialect::ApiErrorKind::{
    self, Authentication, ContentFilter, ContextTooLong, InvalidRequest, NotFound, Overloaded,
    RateLimit, ServerError, UnreadableOutput,
};
use stepwell_core::provider;

const BODIES: &str = include_str!("bodies.txt");

/// Each provider's lines.
fn providers() -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut providers: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let mut provider = "";
    for line in BODIES.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("# ") {
            Some(name) => provider = name,
            None => providers.entry(provider).or_default().push(line),
        }
    }
    providers
}

#[test]
fn every_body_gives_its_kind() {
    let mut count = 0;
    for (provider, line) in providers()
        .iter()
        .flat_map(|(provider, lines)| lines.iter().map(move |line| (provider, line)))
    {
        let [status, kind, course, body]: [&str; 4] = line
            .splitn(4, ' ')
            .collect::<Vec<_>>()
            .try_into()
            .expect("four fields");
        let kind: ApiErrorKind = serde_json::from_value(json!(kind)).expect("a kind");
        let error = ApiError::from_body(status.parse().expect("a status"), body.as_bytes());
        assert_eq!(error.kind, kind, "{provider}: {line}");
        let passes = error.is_transient();
        assert_eq!(passes, course == "passes", "{provider}: {line}");
        // The provider's own words are kept, but where it has none.
        assert!(!error.message.is_empty());
        assert_eq!(
            error.message.starts_with('{'),
            body == "{}",
            "{line}: {}",
            error.message
        );
        count += 1;
    }
    assert!(count > 100, "{count}");
}

#[test]
fn every_provider_has_its_errors() {
    let known = providers();
    for provider in provider::all() {
        // The one is whatever is compatible; the other leaves the body open.
        if !matches!(&*provider.name, "openai-compatible" | "ag-ui") {
            let bodies = known.get(&*provider.name).map_or(0, Vec::len);
            assert!(bodies >= 5, "{}: {bodies}", provider.name);
        }
    }
}

#[test]
fn a_wait_in_the_body_is_read() {
    for (body, millis) in [
        (
            json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Quota.", "details": [
                {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []},
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "36.5s"},
            ]}}),
            Some(36_500),
        ),
        (
            json!({"error": {"message": "Rate limit reached. Please try again in 7.66s. Need more?", "code": "rate_limit_exceeded"}}),
            Some(7_660),
        ),
        (
            json!({"error": {"message": "Please try again in 6m0s."}}),
            Some(360_000),
        ),
        (
            json!({"error": {"message": "Slow", "metadata": {"retry_after_seconds": 3}}}),
            Some(3_000),
        ),
        (
            json!({"error": {"message": "Please try again later."}}),
            None,
        ),
        (json!({"error": {"message": "m", "retry_after": -1}}), None),
        (
            json!({"error": {"message": "m", "details": [{"retryDelay": "soon"}]}}),
            None,
        ),
    ] {
        let error = ApiError::from_body(429, body.to_string().as_bytes());
        assert_eq!(
            error.retry_after,
            millis.map(Duration::from_millis),
            "{body}"
        );
    }
}

#[test]
fn words_are_taken_from_where_they_are() {
    for (body, message) in [
        (
            json!({"detail": [{"type": "missing", "loc": ["body", "messages", 0], "msg": "Field required"}]}),
            "body.messages.0: Field required",
        ),
        (
            json!({"object": "error", "message": {"detail": [{"loc": [], "msg": "Bad"}, {"msg": "Worse"}]}}),
            "Bad; Worse",
        ),
        (json!({"message": {"detail": [1]}}), r#"{"detail":[1]}"#),
        (
            json!({"status": 429, "title": "Too Many Requests"}),
            "Too Many Requests",
        ),
        (
            json!({"error": {"message": "Provider returned error", "metadata": {"raw": "{\"error\":{\"message\":\"Too long\"}}"}}}),
            "Provider returned error: Too long",
        ),
        (
            json!({"error": {"message": "Provider returned error", "metadata": {"raw": "busy"}}}),
            "Provider returned error: busy",
        ),
    ] {
        let error = ApiError::from_body(400, body.to_string().as_bytes());
        assert_eq!(error.message, message);
    }
}

#[test]
fn what_a_gateway_wraps_again_and_again_does_not_go_deep() {
    let mut body = json!({"error": {"message": "m"}});
    for _ in 0..12 {
        body = json!({"error": {"message": "m", "metadata": {"raw": body.to_string()}}});
    }
    assert_eq!(
        ApiError::from_body(400, body.to_string().as_bytes()).message,
        "m: m"
    );
}

#[test]
fn what_is_no_json_is_judged_by_its_status() {
    for (status, kind) in [
        (400, InvalidRequest),
        (401, Authentication),
        (404, NotFound),
        (418, InvalidRequest),
        (429, RateLimit),
        (500, ServerError),
        (502, ServerError),
        (529, Overloaded),
        (600, InvalidRequest),
    ] {
        let error = ApiError::from_body(status, b"<html>Nope</html>");
        assert_eq!(error.kind, kind, "{status}");
        assert_eq!(error.message, "<html>Nope</html>");
        assert_eq!(error.retry_after, None);
    }
}

#[test]
fn a_stream_says_the_kind_by_its_code_or_its_words() {
    for (code, message, kind) in [
        (Some("overloaded_error"), "Overloaded", Some(Overloaded)),
        (
            Some("context_length_exceeded"),
            "Long",
            Some(ContextTooLong),
        ),
        (Some("rate_limit_exceeded"), "Slow", Some(RateLimit)),
        (Some("server_error"), "It broke", Some(ServerError)),
        (Some("502"), "Upstream", Some(ServerError)),
        (Some("429"), "Slow", Some(RateLimit)),
        (Some("tool_use_failed"), "No", Some(UnreadableOutput)),
        (Some("content_filter"), "x", Some(ContentFilter)),
        (None, "prompt is too long: 1 > 0", Some(ContextTooLong)),
        (None, "server busy, please try again", Some(Overloaded)),
        (None, "It went wrong", None),
        (Some("E1"), "It went wrong", None),
    ] {
        let got = ApiErrorKind::of_stream(code, message);
        assert_eq!(got, kind, "{code:?} {message}");
    }
}

#[test]
fn any_json_at_all_is_an_error_with_words() {
    let odd = [
        json!(null),
        json!([]),
        json!([[]]),
        json!({"error": null}),
        json!({"error": {}}),
        json!({"error": []}),
        json!({"error": {"message": null, "metadata": {"raw": 1}}}),
        json!({"error": {"message": 1, "details": {}, "code": []}}),
        json!("text"),
    ];
    for body in odd {
        for status in [0, 200, 400, 500, u16::MAX] {
            let error = ApiError::from_body(status, Value::to_string(&body).as_bytes());
            assert!(!error.message.is_empty());
        }
    }
}
