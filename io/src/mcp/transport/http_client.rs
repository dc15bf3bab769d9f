//! The requests of the MCP SDK's streamable HTTP, over the HTTP client of this crate:
//! <https://modelcontextprotocol.io/specification/2025-06-18/basic/transports#streamable-http>.

use super::answer::{self, Events, Failure, MAX_ANSWER_BYTES, Posted, challenge, refused};
use crate::http::{Body, SendError};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::response::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::common::http_header::{
    HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use std::collections::HashMap;
use std::sync::Arc;

type Headers = HashMap<HeaderName, HeaderValue>;

/// Sends the SDK's requests.
#[derive(Clone, Debug)]
pub(in crate::mcp) struct HttpClient(crate::http::HttpClient);

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

/// Returns the headers of a request.
///
/// # Errors
/// A header of the app's is reserved for the protocol, or a value is no header.
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
            let name = name.to_string();
            return Err(StreamableHttpError::ReservedHeaderConflict(name));
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

impl StreamableHttpClient for HttpClient {
    type Error = SendError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        custom: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let most = MAX_ANSWER_BYTES;
        self.post_message_with_max_sse_event_size(uri, message, session, token, custom, most)
            .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        custom: Headers,
        max_event_bytes: usize,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let posted = Posted {
            request_id: match &message {
                ClientJsonRpcMessage::Request(request) => Some(serde_json::to_value(&request.id)?),
                _ => None,
            },
            has_session: session.is_some(),
        };
        let mut headers = headers(custom, token, session.as_deref(), None)?;
        let json = HeaderValue::from_static(JSON_MIME_TYPE);
        headers.entry(CONTENT_TYPE).or_insert(json);
        let message = serde_json::to_vec(&message)?;
        let sent = self.request(Method::POST, &uri, headers, message.into());
        let (head, body) = sent.await?;
        posted.answer(&head, body, max_event_bytes).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        custom: Headers,
    ) -> Result<(), Failure> {
        let headers = headers(custom, token, Some(&session), None)?;
        let sent = self.request(Method::DELETE, &uri, headers, Bytes::new());
        let (head, _) = sent.await?;
        match head.status {
            // A server need not support it.
            StatusCode::METHOD_NOT_ALLOWED => Ok(()),
            status if status.is_success() => Ok(()),
            _ => Err(refused(&head, b"")),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        custom: Headers,
    ) -> Result<Events, Failure> {
        let most = MAX_ANSWER_BYTES;
        self.get_stream_with_max_sse_event_size(uri, session, last_event, token, custom, most)
            .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        custom: Headers,
        max_event_bytes: usize,
    ) -> Result<Events, Failure> {
        let headers = headers(custom, token, session.as_deref(), last_event.as_deref())?;
        let sent = self.request(Method::GET, &uri, headers, Bytes::new());
        let (head, body) = sent.await?;
        answer::stream(&head, body, max_event_bytes)
    }
}
