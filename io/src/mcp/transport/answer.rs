//! The answers of a server at an address, as the MCP SDK expects them. No request stays without an answer, and a lost
//! session is recognized however the server reports it.

use super::event_size::bounded;
use super::unreadable::readable;
use crate::http::{Body, SendError};
use crate::mcp::shortened;
use futures::StreamExt;
use futures::stream::BoxStream;
use http::StatusCode;
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::response::Parts;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpError,
    StreamableHttpPostResponse,
};
use serde_json::Value;
use sse_stream::{Sse, SseStream};
use std::borrow::Cow;

pub(super) type Events = BoxStream<'static, Result<Sse, SseError>>;
pub(super) type Failure = StreamableHttpError<SendError>;

/// The most bytes of an answer that is no stream.
pub(super) const MAX_ANSWER_BYTES: usize = 16 << 20;

/// The most bytes of a refusal that are read.
const MAX_REFUSAL_BYTES: usize = 64 << 10;

/// The most bytes of a server's message that are repeated.
const MAX_REPEATED_BYTES: usize = 300;

/// A message that was posted, as far as its answer depends on it.
pub(super) struct Posted {
    /// The id of a request. Other messages wait for no answer.
    pub(super) request_id: Option<Value>,
    pub(super) has_session: bool,
}

