//! The transport of a server at an address.

use super::http_client::HttpClient;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// How often a broken stream of a server is requested again, before its calls fail.
const MAX_RECONNECTS: usize = 4;

/// Returns a transport of streamable HTTP.
///
/// # Errors
/// The address or a header is invalid, in words for the developer.
pub(in crate::mcp) fn http(
    url: &str,
    headers: &BTreeMap<String, String>,
    max_message_bytes: usize,
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
        .max_sse_event_size(max_message_bytes);
    let mut retries = ExponentialBackoff::default();
    retries.max_times = Some(MAX_RECONNECTS);
    retries.base_duration = Duration::from_millis(200);
    config.retry_config = Arc::new(retries);
    Ok(StreamableHttpClientTransport::with_client(
        HttpClient::new()?,
        config,
    ))
}
