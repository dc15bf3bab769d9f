//! A client with a pool of connections.

use super::connector::Connector;
use super::error::{HttpClientError, SendError};
use super::response::Response;
use super::{address, redirect};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use http::header::{ACCEPT, AUTHORIZATION, PROXY_AUTHORIZATION, USER_AGENT};
use http::uri::Scheme;
use http::{HeaderMap, HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::{Builder, Client};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::error::Error;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Pool {
    client: Client<Connector, Full<Bytes>>,
    proxies: Arc<Matcher>,
    /// The `User-Agent` of requests that have none.
    user_agent: HeaderValue,
}

const DEFAULT_USER_AGENT: &str = concat!("stepwell/", env!("CARGO_PKG_VERSION"), " (Rust)");

impl Pool {
    pub(super) fn new() -> Result<Self, HttpClientError> {
        Self::with(Matcher::from_env(), |_| {})
    }

    #[cfg(feature = "mcp")]
    pub(super) fn without_reuse() -> Result<Self, HttpClientError> {
        Self::with(Matcher::from_env(), |builder| {
            builder.pool_max_idle_per_host(0);
        })
    }

    pub(super) fn with(
        proxies: Matcher,
        change: impl FnOnce(&mut Builder),
    ) -> Result<Self, HttpClientError> {
        let proxies = Arc::new(proxies);
        let connector = Connector::new(
            Arc::clone(&proxies),
            #[cfg(feature = "tls")]
            super::tls::config()?,
        );
        let mut builder = Client::builder(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new());
        change(&mut builder);
        Ok(Self {
            client: builder.build(connector),
            proxies,
            user_agent: HeaderValue::from_static(DEFAULT_USER_AGENT),
        })
    }

    /// Sets the `User-Agent`.
    pub(super) fn with_user_agent(mut self, user_agent: HeaderValue) -> Self {
        self.user_agent = user_agent;
        self
    }

    pub(super) async fn request(
        &self,
        method: Method,
        url: &str,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response, SendError> {
        let address = address::read(url)?;
        let mut uri = address.uri;
        if let Some(credentials) = address.credentials {
            headers.entry(AUTHORIZATION).or_insert(credentials);
        }
        headers
            .entry(ACCEPT)
            .or_insert(HeaderValue::from_static("*/*"));
        headers
            .entry(USER_AGENT)
            .or_insert_with(|| self.user_agent.clone());
        let mut redirects = 0;
        loop {
            let mut request = Request::new(Full::new(body.clone()));
            *request.method_mut() = method.clone();
            *request.headers_mut() = headers.clone();
            if let Some(credentials) = self.proxy_credentials(&uri) {
                request
                    .headers_mut()
                    .insert(PROXY_AUTHORIZATION, credentials);
            }
            *request.uri_mut() = uri.clone();
            let sent = self.client.request(request).await;
            let response =
                sent.map_err(|error| SendError::unanswered(error.is_connect(), error.source()))?;
            match redirect::target(&uri, response.status(), response.headers()) {
                Some(target) if redirects < redirect::MAX_REDIRECTS => {
                    redirects += 1;
                    uri = target;
                }
                _ => {
                    return Ok(response.map(|body| {
                        let pieces = body.into_data_stream();
                        pieces
                            .map_err(|error| SendError::broken_off(&error))
                            .boxed()
                    }));
                }
            }
        }
    }

    /// Returns the credentials for a proxy that forwards requests. A proxy that tunnels got them when the connection
    /// was made.
    fn proxy_credentials(&self, uri: &Uri) -> Option<HeaderValue> {
        if uri.scheme() != Some(&Scheme::HTTP) {
            return None;
        }
        self.proxies.intercept(uri)?.basic_auth().cloned()
    }
}
