//! One request and its answer, as inputs of the machine.

use super::chunks::Chunks;
use crate::http::{Body, HttpClient, redirect_body};
use crate::spans;
use futures::StreamExt;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use http::response::Parts;
use http::{HeaderMap, HeaderName};
use std::borrow::Cow;
use std::time::{Duration, SystemTime};
use stepwell_core::dialect::HttpRequest;
use stepwell_core::run::{EffectId, Input, Refusal};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// The most bytes of an error's body that are kept.
const MAX_ERROR_BODY_BYTES: usize = 64 << 10;

/// The longest wait for a provider that is asked to stop an answer.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(30);

/// Sends a request, and its answer into `inputs`, chunk by chunk. Ends early once nothing takes the inputs.
pub(super) async fn stream(
    client: HttpClient,
    request: HttpRequest,
    effect: EffectId,
    inputs: mpsc::Sender<Input<'static>>,
) {
    let sent_at = Instant::now();
    let (head, body) = match client.send(request).await {
        Ok(response) => response.into_parts(),
        Err(error) => {
            return fail(effect, error.to_string(), &inputs).await;
        }
    };
    if !head.status.is_success() {
        let refusal = refusal(&head, body).await;
        let _ = inputs.send(Input::Refused { effect, refusal }).await;
        return;
    }
    let content_type = header(&head, CONTENT_TYPE);
    let opened = Input::Opened {
        effect,
        content_type,
    };
    if inputs.send(opened).await.is_ok() {
        let encoding = header(&head, CONTENT_ENCODING);
        forward(body, encoding, effect, sent_at, &inputs).await;
    }
}

/// Reports a request that did not reach the provider.
pub(super) async fn fail(effect: EffectId, message: String, inputs: &mpsc::Sender<Input<'static>>) {
    let failed = Input::ConnectionFailed { effect, message };
    let _ = inputs.send(failed).await;
}

/// Sends the request that stops an answer at the provider. Whether it arrives changes nothing for the turn.
pub(super) async fn cancel_answer(client: HttpClient, request: HttpRequest) {
    let sent = tokio::time::timeout(CANCEL_TIMEOUT, client.exchange(request)).await;
    match sent {
        Ok(Ok((200..300, _))) => {}
        Ok(Ok((status, _))) => {
            tracing::debug!(target: "stepwell", status, "the provider did not cancel its answer");
        }
        Ok(Err(error)) => {
            tracing::debug!(target: "stepwell", %error, "the provider was not asked to cancel its answer");
        }
        Err(_) => {
            tracing::debug!(target: "stepwell", "the provider did not say that it cancels its answer");
        }
    }
}

/// Sends the body into `inputs`, to its end or to the error that ends it. `encoding` is the server's `Content-Encoding`.
async fn forward(
    body: Body,
    mut encoding: Option<String>,
    effect: EffectId,
    sent_at: Instant,
    inputs: &mpsc::Sender<Input<'static>>,
) {
    let mut chunks = Chunks::new(body);
    let mut is_first = true;
    while let Some(chunk) = chunks.next().await {
        if std::mem::take(&mut is_first) {
            spans::record_first_chunk(sent_at);
        }
        let received = match chunk {
            Ok(bytes) => match encoding.take().filter(|_| is_compressed(&bytes)) {
                Some(encoding) => Err(format!("the answer is compressed ({encoding}), unasked")),
                None => Ok(bytes),
            },
            Err(error) => Err(error.to_string()),
        };
        let input = match received {
            Ok(bytes) => Input::Received {
                effect,
                bytes: Cow::Owned(bytes),
            },
            Err(message) => {
                let _ = inputs.send(Input::Lost { effect, message }).await;
                return;
            }
        };
        if inputs.send(input).await.is_err() {
            return;
        }
    }
    let _ = inputs.send(Input::Ended { effect }).await;
}

