//! Streamable HTTP as the MCP SDK asks for it, over the client of this crate:
//! <https://modelcontextprotocol.io/specification/2025-06-18/basic/transports#streamable-http>.

use super::event_size::bounded;
use super::shortened;
use super::unreadable::readable;
use crate::http::{Body, SendError};
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::response::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
    StreamableHttpError, StreamableHttpPostResponse,
};
use serde_json::Value;
use sse_stream::{Sse, SseStream};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

type Headers = HashMap<HeaderName, HeaderValue>;
type Events = BoxStream<'static, Result<Sse, SseError>>;
type Failure = StreamableHttpError<SendError>;

/// The longest answer that is no stream, in bytes.
const LONGEST_ANSWER: usize = 16 << 20;

/// As much of a refusal is read, in bytes.
const LONGEST_REFUSAL: usize = 64 << 10;

/// As much of it is told, in bytes.
const TOLD: usize = 300;

/// Never leaves a request without an answer, and knows a lost session however the server puts it.
#[derive(Clone, Debug)]
pub(super) struct HttpClient(crate::http::HttpClient);

impl HttpClient {
    pub(super) fn new() -> Result<Self, String> {
        // A connection whose last answer was not read to its end would make the next request wait.
        let client = crate::http::HttpClient::without_reuse();
        client
            .map(Self)
            .map_err(|error| format!("the HTTP client cannot be made: {error}"))
    }

