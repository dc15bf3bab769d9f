use super::super::{HttpRequest, StoredRequest};
use super::{SEGMENT, empty_request};
use crate::provider::Endpoint;
use percent_encoding::utf8_percent_encode;

/// Encodes a request about an answer that the provider makes in the background. The answers are below `path`, and
/// `position` is the parameter that names the event after which an answer is streamed.
pub(in super::super) fn stored_request(
    endpoint: &Endpoint,
    request: StoredRequest<'_>,
    path: &str,
    key: (&str, &str),
    position: &str,
) -> HttpRequest {
    let (StoredRequest::Stream { id, .. }
    | StoredRequest::Read { id }
    | StoredRequest::Cancel { id }) = request;
    let path = format!("{path}/{}", utf8_percent_encode(id, SEGMENT));
    let (method, path, accept) = match request {
        StoredRequest::Stream { after, .. } => {
            let after = after.to_string();
            let after = utf8_percent_encode(&after, SEGMENT);
            let path = format!("{path}?stream=true&{position}={after}");
            ("GET", path, "text/event-stream")
        }
        StoredRequest::Read { .. } => ("GET", path, "application/json"),
        StoredRequest::Cancel { .. } => ("POST", format!("{path}/cancel"), "application/json"),
    };
    empty_request(endpoint, method, &path, key, accept)
}
