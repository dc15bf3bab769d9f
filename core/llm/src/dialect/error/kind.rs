//! Determines the kind of an error: first by the provider's codes, then by its message, last by the HTTP status.
//!
//! Sources: the providers' error pages:
//! <https://platform.openai.com/docs/guides/error-codes>, <https://docs.anthropic.com/en/api/errors>,
//! <https://ai.google.dev/gemini-api/docs/troubleshooting>, <https://openrouter.ai/docs/api-reference/errors>,
//! <https://docs.mistral.ai/api>, <https://docs.cohere.com/reference/errors>, <https://console.groq.com/docs/errors>,
//! <https://docs.together.ai/docs/error-codes>, <https://docs.fireworks.ai/guides/inference-error-codes>,
//! <https://docs.x.ai/docs/key-information/debugging>, <https://docs.ollama.com/api/errors>,
//! <https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html>.

use super::api_error_kind::ApiErrorKind::{self, *};
use super::body::Report;
use super::used_up::is_used_up;

pub(super) fn of(status: u16, report: &Report) -> ApiErrorKind {
    let by_words = of_words(report);
    let by_status = of_status(status).or_else(|| {
        // An answer that looked well to HTTP says its status in the body.
        let codes = report.terms.iter().filter_map(|term| term.parse().ok());
        codes.filter(|code| *code != status).find_map(of_status)
    });
    match (by_words, by_status) {
        // A failing server's message may be anything, but these phrases are clear.
        (Some(kind @ (Overloaded | ContextTooLong | UnreadableOutput)), _) => kind,
        (_, Some(ServerError)) => ServerError,
        // "Not found" and "invalid" are too weak to stand against a status.
        (Some(InvalidRequest | NotFound), Some(kind)) | (None, Some(kind)) => kind,
        (Some(kind), _) => kind,
        (None, None) => InvalidRequest,
    }
}

/// Returns `None` for a status that only means that the request is wrong, or that nothing is.
fn of_status(status: u16) -> Option<ApiErrorKind> {
    Some(match status {
        401 => Authentication,
        402 => Quota,
        403 => Permission,
        429 => RateLimit,
        404 => NotFound,
        413 => ContextTooLong,
        // A long job at NVIDIA, which the client should ask for again.
        // 424 is a model that failed at Bedrock.
        202 | 408 | 409 | 424 => ServerError,
        529 => Overloaded,
        500..=599 => ServerError,
        _ => return None,
    })
}

/// Returns the kind by the provider's codes and message alone; `None` if they do not determine it.
pub(super) fn of_words(report: &Report) -> Option<ApiErrorKind> {
    let by_number = || {
        let mut codes = report.terms.iter().filter_map(|term| term.parse().ok());
        codes.find_map(of_status)
    };
    let message = report.message.to_lowercase();
    // Their messages are about tokens, as those of a prompt that is too long.
    if report.terms.iter().any(|term| term == THROTTLED)
        || THROTTLED_WORDS.iter().any(|words| message.contains(words))
    {
        return Some(RateLimit);
    }
    let said = |phrases: &[&str]| phrases.iter().any(|phrase| message.contains(phrase));
    // A specific code takes precedence over the message, the message over general codes (`invalid_request_error`, 400,
    // 403).
    let codes = || report.terms.iter().filter_map(|term| of_code(term));
    let by_code = codes()
        .find(|kind| !matches!(kind, InvalidRequest | NotFound))
        .or_else(|| codes().next());
    if let Some(kind @ (ContextTooLong | ContentFilter | Overloaded | UnreadableOutput)) = by_code {
        return Some(kind);
    }
    if is_used_up(report.code.as_deref(), &message) {
        return Some(Quota);
    }
    if said(UNREADABLE) {
        return Some(UnreadableOutput);
    }
    if said(TOO_LONG) {
        return Some(ContextTooLong);
    }
    if said(FILTERED) {
        return Some(ContentFilter);
    }
    if said(OVERLOADED) {
        return Some(Overloaded);
    }
    if said(NO_KEY) {
        return Some(Authentication);
    }
    if said(TOO_MANY) {
        return Some(RateLimit);
    }
    by_code.or_else(by_number)
}

/// The name of AWS's error for too many requests or tokens.
const THROTTLED: &str = "throttlingexception";

/// Its messages, where the name is missing.
const THROTTLED_WORDS: &[&str] = &["too many tokens, please wait", "too many tokens per day"];

const TOO_LONG: &[&str] = &[
    "prompt is too long",
    "prompt too long",
    "maximum context length",
    "context length",
    "context limit",
    "context window",
    "context size",
    "too many tokens",
    "maximum prompt length",
    "exceeds the maximum number of tokens",
    "input is too long",
    "input token count",
    "input tokens exceed",
    "tokens + `max_new_tokens` must be",
    "reduce the length of the messages",
    "request too large for",
];

