//! How a server is reached.

use super::child::Ending;
use super::http_client::HttpClient;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

/// As often a broken stream of a server is asked for again, before its calls are given up.
const RECONNECTS: usize = 4;

/// Reads lines, and fails with one that is too long.
pub(super) struct Bounded<R> {
    inner: R,
    most: usize,
    line: usize,
    known: Arc<watch::Sender<Ending>>,
}

impl<R> Bounded<R> {
    pub(super) fn new(inner: R, most: usize, known: Arc<watch::Sender<Ending>>) -> Self {
        Self {
            inner,
            most,
            line: 0,
            known,
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Bounded<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(context, buffer))?;
        let read = &buffer.filled()[before..];
        for piece in read.split_inclusive(|byte| *byte == b'\n') {
            this.line += piece.len();
            if this.line > this.most {
                let fault = format!("it sent a message of more than {} bytes", this.most);
                this.known
                    .send_modify(|ending| ending.fault = Some(fault.clone()));
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, fault)));
            }
            if piece.ends_with(b"\n") {
                this.line = 0;
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// A client for streamable HTTP.
pub(super) fn http(
    url: &str,
    headers: &BTreeMap<String, String>,
    message_bytes: usize,
) -> Result<StreamableHttpClientTransport<HttpClient>, String> {
    let address: http::Uri = url
        .parse()
        .map_err(|error| format!("its URL cannot be read: {error}"))?;
    if !matches!(address.scheme_str(), Some("http" | "https")) {
        return Err("its URL does not begin with http:// or https://".to_owned());
    }
    let mut custom = HashMap::new();
    for (name, value) in headers {
        // The value may be a key: it is not repeated.
        let wrong = |what| format!("its header `{name}` has a {what} that HTTP does not allow");
        let header: http::HeaderName = name.parse().map_err(|_| wrong("name"))?;
        let mut value = http::HeaderValue::from_str(value).map_err(|_| wrong("value"))?;
        value.set_sensitive(true);
        custom.insert(header, value);
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(custom)
        .max_sse_event_size(message_bytes);
    let mut retries = ExponentialBackoff::default();
    retries.max_times = Some(RECONNECTS);
    retries.base_duration = Duration::from_millis(200);
    config.retry_config = Arc::new(retries);
    Ok(StreamableHttpClientTransport::with_client(
        HttpClient::new()?,
        config,
    ))
}
