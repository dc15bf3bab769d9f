//! The HTTP client of agents.

use super::app_transport::AppTransport;
use super::error::{HttpClientError, SendError};
use super::pool::Pool;
use super::redirect::redirect_body;
use super::response::Response;
use super::shared;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{Stream, StreamExt, TryStreamExt};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use std::error::Error;
use std::sync::Arc;
use stepwell_core::dialect::HttpRequest;

/// The most bytes of an answer to [`HttpClient::exchange`].
const MAX_ANSWER_BYTES: usize = 64 << 20;

/// The HTTP client of agents. All agents of a process share [one](Self::shared); a client of its own has its own
/// connections. Clones share their connections.
///
/// Addresses with `https://` need the feature `tls`, which is on by default: rustls with ring, unless the app chose
/// another crypto provider for the process, the system's trusted certificates (on Android Mozilla's list, which the
/// library contains), and HTTP/2 where the server supports it. A connection must be made within 30 seconds. There is no
/// other time limit: the machine's clocks distinguish silence from a tool at work. Proxies are taken from the variables
/// `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`.
///
/// A redirect is followed only where it changes neither the request nor its recipient: 307 or 308, to the same scheme,
/// host and port, at most 10 times. The key and the conversation are sent to no other server.
///
/// A request without a `User-Agent` gets `stepwell/VERSION (Rust)`; see [`for_language`](Self::for_language). Requests
/// have no idempotency key: no provider in the table honours one, and the clients of OpenAI and Anthropic send none
/// (<https://github.com/anthropics/anthropic-sdk-typescript/pull/1144>).
///
/// [`from_fn`](Self::from_fn) makes a client of another HTTP stack, or of a test that answers requests itself.
#[cfg_attr(
    feature = "reqwest",
    doc = "An app that has a `reqwest::Client` makes one of it by [`From`]: then that client's settings hold, for redirects
too."
)]
#[cfg_attr(
    not(feature = "reqwest"),
    doc = "With the feature `reqwest` an app makes one of a `reqwest::Client` that it has set up itself."
)]
#[derive(Clone, Debug)]
pub struct HttpClient(ClientKind);

#[derive(Clone, Debug)]
enum ClientKind {
    /// The connections that all agents of the process share.
    Shared,
    Pool(Arc<Pool>),
    AppTransport(AppTransport),
}

impl HttpClient {
    /// Returns the client that all agents of the process share, unless [`AgentBuilder::client`] sets another: it costs
    /// nothing to get, and reads the system's certificates with its first request.
    ///
    /// [`AgentBuilder::client`]: crate::AgentBuilder::client
    #[must_use]
    pub const fn shared() -> Self {
        Self(ClientKind::Shared)
    }

    /// Returns a client with its own connections.
    ///
    /// # Errors
    /// The system's certificates cannot be used.
    pub fn new() -> Result<Self, HttpClientError> {
        Pool::new().map(Self::of)
    }

    /// Returns a client for a library in another language: its requests name it in `User-Agent`, as
    /// `stepwell/VERSION (LANGUAGE)`.
    ///
    /// # Errors
    /// The system's certificates cannot be used.
    pub fn for_language(language: &str) -> Result<Self, HttpClientError> {
        const LIBRARY: &str = concat!("stepwell/", env!("CARGO_PKG_VERSION"));
        // A language that is no valid header value is left out.
        let user_agent = HeaderValue::from_str(&format!("{LIBRARY} ({language})"))
            .unwrap_or(HeaderValue::from_static(LIBRARY));
        Ok(Self::of(Pool::new()?.with_user_agent(user_agent)))
    }

    /// Returns a client that makes a new connection for each request.
    #[cfg(feature = "mcp")]
    pub(crate) fn without_reuse() -> Result<Self, HttpClientError> {
        Pool::without_reuse().map(Self::of)
    }

    fn of(pool: Pool) -> Self {
        Self(ClientKind::Pool(Arc::new(pool)))
    }

