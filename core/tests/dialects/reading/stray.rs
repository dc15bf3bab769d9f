//! Text in a body that is no event: a server or a proxy that fails in mid-stream reports its error so. It ends the stream,
//! in every dialect whose bodies are server-sent events.

use super::answer::{Answer, Read, body, read_in};
use stepwell_core::dialect::{ApiErrorKind, Dialect};
use stepwell_core::pipeline::StreamEnd;

/// What reports an error, the words that must reach the app, and the kind that they must be of.
const ERRORS: [(&str, &str, ApiErrorKind); 9] = [
    (
        "error: {\"code\":400,\"message\":\"the request exceeds the available context size\",\"type\":\"exceed_context_size_error\"}",
        "the request exceeds the available context size",
        ApiErrorKind::ContextTooLong,
    ),
    (
        "error: {\"error\":{\"message\":\"failed to decode, try again, increasing context size\"}}",
        "failed to decode, try again, increasing context size",
        ApiErrorKind::ContextTooLong,
    ),
    (
        "error:{\"code\":500,\"message\":\"slot died\",\"type\":\"server_error\"}",
        "slot died",
        ApiErrorKind::ServerError,
    ),
    (
        "{\"error\":{\"message\":\"backend died\",\"type\":\"server_error\",\"code\":502}}",
        "backend died",
        ApiErrorKind::ServerError,
    ),
    (
        "{\n  \"error\": {\n    \"code\": 429,\n    \"message\": \"No more\",\n    \"status\": \"RESOURCE_EXHAUSTED\"\n  }\n}",
        "No more",
        ApiErrorKind::RateLimit,
    ),
    (
        "{\"error\":{\"message\":\"You exceeded your current quota\",\"type\":\"insufficient_quota\",\"code\":\"insufficient_quota\"}}",
        "You exceeded your current quota",
        ApiErrorKind::Quota,
    ),
    (
        "<html>\r\n<head><title>503 Service Temporarily Unavailable</title></head>\r\n<body>\r\n\r\n<hr></body></html>",
        "503 Service Temporarily Unavailable",
        ApiErrorKind::ServerError,
    ),
    (
        "{\"detail\":\"Rate limit exceeded\"}",
        "Rate limit exceeded",
        ApiErrorKind::RateLimit,
    ),
    (
        "data: {\"detail\":\"Too many requests\"}",
        "Too many requests",
        ApiErrorKind::RateLimit,
    ),
];

fn sse() -> impl Iterator<Item = Dialect> {
    let all = Dialect::ALL.into_iter();
    all.filter(|dialect| !matches!(dialect, Dialect::Ollama | Dialect::BedrockConverse))
}

/// A body of the first frames of an answer, and something behind them.
fn broken(dialect: Dialect, frames: usize, behind: &str) -> String {
    let all = Answer::small().frames(dialect);
    body(dialect, &all[..frames]) + behind
}

fn failed(read: &Read, dialect: Dialect, words: &str, kind: ApiErrorKind) {
    let end = format!("{dialect:?}: {read:?}");
    assert_eq!(read.end, Ok(StreamEnd::Errored), "{end}");
    assert_eq!(read.failure.as_deref(), Some(words), "{end}");
    assert_eq!(read.kind, Some(kind), "{end}");
}

#[test]
fn an_error_outside_the_format_ends_the_stream() {
    for dialect in sse() {
        for (error, words, kind) in ERRORS {
            for end in ["", "\n", "\n\n", "\n\ndata: [DONE]\n\n"] {
                // An agent is held to its protocol behind its error, too.
                if dialect == Dialect::AgUi && end.ends_with("[DONE]\n\n") {
                    continue;
                }
                let body = broken(dialect, 3, &format!("{error}{end}"));
                for size in [50, usize::MAX] {
                    let (read, _) = read_in(dialect, &body, size);
                    failed(&read, dialect, words, kind);
                }
            }
        }
    }
}

