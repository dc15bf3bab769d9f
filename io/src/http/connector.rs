//! Makes connections: TCP, through a proxy if one is configured, TLS if the address demands it.

use super::error::BoxError;
use super::proxy::{ProxyConnector, ToProxy};
use futures::future::BoxFuture;
use http::Uri;
#[cfg(feature = "tls")]
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::proxy::matcher::Matcher;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tower_service::Service;

/// The time limit for making a connection, with proxy and TLS.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// The time without traffic after which the system probes the connection, and the time between probes.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// The number of probes without an answer after which the connection is lost.
const MAX_KEEPALIVE_PROBES: u32 = 3;

#[cfg(feature = "tls")]
type Secured = HttpsConnector<ProxyConnector>;
#[cfg(not(feature = "tls"))]
type Secured = ProxyConnector;

#[derive(Clone, Debug)]
pub(super) struct Connector(Secured);

impl Connector {
    #[cfg(feature = "tls")]
    pub(super) fn new(proxies: Arc<Matcher>, config: rustls::ClientConfig) -> Self {
        // HTTP/2 is for the server: a proxy gets HTTP/1.1.
        let to_proxy: ToProxy = HttpsConnectorBuilder::new()
            .with_tls_config(config.clone())
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp());
        let connector = ProxyConnector::new(tcp(), to_proxy, proxies);
        let secured = HttpsConnectorBuilder::new()
            .with_tls_config(config)
            .https_or_http()
            .enable_all_versions()
            .wrap_connector(connector);
        Self(secured)
    }

    #[cfg(not(feature = "tls"))]
    pub(super) fn new(proxies: Arc<Matcher>) -> Self {
        let to_proxy: ToProxy = tcp();
        Self(ProxyConnector::new(tcp(), to_proxy, proxies))
    }
}

fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    // TLS is a layer above.
    tcp.enforce_http(false);
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(KEEPALIVE_INTERVAL));
    tcp.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
    tcp.set_keepalive_retries(Some(MAX_KEEPALIVE_PROBES));
    // The same limit for data that was sent and not acknowledged.
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    tcp.set_tcp_user_timeout(Some(2 * KEEPALIVE_INTERVAL));
    tcp
}

impl Service<Uri> for Connector {
    type Response = <Secured as Service<Uri>>::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let connecting = self.0.call(to);
        Box::pin(async move {
            match tokio::time::timeout(CONNECT_TIMEOUT, connecting).await {
                Ok(connected) => connected,
                Err(_) => {
                    let seconds = CONNECT_TIMEOUT.as_secs();
                    let message = format!("no connection within {seconds} seconds");
                    Err(io::Error::new(io::ErrorKind::TimedOut, message).into())
                }
            }
        })
    }
}