    /// Returns a client that sends requests by the app's code: by an HTTP stack of the app's, or by none, in a test
    /// that answers requests itself. `send` returns the answer as soon as its headers have arrived; its body is a
    /// stream of chunks, which is dropped when the rest is not needed. Redirects, proxies and time limits are up to
    /// `send`. A user and a password in the address have become the header `Authorization`.
    ///
    /// The text of an error, and the texts of its causes, go into the turn's outcome and into the log: they should hold
    /// neither keys nor addresses. [`SendError::new`] makes an error from a text.
    ///
    /// ```
    /// use futures::stream;
    /// use stepwell_core::dialect::HttpRequest;
    /// use stepwell_io::http::SendError;
    /// use stepwell_io::HttpClient;
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let client = HttpClient::from_fn(|request| async move {
    ///     if request.uri().path() != "/v1/models" {
    ///         return Err(SendError::new("nobody is there"));
    ///     }
    ///     let pieces = ["[", "]"].map(|piece| Ok(piece.into()));
    ///     Ok(http::Response::new(stream::iter(pieces)))
    /// });
    /// let url = "http://model.example/v1/models".to_owned();
    /// let request = HttpRequest { method: "GET", url, headers: Vec::new(), body: Vec::new() };
    /// assert_eq!(client.exchange(request).await?, (200, b"[]".to_vec()));
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_fn<F, Answer, Body, E>(send: F) -> Self
    where
        F: Fn(Request<Bytes>) -> Answer + Send + Sync + 'static,
        Answer: Future<Output = Result<http::Response<Body>, E>> + Send + 'static,
        Body: Stream<Item = Result<Bytes, E>> + Send + 'static,
        E: Error + 'static,
    {
        let send = move |request| -> BoxFuture<'static, _> {
            let answer = send(request);
            Box::pin(async move {
                let answer = answer.await.map_err(|error| SendError::of(&error))?;
                Ok(answer.map(|body| body.map_err(|error| SendError::of(&error)).boxed()))
            })
        };
        Self(ClientKind::AppTransport(AppTransport::new(send)))
    }

    /// Sends a request and reads the complete answer: its status and its body.
    ///
    /// # Errors
    /// No answer came, its body ended early, or it is longer than 64 MiB.
    pub async fn exchange(&self, request: HttpRequest) -> Result<(u16, Vec<u8>), SendError> {
        let (head, mut body) = self.send(request).await?.into_parts();
        if let Some(body) = redirect_body(head.status) {
            return Ok((head.status.as_u16(), body));
        }
        let mut answer = Vec::new();
        while let Some(piece) = body.next().await {
            answer.extend_from_slice(&piece?);
            if answer.len() > MAX_ANSWER_BYTES {
                return Err(SendError::too_long(MAX_ANSWER_BYTES));
            }
        }
        Ok((head.status.as_u16(), answer))
    }

    /// Sends a request, and returns the answer as soon as its headers have arrived.
    pub(crate) async fn send(&self, request: HttpRequest) -> Result<Response, SendError> {
        let method =
            Method::from_bytes(request.method.as_bytes()).map_err(|e| SendError::malformed(&e))?;
        let mut headers = HeaderMap::with_capacity(request.headers.len());
        for (name, value) in &request.headers {
            let name =
                HeaderName::from_bytes(name.as_bytes()).map_err(|e| SendError::malformed(&e))?;
            let value =
                HeaderValue::from_bytes(value.as_bytes()).map_err(|e| SendError::malformed(&e))?;
            headers.append(name, value);
        }
        let body = Bytes::from(request.body);
        self.request(method, &request.url, headers, body).await
    }

    pub(crate) async fn request(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response, SendError> {
        match &self.0 {
            ClientKind::Shared => {
                let pool = shared::pool().map_err(|error| SendError::of(&error))?;
                pool.request(method, url, headers, body).await
            }
            ClientKind::Pool(pool) => pool.request(method, url, headers, body).await,
            ClientKind::AppTransport(own) => own.request(method, url, headers, body).await,
        }
    }
}

#[cfg(test)]
mod tests;
