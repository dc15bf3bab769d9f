//! What the client learns of a failure.

use stepwell_core::dialect::{ApiErrorKind, Endpoint};
use stepwell_io::turn::Failure;

/// Returns what the client is sent for a failure: a code, and a sentence of the server's own. A provider's error message may
/// hold addresses, keys and other people's texts.
pub(super) fn failure_report(failure: &Failure) -> (&'static str, String) {
    let plain = |code, message: &str| (code, message.to_owned());
    if let Some(kind) = failure.kind() {
        let (code, message) = of_kind(kind);
        return plain(code, message);
    }
    match failure {
        Failure::Reported { .. } => plain("model_error", MODEL_ERROR),
        Failure::Connection { .. } => {
            plain("model_unreachable", "the server cannot reach its model")
        }
        Failure::UnexpectedBody { .. } | Failure::Stream { .. } => plain(
            "model_unreadable",
            "the server cannot read its model's answer",
        ),
        Failure::TimedOut { deadline } => ("model_timeout", deadline.to_string()),
        Failure::LimitReached { limit } => (limit.name(), limit.to_string()),
        Failure::Busy => ("busy", failure.to_string()),
        Failure::ContextTooLong { .. } => ("context_too_long", failure.to_string()),
        Failure::NotAuthorized { .. } => plain(
            "model_unauthorized",
            "the server has no key for its model's provider",
        ),
        Failure::AttachmentRefused { .. } => ("attachment_refused", failure.to_string()),
        Failure::RefusedByHook { .. } => plain(
            "refused_by_hook",
            "the server does not let the request or its answer pass",
        ),
        _ => plain("internal_error", "the server failed: see its log"),
    }
}

const MODEL_ERROR: &str = "the model's provider failed: see the server's log";

fn of_kind(kind: ApiErrorKind) -> (&'static str, &'static str) {
    match kind {
        ApiErrorKind::Authentication => (
            "model_unauthorized",
            "the model's provider does not accept the server's key",
        ),
        ApiErrorKind::Permission => (
            "model_unauthorized",
            "the server's key may not use its model",
        ),
        ApiErrorKind::Quota => (
            "quota_used_up",
            "the server's account with the model's provider is used up",
        ),
        ApiErrorKind::NotFound => (
            "model_not_found",
            "the model's provider does not know the server's model or address",
        ),
        ApiErrorKind::RateLimit => (
            "rate_limited",
            "the model's provider takes no more requests of the server's for now: try again later",
        ),
        ApiErrorKind::Overloaded => (
            "model_overloaded",
            "the model's provider has too much to do: try again in a while",
        ),
        ApiErrorKind::ServerError => (
            "model_unavailable",
            "the model's provider is out of service: try again in a while",
        ),
        ApiErrorKind::ContextTooLong => (
            "context_too_long",
            "the conversation is too long for the model: begin a new one, or leave out a part of this one",
        ),
        ApiErrorKind::ContentFilter => (
            "content_filtered",
            "the model's provider refuses what was asked, or what the model answered",
        ),
        ApiErrorKind::UnreadableOutput => (
            "model_unreadable",
            "the model wrote a call that its provider could not read: send the message again",
        ),
        _ => (
            "model_refused",
            "the model's provider refuses the request: see the server's log",
        ),
    }
}

/// Returns the provider's message without the key, or a header that may be one, should the provider repeat it.
pub(super) fn without_key(message: String, endpoint: &Endpoint) -> String {
    /// Shorter values may be words.
    const MIN_SECRET_BYTES: usize = 8;
    let key = endpoint.key.as_ref().map(|key| key.expose());
    let headers = endpoint.headers.iter().map(|(_, value)| value.as_str());
    let secrets = key.into_iter().chain(headers);
    secrets
        .filter(|secret| secret.len() >= MIN_SECRET_BYTES)
        .fold(message, |message, secret| message.replace(secret, "[key]"))
}
