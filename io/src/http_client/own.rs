//! The app's own way to send a request.

use super::error::SendError;
use super::{HttpClient, Kind, Response, address};
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{Stream, StreamExt, TryStreamExt};
use http::header::AUTHORIZATION;
use http::{HeaderMap, Method, Request};
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Sends a request, whatever it does so with.
type Send = dyn Fn(Request<Bytes>) -> BoxFuture<'static, Result<Response, SendError>>
    + std::marker::Send
    + Sync;

/// What the app sends requests with. Clones are the same.
#[derive(Clone)]
pub(super) struct Own(Arc<Send>);

impl HttpClient {
    /// A client that sends requests as the app does: with an HTTP stack of its own, or with none, in a test that answers
    /// them itself. `send` gives the answer as soon as its headers are there; its body comes piece by piece, and is
    /// dropped where the rest is not wanted any more. Redirects, proxies and time limits are `send`'s own matter. A user
    /// and a password in the address have become the header `Authorization`.
    ///
    /// An error's text goes into the turn's outcome and into the log, with the texts of its causes: it should hold neither
    /// keys nor addresses. [`SendError::new`] makes one of a text.
    ///
    /// ```
    /// use futures::stream;
    /// use stepwell_core::dialect::HttpRequest;
    /// use stepwell_io::{HttpClient, SendError};
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
        F: Fn(Request<Bytes>) -> Answer + std::marker::Send + Sync + 'static,
        Answer: Future<Output = Result<http::Response<Body>, E>> + std::marker::Send + 'static,
        Body: Stream<Item = Result<Bytes, E>> + std::marker::Send + 'static,
        E: Error + 'static,
    {
        let send = move |request| -> BoxFuture<'static, _> {
            let answer = send(request);
            Box::pin(async move {
                let answer = answer.await.map_err(|error| SendError::of(&error))?;
                Ok(answer.map(|body| body.map_err(|error| SendError::of(&error)).boxed()))
            })
        };
        Self(Kind::Own(Own(Arc::new(send))))
    }
}

impl Own {
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

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Own").finish_non_exhaustive()
    }
}
