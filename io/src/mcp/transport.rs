//! How a server is reached.

use super::ending::Ending;
use super::http_client::HttpClient;
use super::unreadable::readable;
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

/// As much is read at once, in bytes.
const CHUNK: usize = 8 << 10;

/// Reads lines, fails with one that is too long, and gives on what the SDK can read of each.
pub(super) struct Lines<R> {
    inner: R,
    most: usize,
    chunk: Box<[u8]>,
    /// The line that has begun.
    line: Vec<u8>,
    /// Lines that have come to their end, and how much of them was given on.
    ready: Vec<u8>,
    given: usize,
    known: Arc<watch::Sender<Ending>>,
}

impl<R> Lines<R> {
    pub(super) fn new(inner: R, most: usize, known: Arc<watch::Sender<Ending>>) -> Self {
        Self {
            inner,
            most,
            chunk: vec![0; CHUNK].into(),
            line: Vec::new(),
            ready: Vec::new(),
            given: 0,
            known,
        }
    }

    fn take(&mut self, length: usize) -> io::Result<()> {
        for piece in self.chunk[..length].split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + piece.len() > self.most {
                let fault = format!("it sent a message of more than {} bytes", self.most);
                self.known
                    .send_modify(|ending| ending.fault = Some(fault.clone()));
                return Err(io::Error::new(io::ErrorKind::InvalidData, fault));
            }
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.ready.extend_from_slice(&readable(&self.line, None));
                if !self.ready.ends_with(b"\n") {
                    self.ready.push(b'\n');
                }
                self.line.clear();
            }
        }
        Ok(())
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Lines<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while this.given == this.ready.len() {
            this.ready.clear();
            this.given = 0;
            let mut chunk = ReadBuf::new(&mut this.chunk);
            ready!(Pin::new(&mut this.inner).poll_read(context, &mut chunk))?;
            let length = chunk.filled().len();
            if length == 0 {
                return Poll::Ready(Ok(()));
            }
            this.take(length)?;
        }
        let rest = &this.ready[this.given..];
        let rest = &rest[..rest.len().min(buffer.remaining())];
        buffer.put_slice(rest);
        this.given += rest.len();
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
