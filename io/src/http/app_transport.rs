//! An HTTP stack of the app's.

use super::address;
use super::error::SendError;
use super::response::Response;
use bytes::Bytes;
use futures::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Method, Request};
use std::fmt;
use std::sync::Arc;

/// Sends a request.
type Send = dyn Fn(Request<Bytes>) -> BoxFuture<'static, Result<Response, SendError>>
    + std::marker::Send
    + Sync;

/// Sends requests by the app's code. Clones share it.
#[derive(Clone)]
pub(super) struct AppTransport(Arc<Send>);

impl AppTransport {
    pub(super) fn new(
        send: impl Fn(Request<Bytes>) -> BoxFuture<'static, Result<Response, SendError>>
        + std::marker::Send
        + Sync
        + 'static,
    ) -> Self {
        Self(Arc::new(send))
    }

    pub(super) async fn request(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response, SendError> {
        let address = address::read(url)?;
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = address.uri;
        *request.headers_mut() = headers;
        if let Some(credentials) = address.credentials {
            let headers = request.headers_mut();
            headers.entry(AUTHORIZATION).or_insert(credentials);
        }
        (self.0)(request).await
    }
}

impl fmt::Debug for AppTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppTransport").finish_non_exhaustive()
    }
}