#[test]
fn an_error_outside_the_format_is_one_before_anything_else() {
    for dialect in sse() {
        for (error, words, kind) in ERRORS {
            let is_agent = dialect == Dialect::AgUi;
            let end = if is_agent { ": end" } else { "data: [DONE]" };
            let body = format!("{error}\n\n{end}\n\n");
            // What is nothing but a page or JSON is for the caller to see.
            if is_agent && error.starts_with(['<', '{']) {
                continue;
            }
            let (read, _) = read_in(dialect, &body, usize::MAX);
            failed(&read, dialect, words, kind);
        }
    }
}

#[test]
fn a_page_among_json_lines_ends_the_stream() {
    let page = "<html><head><title>502 Bad Gateway</title></head></html>\n";
    let (read, _) = read_in(
        Dialect::Ollama,
        &broken(Dialect::Ollama, 3, page),
        usize::MAX,
    );
    failed(
        &read,
        Dialect::Ollama,
        "502 Bad Gateway",
        ApiErrorKind::ServerError,
    );
}

#[test]
fn other_text_outside_the_format_is_left_out() {
    for dialect in sse() {
        let frames = Answer::small().frames(dialect);
        let plain = read_in(dialect, &body(dialect, &frames), usize::MAX);
        for text in [
            "{\"note\": 1}",
            "some words",
            "[1, 2]",
            "  data: x",
            "a b: c",
        ] {
            let between = frames
                .iter()
                .map(|frame| format!("data: {frame}\n\n{text}\n\n"));
            let (read, warnings) = read_in(dialect, &between.collect::<String>(), usize::MAX);
            assert_eq!(read, plain.0, "{dialect:?} {text}");
            assert!(!warnings.is_empty(), "{dialect:?} {text}");
        }
        let fields = frames
            .iter()
            .map(|frame| format!("x-note: 1\nfoo\n: error: {{}}\ndata: {frame}\n\n"));
        let read = read_in(dialect, &fields.collect::<String>(), usize::MAX);
        assert_eq!(read, plain, "{dialect:?}");
    }
}

#[test]
fn a_quota_that_is_used_up_is_not_tried_again() {
    let error =
        "{\"error\":{\"message\":\"No\",\"code\":\"quota\",\"type\":\"insufficient_quota\"}}";
    let (read, _) = read_in(
        Dialect::OpenAiChat,
        &broken(Dialect::OpenAiChat, 1, error),
        usize::MAX,
    );
    assert_eq!(read.kind, Some(ApiErrorKind::Quota));
    assert!(!read.is_transient, "{read:?}");
}

#[test]
fn a_stream_without_an_answer_is_no_empty_answer() {
    for dialect in [
        Dialect::OpenAiChat,
        Dialect::Mistral,
        Dialect::OpenAiResponses,
    ] {
        for frames in [0, 1] {
            let body = broken(dialect, frames, "data: [DONE]\n\n");
            let (read, _) = read_in(dialect, &body, usize::MAX);
            let words = "the stream ended, and there was no answer in it";
            failed(&read, dialect, words, ApiErrorKind::ServerError);
            assert!(read.is_transient, "{dialect:?}");
        }
    }
}

#[test]
fn the_wait_that_a_stream_asks_for_is_kept() {
    for (error, millis) in [
        (
            "{\"error\":{\"code\":429,\"message\":\"Slow.\",\"details\":[{\"retryDelay\":\"36.5s\"}]}}",
            36_500,
        ),
        (
            "{\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"Please try again in 1.2s.\"}}",
            1_200,
        ),
    ] {
        for dialect in Dialect::ALL {
            let body = body(dialect, &[error]);
            let (read, _) = read_in(dialect, &body, usize::MAX);
            assert_eq!(read.retry_after_ms, Some(millis), "{dialect:?} {read:?}");
            assert_eq!(read.kind, Some(ApiErrorKind::RateLimit), "{dialect:?}");
        }
    }
}