const FILTERED: &[&str] = &[
    "content filter",
    "content_filter",
    "content management policy",
    "content policy",
    "usage guidelines",
    "usage policies",
    "safety system",
    "flagged by moderation",
    "requires moderation",
    "flagged for",
    "blocked output",
    "blocked input",
    "blocked by safety",
];

const OVERLOADED: &[&str] = &[
    "overloaded",
    "over capacity",
    "capacity exceeded",
    "at capacity",
    "server busy",
    "high demand",
    "maximum pending requests",
];

const UNREADABLE: &[&str] = &[
    "failed to call a function",
    "failed_generation",
    "tool call validation failed",
    "failed to validate json",
];

/// The prefixes of a proxy's message when its server is down.
const OF_SERVER: &[&str] = &[
    "error",
    "upstream",
    "internal server error",
    "bad gateway",
    "service unavailable",
    "gateway time",
    "stream error",
    "no healthy upstream",
];

/// Returns whether a plain text is the message of a failing server or proxy.
pub(super) fn is_of_server(message: &str) -> bool {
    let message = message.to_lowercase();
    OF_SERVER.iter().any(|start| message.starts_with(start))
}

const NO_KEY: &[&str] = &[
    "api key not valid",
    "incorrect api key",
    "invalid api key",
    "invalid x-api-key",
    "invalid api token",
    "no api key",
    "api key you provided is invalid",
    "no auth credentials",
    "unauthorized",
    "unregistered callers",
    "make sure your api key is valid",
    "security token included in the request is",
    "request signature we calculated does not match",
];

const TOO_MANY: &[&str] = &["rate limit", "rate-limit", "too many requests"];

fn of_code(code: &str) -> Option<ApiErrorKind> {
    Some(match code {
        "context_length_exceeded"
        | "context_window_exceeded"
        | "model_context_window_exceeded"
        | "exceed_context_size_error"
        | "request_too_large"
        | "tokens_limit_reached"
        | "3051" => ContextTooLong,
        "content_filter"
        | "content_filtered"
        | "content_policy_violation"
        | "responsibleaipolicyviolation"
        | "moderation"
        | "moderation_blocked"
        | "prohibited_content"
        | "data_inspection_failed"
        | "invalid_prompt" => ContentFilter,
        "overloaded_error"
        | "overloaded"
        | "model_overloaded"
        | "engine_overloaded"
        | "engine_overloaded_error"
        | "server_overloaded"
        | "slow_down"
        | "capacity_exceeded"
        | "service_tier_capacity_exceeded"
        | "modelnotreadyexception"
        | "3505" => Overloaded,
        "rate_limit_error"
        | "rate_limit_exceeded"
        | "rate_limited"
        | "too_many_requests"
        | "resource_exhausted"
        | "tokens"
        | "requests"
        | "1300" => RateLimit,
        "permission_error" | "permission_denied" | "accessdeniedexception" => Permission,
        "servicequotaexceededexception" => Quota,
        "authentication_error"
        | "unauthenticated"
        | "unauthorized"
        | "invalid_api_key"
        | "api_key_invalid"
        | "invalid_authentication_error"
        | "unrecognizedclientexception"
        | "invalidsignatureexception"
        | "signaturedoesnotmatch"
        | "expiredtokenexception"
        | "missingauthenticationtokenexception"
        | "missingauthenticationtoken"
        | "incompletesignatureexception"
        | "incompletesignature"
        | "invalidclienttokenid" => Authentication,
        "not_found_error" | "not_found" | "model_not_found" | "resourcenotfoundexception" => {
            NotFound
        }
        "api_error"
        | "server_error"
        | "internal_error"
        | "internal_server_error"
        | "internal"
        | "timeout_error"
        | "deadline_exceeded"
        | "service_unavailable"
        | "service_unavailable_error"
        | "unavailable"
        | "bad_gateway"
        | "internalserverexception"
        | "internalfailure"
        | "serviceunavailableexception"
        | "serviceunavailable"
        | "modelstreamerrorexception"
        | "modelerrorexception"
        | "modeltimeoutexception" => ServerError,
        "invalid_request_error"
        | "invalid_request"
        | "invalid_argument"
        | "failed_precondition"
        | "bad_request"
        | "validationexception" => InvalidRequest,
        "tool_use_failed"
        | "json_validate_failed"
        | "output_parse_failed"
        | "invalid_tool_generation" => UnreadableOutput,
        _ => return None,
    })
}
