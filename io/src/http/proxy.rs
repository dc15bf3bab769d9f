//! Connections through a proxy.

use super::error::BoxError;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::Uri;
use http::uri::Scheme;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::net::TcpStream;
use tower_service::Service;

#[cfg(feature = "tls")]
pub(super) type ToProxy = hyper_rustls::HttpsConnector<HttpConnector>;
#[cfg(not(feature = "tls"))]
pub(super) type ToProxy = HttpConnector;

#[cfg(feature = "tls")]
type Inner = hyper_rustls::MaybeHttpsStream<TokioIo<TcpStream>>;
#[cfg(not(feature = "tls"))]
type Inner = TokioIo<TcpStream>;

/// Connects to a server, to a proxy that forwards requests (`http://`), or through a proxy that tunnels (`https://`).
#[derive(Clone, Debug)]
pub(super) struct ProxyConnector {
    tcp: HttpConnector,
    to_proxy: ToProxy,
    proxies: Arc<Matcher>,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Stream {
    inner: Inner,
    /// The peer is a proxy that needs the full address of each request.
    is_proxy: bool,
}

impl ProxyConnector {
    pub(super) fn new(tcp: HttpConnector, to_proxy: ToProxy, proxies: Arc<Matcher>) -> Self {
        Self {
            tcp,
            to_proxy,
            proxies,
        }
    }
}

impl Service<Uri> for ProxyConnector {
    type Response = Stream;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Stream, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let Some(proxy) = self.proxies.intercept(&to) else {
            let connecting = self.tcp.call(to);
            return async move { Ok(Stream::new(direct(connecting.await?), false)) }.boxed();
        };
        if let Err(error) = check(&proxy) {
            return futures::future::err(error).boxed();
        }
        if to.scheme() == Some(&Scheme::HTTPS) {
            let mut tunnel = Tunnel::new(proxy.uri().clone(), self.to_proxy.clone());
            if let Some(credentials) = proxy.basic_auth() {
                tunnel = tunnel.with_auth(credentials.clone());
            }
            let connecting = tunnel.call(to);
            async move { Ok(Stream::new(connecting.await?, false)) }.boxed()
        } else {
            let connecting = self.to_proxy.call(proxy.uri().clone());
            async move { Ok(Stream::new(connecting.await?, true)) }.boxed()
        }
    }
}

#[cfg(feature = "tls")]
fn direct(tcp: TokioIo<TcpStream>) -> Inner {
    tcp.into()
}

#[cfg(not(feature = "tls"))]
fn direct(tcp: TokioIo<TcpStream>) -> Inner {
    tcp
}

/// Checks that the proxy's protocol is supported.
fn check(proxy: &Intercept) -> Result<(), BoxError> {
    match proxy.uri().scheme_str() {
        Some("http") => Ok(()),
        Some("https") if cfg!(feature = "tls") => Ok(()),
        Some("https") => Err("a proxy with https:// needs the feature `tls` of stepwell-io".into()),
        scheme => Err(format!(
            "proxies with {}:// are not supported: name one with http:// or https://",
            scheme.unwrap_or_default()
        )
        .into()),
    }
}

impl Stream {
    fn new(inner: Inner, is_proxy: bool) -> Self {
        Self { inner, is_proxy }
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        self.inner.connected().proxy(self.is_proxy)
    }
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl Write for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(context, slices)
    }
}