impl Posted {
    /// Reads the answer to the message.
    pub(super) async fn answer(
        self,
        head: &Parts,
        body: Body,
        max_event_bytes: usize,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let session = head.headers.get(HEADER_SESSION_ID);
        let session = session.and_then(|session| Some(session.to_str().ok()?.to_owned()));
        match head.status {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => {
                return Ok(StreamableHttpPostResponse::Accepted);
            }
            StatusCode::NOT_FOUND if self.has_session => {
                return Err(StreamableHttpError::SessionExpired);
            }
            status if !status.is_success() => {
                let refusal = refusal(head, body).await?;
                return self.message(refusal, session);
            }
            _ => {}
        }
        if is_type(head, EVENT_STREAM_MIME_TYPE) {
            let events = events(body, max_event_bytes, self.request_id);
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        let is_request = self.request_id.is_some();
        if !is_type(head, JSON_MIME_TYPE) {
            // Some servers send an empty 200 instead of 202.
            if !is_request && collect(body, 0).await.is_ok() {
                return Ok(StreamableHttpPostResponse::Accepted);
            }
            return Err(unexpected_type(head));
        }
        let body = collect(body, MAX_ANSWER_BYTES).await?;
        match serde_json::from_slice(&readable(&body, None)) {
            Ok(message) => self.message(message, session),
            Err(_) if !is_request => Ok(StreamableHttpPostResponse::Accepted),
            Err(error) => {
                let text = String::from_utf8_lossy(&body);
                let text = shortened(&text, MAX_REPEATED_BYTES);
                Err(unexpected(format!(
                    "its answer is no message of the protocol: {error}: {text}"
                )))
            }
        }
    }

    /// Returns a message as the answer. The SDK would skip an error that names no request, and the request would wait.
    fn message(
        &self,
        message: ServerJsonRpcMessage,
        session: Option<String>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        if let ServerJsonRpcMessage::Error(refusal) = &message {
            let text = refusal.error.message.to_ascii_lowercase();
            // The specification has 404 for a lost session. Some servers send 400, and an error with one of these codes.
            let is_session_lost = matches!(refusal.error.code.0, -32000 | -32001)
                && (text.contains("session id") || text.contains("session not found"));
            if self.has_session && is_session_lost {
                return Err(StreamableHttpError::SessionExpired);
            }
            if refusal.id.is_none() {
                let text = shortened(&refusal.error.message, MAX_REPEATED_BYTES);
                return Err(unexpected(text));
            }
        }
        Ok(StreamableHttpPostResponse::Json(message, session))
    }
}

/// Reads the answer to a `GET`.
pub(super) fn stream(head: &Parts, body: Body, max_event_bytes: usize) -> Result<Events, Failure> {
    if head.status == StatusCode::METHOD_NOT_ALLOWED {
        return Err(StreamableHttpError::ServerDoesNotSupportSse);
    }
    if !head.status.is_success() {
        return Err(passing_failure(head).unwrap_or_else(|| refused(head, b"")));
    }
    if !is_type(head, EVENT_STREAM_MIME_TYPE) && !is_type(head, JSON_MIME_TYPE) {
        return Err(unexpected_type(head));
    }
    Ok(events(body, max_event_bytes, None))
}

/// Returns what the server asks for before it answers.
pub(super) fn challenge(head: &Parts) -> Option<Failure> {
    let challenge = head.headers.get(WWW_AUTHENTICATE)?;
    let challenge = String::from_utf8_lossy(challenge.as_bytes()).into_owned();
    match head.status {
        StatusCode::UNAUTHORIZED => Some(StreamableHttpError::AuthRequired(
            AuthRequiredError::new(challenge),
        )),
        StatusCode::FORBIDDEN => Some(StreamableHttpError::InsufficientScope(
            InsufficientScopeError::new(challenge, None),
        )),
        _ => None,
    }
}

/// Returns the failure of a status other than 2xx, with the server's text.
pub(super) fn refused(head: &Parts, body: &[u8]) -> Failure {
    if head.status.is_redirection() {
        return unexpected(format!(
            "HTTP {}: the server redirects to another address, and the message is not sent there",
            head.status
        ));
    }
    let text = String::from_utf8_lossy(body);
    let text = shortened(&text, MAX_REPEATED_BYTES);
    unexpected(format!("HTTP {}: {text}", head.status))
}

/// Returns the failure of a server that is overloaded or broken: it may answer another time.
fn passing_failure(head: &Parts) -> Option<Failure> {
    let is_passing = head.status == StatusCode::TOO_MANY_REQUESTS || head.status.is_server_error();
    let after = head.headers.get(RETRY_AFTER);
    let after = after.and_then(|value| Some(value.to_str().ok()?.to_owned()));
    is_passing.then(|| HttpStatusError::new(head.status.as_u16(), after).into())
}

/// Reads a refusal. A server may give the reason as a message of the protocol.
async fn refusal(head: &Parts, body: Body) -> Result<ServerJsonRpcMessage, Failure> {
    let is_json = is_type(head, JSON_MIME_TYPE);
    if let Some(passing) = passing_failure(head)
        && (!is_json || head.status == StatusCode::TOO_MANY_REQUESTS)
    {
        return Err(passing);
    }
    let body = collect(body, MAX_REFUSAL_BYTES).await.unwrap_or_default();
    let is_authorized = !matches!(
        head.status,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN
    );
    if is_json
        && is_authorized
        && let Ok(message @ ServerJsonRpcMessage::Error(_)) = serde_json::from_slice(&body)
    {
        return Ok(message);
    }
    Err(passing_failure(head).unwrap_or_else(|| refused(head, &body)))
}

fn is_type(head: &Parts, wanted: &str) -> bool {
    let value = head.headers.get(CONTENT_TYPE);
    value.is_some_and(|value| value.as_bytes().starts_with(wanted.as_bytes()))
}

fn unexpected(message: String) -> Failure {
    StreamableHttpError::UnexpectedServerResponse(message.into())
}

fn unexpected_type(head: &Parts) -> Failure {
    let value = head.headers.get(CONTENT_TYPE);
    let text = value.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    StreamableHttpError::UnexpectedContentType(text)
}

/// Reads a complete body.
async fn collect(mut body: Body, max_bytes: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    while let Some(chunk) = body.next().await {
        bytes.extend_from_slice(&chunk.map_err(StreamableHttpError::Client)?);
        if bytes.len() > max_bytes {
            return Err(StreamableHttpError::ResponseBodyTooLarge {
                max_size: max_bytes,
            });
        }
    }
    Ok(bytes)
}

/// Returns the events of a stream that answers the request of this id.
fn events(body: Body, max_event_bytes: usize, request_id: Option<Value>) -> Events {
    let events = SseStream::from_bytes_stream(bounded(body, max_event_bytes));
    let readable = move |mut event: Sse| {
        let data = event.data.as_deref().unwrap_or_default().as_bytes();
        if let Cow::Owned(data) = readable(data, request_id.as_ref()) {
            event.data = Some(String::from_utf8_lossy(&data).into_owned());
        }
        event
    };
    events.map(move |event| event.map(&readable)).boxed()
}
