//! The HTTP client of the MCP SDK, with what its own lacks.

use futures::stream::BoxStream;
use reqwest::StatusCode;
use reqwest::redirect::{Attempt, Policy};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

type Headers = HashMap<http::HeaderName, http::HeaderValue>;
type Events = BoxStream<'static, Result<Sse, SseError>>;
type Failure = StreamableHttpError<reqwest::Error>;

/// The most redirects of one request.
const REDIRECTS: usize = 10;

/// Never leaves a request without an answer, and knows a lost session however the server puts it.
#[derive(Clone, Debug)]
pub(super) struct HttpClient(reqwest::Client);

impl HttpClient {
    pub(super) fn new() -> Result<Self, String> {
        // As for the agent's own client: ring for TLS, unless the app chose otherwise.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(30))
            .tcp_nodelay(true)
            // A connection whose last answer was not read to its end would make the next request wait.
            .pool_max_idle_per_host(0)
            .redirect(Policy::custom(redirect))
            .build();
        client
            .map(Self)
            .map_err(|error| format!("the HTTP client cannot be made: {error}"))
    }
}

/// The session and the headers, which may hold a key, go to no other host, and no message is lost for a `GET`.
fn redirect(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let keeps_the_message = matches!(
        attempt.status(),
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
    );
    let stays = attempt.previous().last().is_some_and(|before| {
        let next = attempt.url();
        (
            before.scheme(),
            before.host_str(),
            before.port_or_known_default(),
        ) == (next.scheme(), next.host_str(), next.port_or_known_default())
    });
    if keeps_the_message && stays && attempt.previous().len() <= REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
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
        let message = super::shortened(&refusal.error.message, 300);
        return Err(StreamableHttpError::UnexpectedServerResponse(
            message.into(),
        ));
    }
    Ok(response)
}

impl StreamableHttpClient for HttpClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let has_session = session_id.is_some();
        let posted = self
            .0
            .post_message(uri, message, session_id, auth_header, custom_headers);
        answer(posted.await?, has_session)
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
        let posted = self.0.post_message_with_max_sse_event_size(
            uri,
            message,
            session_id,
            auth_header,
            custom_headers,
            max_sse_event_size,
        );
        answer(posted.await?, has_session)
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), Failure> {
        let deleted = self
            .0
            .delete_session(uri, session_id, auth_header, custom_headers);
        deleted.await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<Events, Failure> {
        let stream = self
            .0
            .get_stream(uri, session_id, last_event_id, auth_header, custom_headers);
        stream.await
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
        let stream = self.0.get_stream_with_max_sse_event_size(
            uri,
            session_id,
            last_event_id,
            auth_header,
            custom_headers,
            max_sse_event_size,
        );
        stream.await
    }
}