    async fn request(
        &self,
        method: Method,
        uri: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<(Parts, Body), Failure> {
        let sent = self.0.request(method, uri, headers, body).await;
        let (head, body) = sent.map_err(StreamableHttpError::Client)?.into_parts();
        match challenge(&head) {
            Some(refused) => Err(refused),
            None => Ok((head, body)),
        }
    }
}

/// The headers of a request. Those that the app gave are none of the protocol's own.
fn headers(
    custom: Headers,
    token: Option<String>,
    session: Option<&str>,
    last_event: Option<&str>,
) -> Result<HeaderMap, Failure> {
    const BOTH: HeaderValue = HeaderValue::from_static("text/event-stream, application/json");
    let mut headers = HeaderMap::new();
    for (name, value) in custom {
        let is_reserved = [ACCEPT.as_str(), HEADER_SESSION_ID, HEADER_LAST_EVENT_ID]
            .iter()
            .any(|reserved| name.as_str().eq_ignore_ascii_case(reserved));
        if is_reserved {
            return Err(StreamableHttpError::ReservedHeaderConflict(
                name.to_string(),
            ));
        }
        headers.insert(name, value);
    }
    headers.insert(ACCEPT, BOTH);
    let text = |value: &str| {
        let value = HeaderValue::from_str(value);
        value.map_err(|error| StreamableHttpError::Client(SendError::malformed(&error)))
    };
    if let Some(token) = token {
        let mut value = text(&format!("Bearer {token}"))?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    if let Some(session) = session {
        headers.insert(HEADER_SESSION_ID, text(session)?);
    }
    if let Some(last_event) = last_event {
        headers.insert(HEADER_LAST_EVENT_ID, text(last_event)?);
    }
    Ok(headers)
}

/// What the server asks for before it answers.
fn challenge(head: &Parts) -> Option<Failure> {
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

/// A server that has too much to do, or is at fault: another time it may answer.
fn passing(head: &Parts) -> Option<Failure> {
    let is_passing = head.status == StatusCode::TOO_MANY_REQUESTS || head.status.is_server_error();
    let after = head.headers.get(RETRY_AFTER);
    let after = after.and_then(|value| Some(value.to_str().ok()?.to_owned()));
    is_passing.then(|| HttpStatusError::new(head.status.as_u16(), after).into())
}

fn is_type(head: &Parts, wanted: &str) -> bool {
    let value = head.headers.get(CONTENT_TYPE);
    value.is_some_and(|value| value.as_bytes().starts_with(wanted.as_bytes()))
}

fn unexpected_type(head: &Parts) -> Failure {
    let value = head.headers.get(CONTENT_TYPE);
    let text = value.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    StreamableHttpError::UnexpectedContentType(text)
}

/// The whole body.
async fn whole(mut body: Body, most: usize) -> Result<Vec<u8>, Failure> {
    let mut whole = Vec::new();
    while let Some(piece) = body.next().await {
        whole.extend_from_slice(&piece.map_err(StreamableHttpError::Client)?);
        if whole.len() > most {
            return Err(StreamableHttpError::ResponseBodyTooLarge { max_size: most });
        }
    }
    Ok(whole)
}

/// The events of a stream; `asked` is the id of the request that it answers.
fn events(body: Body, most: usize, asked: Option<Value>) -> Events {
    let events = SseStream::from_bytes_stream(bounded(body, most));
    let readable = move |mut event: Sse| {
        let data = event.data.as_deref().unwrap_or_default().as_bytes();
        if let Cow::Owned(data) = readable(data, asked.as_ref()) {
            event.data = Some(String::from_utf8_lossy(&data).into_owned());
        }
        event
    };
    events.map(move |event| event.map(&readable)).boxed()
}

/// Why a status other than 2xx came, with what the server says of it.
fn refused(head: &Parts, body: &[u8]) -> Failure {
    if head.status.is_redirection() {
        let message = format!(
            "HTTP {}: the server redirects to another address, and the message is not sent there",
            head.status
        );
        return StreamableHttpError::UnexpectedServerResponse(message.into());
    }
    let said = String::from_utf8_lossy(body);
    let message = format!("HTTP {}: {}", head.status, shortened(&said, TOLD));
    StreamableHttpError::UnexpectedServerResponse(message.into())
}

/// The answer to a message that was refused: a server may say why as a message of the protocol.
async fn refusal(
    head: &Parts,
    body: Body,
    session: Option<String>,
) -> Result<StreamableHttpPostResponse, Failure> {
    let is_json = is_type(head, JSON_MIME_TYPE);
    let passing = passing(head);
    if let Some(passing) = passing
        && (!is_json || head.status == StatusCode::TOO_MANY_REQUESTS)
    {
        return Err(passing);
    }
    let body = whole(body, LONGEST_REFUSAL).await.unwrap_or_default();
    let is_allowed = !matches!(
        head.status,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN
    );
    if is_json && is_allowed {
        let message = serde_json::from_slice(&body);
        if let Ok(message @ ServerJsonRpcMessage::Error(_)) = message {
            return Ok(StreamableHttpPostResponse::Json(message, session));
        }
    }
    Err(self::passing(head).unwrap_or_else(|| refused(head, &body)))
}

/// An error that is the answer to a `POST`, but names no request, would be passed over, and the request wait for ever.
fn answer(
    response: StreamableHttpPostResponse,
    has_session: bool,
) -> Result<StreamableHttpPostResponse, Failure> {
    let StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(refusal), _) = &response
    else {
        return Ok(response);
    };
    let message = refusal.error.message.to_ascii_lowercase();
    // The specification has 404 for it; servers have 400 too, and these codes of their own.
    let is_session = matches!(refusal.error.code.0, -32000 | -32001)
        && (message.contains("session id") || message.contains("session not found"));
    if has_session && is_session {
        return Err(StreamableHttpError::SessionExpired);
    }
    if refusal.id.is_none() {
        let message = shortened(&refusal.error.message, TOLD);
        return Err(StreamableHttpError::UnexpectedServerResponse(
            message.into(),
        ));
    }
    Ok(response)
}

impl StreamableHttpClient for HttpClient {
    type Error = SendError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let most = LONGEST_ANSWER;
        let (session, token) = (session_id, auth_header);
        self.post_message_with_max_sse_event_size(
            uri,
            message,
            session,
            token,
            custom_headers,
            most,
        )
        .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
        max_sse_event_size: usize,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let has_session = session_id.is_some();
        // What is no request has no answer to wait for.
        let asked = match &message {
            ClientJsonRpcMessage::Request(request) => Some(serde_json::to_value(&request.id)?),
            _ => None,
        };
        let is_request = asked.is_some();
        let mut headers = headers(custom_headers, auth_header, session_id.as_deref(), None)?;
        let json = HeaderValue::from_static(JSON_MIME_TYPE);
        headers.entry(CONTENT_TYPE).or_insert(json);
        let message = serde_json::to_vec(&message)?;
        let (head, body) = self
            .request(Method::POST, &uri, headers, message.into())
            .await?;
        let session = head.headers.get(HEADER_SESSION_ID);
        let session = session.and_then(|session| Some(session.to_str().ok()?.to_owned()));
        match head.status {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => {
                return Ok(StreamableHttpPostResponse::Accepted);
            }
            StatusCode::NOT_FOUND if has_session => {
                return Err(StreamableHttpError::SessionExpired);
            }
            status if !status.is_success() => {
                return answer(refusal(&head, body, session).await?, has_session);
            }
            _ => {}
        }
        if is_type(&head, EVENT_STREAM_MIME_TYPE) {
            let events = events(body, max_sse_event_size, asked);
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        if !is_type(&head, JSON_MIME_TYPE) {
            // Some servers say 200 for 202.
            if !is_request && whole(body, 0).await.is_ok() {
                return Ok(StreamableHttpPostResponse::Accepted);
            }
            return Err(unexpected_type(&head));
        }
        let body = whole(body, LONGEST_ANSWER).await?;
        match serde_json::from_slice(&readable(&body, None)) {
            Ok(message) => answer(
                StreamableHttpPostResponse::Json(message, session),
                has_session,
            ),
            Err(_) if !is_request => Ok(StreamableHttpPostResponse::Accepted),
            Err(error) => {
                let said = String::from_utf8_lossy(&body);
                let said = shortened(&said, TOLD);
                let message = format!("its answer is no message of the protocol: {error}: {said}");
                Err(StreamableHttpError::UnexpectedServerResponse(
                    message.into(),
                ))
            }
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), Failure> {
        let headers = headers(custom_headers, auth_header, Some(&session_id), None)?;
        let (head, _) = self
            .request(Method::DELETE, &uri, headers, Bytes::new())
            .await?;
        match head.status {
            // A server need not have it.
            StatusCode::METHOD_NOT_ALLOWED => Ok(()),
            status if status.is_success() => Ok(()),
            _ => Err(refused(&head, b"")),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<Events, Failure> {
        let most = LONGEST_ANSWER;
        let (session, last_event, token) = (session_id, last_event_id, auth_header);
        self.get_stream_with_max_sse_event_size(
            uri,
            session,
            last_event,
            token,
            custom_headers,
            most,
        )
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
        max_sse_event_size: usize,
    ) -> Result<Events, Failure> {
        let (session, last_event) = (session_id.as_deref(), last_event_id.as_deref());
        let headers = headers(custom_headers, auth_header, session, last_event)?;
        let (head, body) = self
            .request(Method::GET, &uri, headers, Bytes::new())
            .await?;
        if head.status == StatusCode::METHOD_NOT_ALLOWED {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        if !head.status.is_success() {
            return Err(passing(&head).unwrap_or_else(|| refused(&head, b"")));
        }
        if !is_type(&head, EVENT_STREAM_MIME_TYPE) && !is_type(&head, JSON_MIME_TYPE) {
            return Err(unexpected_type(&head));
        }
        Ok(events(body, max_sse_event_size, None))
    }
}