async fn refusal(head: &Parts, body: Body) -> Refusal {
    Refusal {
        status: head.status.as_u16(),
        retry_after: retry_after(&head.headers, SystemTime::now()),
        body: match redirect_body(head.status) {
            Some(body) => body,
            None => named(beginning(body).await, &head.headers),
        },
    }
}

fn header(head: &Parts, name: HeaderName) -> Option<String> {
    let value = head.headers.get(name)?;
    value.to_str().ok().map(str::to_owned)
}

/// Returns whether a body is compressed. Some servers only claim so.
fn is_compressed(beginning: &[u8]) -> bool {
    // A stream of text or a page begins neither with a control character nor with bytes that are not UTF-8. A binary
    // stream begins with 0, as no compressed body does.
    beginning
        .first()
        .is_some_and(|byte| !matches!(byte, 0 | b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0xef))
}

/// The header with the name of an error of AWS. Other protocols of AWS have it in the body, as `__type`.
const AWS_ERROR_TYPE: &str = "x-amzn-errortype";

/// Returns the body of an error with the name of the error in it, if a header has that.
fn named(body: Vec<u8>, headers: &HeaderMap) -> Vec<u8> {
    let Some(name) = headers
        .get(AWS_ERROR_TYPE)
        .and_then(|name| name.to_str().ok())
    else {
        return body;
    };
    match serde_json::from_slice(&body) {
        Ok(serde_json::Value::Object(mut fields)) => {
            fields.entry("__type").or_insert_with(|| name.into());
            serde_json::Value::Object(fields).to_string().into_bytes()
        }
        _ => body,
    }
}

/// Returns the beginning of an error's body, as far as it could be read.
async fn beginning(mut body: Body) -> Vec<u8> {
    let mut kept = Vec::new();
    while let Some(Ok(bytes)) = body.next().await {
        let room = MAX_ERROR_BODY_BYTES - kept.len();
        kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if kept.len() == MAX_ERROR_BODY_BYTES {
            break;
        }
    }
    kept
}

/// Reads `Retry-After` in either of its forms, seconds or a date (RFC 9110, section 10.2.3), or `retry-after-ms`, which
/// some providers also send.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::trim)
    };
    if let Some(millis) = text("retry-after-ms").and_then(|value| value.parse().ok()) {
        return Some(Duration::from_millis(millis));
    }
    let value = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn wait(name: &'static str, value: &'static str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static(value));
        retry_after(&headers, SystemTime::UNIX_EPOCH)
    }

    #[test]
    fn an_error_of_aws_has_its_name_in_the_body() {
        let name = HeaderValue::from_static("ThrottlingException:http://h/");
        let headers = HeaderMap::from_iter([(HeaderName::from_static(AWS_ERROR_TYPE), name)]);
        let read = |body: &str| {
            let body = named(body.as_bytes().to_vec(), &headers);
            String::from_utf8(body).expect("text")
        };
        assert_eq!(
            read(r#"{"message":"No"}"#),
            r#"{"message":"No","__type":"ThrottlingException:http://h/"}"#
        );
        assert_eq!(read(r#"{"__type":"A"}"#), r#"{"__type":"A"}"#);
        assert_eq!(read("busy"), "busy");
    }

    #[test]
    fn reads_retry_after_in_each_form() {
        assert_eq!(wait("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(
            wait("retry-after", "Thu, 01 Jan 1970 00:00:09 GMT"),
            Some(Duration::from_secs(9))
        );
        assert_eq!(
            wait("retry-after-ms", "250"),
            Some(Duration::from_millis(250))
        );
        assert_eq!(wait("retry-after", "soon"), None);
        assert_eq!(wait("x-other", "7"), None);
    }

    #[test]
    fn does_not_wait_for_a_date_in_the_past() {
        let mut headers = HeaderMap::new();
        headers.insert(
            RETRY_AFTER,
            HeaderValue::from_static("Thu, 01 Jan 1970 00:00:09 GMT"),
        );
        let later = SystemTime::UNIX_EPOCH + Duration::from_secs(60);
        assert_eq!(retry_after(&headers, later), Some(Duration::ZERO));
    }
}
