//! The bodies of requests and answers.

use crate::request::refused::{Refused, RefusedReason};
use crate::ui_message::{STREAM_ID, stream_id};
use crate::wire::Encoding;
use axum::body::{Body, HttpBody};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use futures::{Stream, StreamExt};
use http_body_util::BodyExt;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// The time that a body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);

/// Checks that the request declares a JSON body.
///
/// # Errors
/// It is not. A browser sends other types to any server without asking first: this check is a protection too.
pub fn check_content_type(headers: &HeaderMap) -> Result<(), Refused> {
    let value = headers.get(header::CONTENT_TYPE);
    crate::check_content_type(value.and_then(|value| value.to_str().ok()))
}

/// Reads a body of up to `limit` bytes, which may take half a minute to arrive. All bodies of the process that are
/// being read, or were read and are not dropped, hold 256 MiB at most, without the first 64 KiB of each.
///
/// # Errors
/// The body is longer, takes longer, or broke off; or there is no room for it at the moment.
pub async fn read_body(body: Body, limit: usize) -> Result<RequestBody, Refused> {
    static BODIES: LazyLock<BodyBudget> = LazyLock::new(|| BodyBudget::new(MAX_BODIES_BYTES));
    BODIES.read(body, limit).await
}

/// The bytes of each body that are accepted whatever other bodies hold. The connections bound their sum.
const FREE_BYTES: usize = 64 << 10;

/// The most bytes that bodies hold beyond that.
const MAX_BODIES_BYTES: usize = 256 << 20;

/// A body of a request. It counts against what all bodies may hold until it is dropped.
#[derive(Debug)]
pub struct RequestBody {
    bytes: Vec<u8>,
    _held: Held,
}

impl AsRef<[u8]> for RequestBody {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The number of bytes that all bodies together may still take.
#[derive(Clone, Debug)]
struct BodyBudget(Arc<AtomicUsize>);

/// The part of the budget that one body has taken.
#[derive(Debug)]
struct Held {
    budget: BodyBudget,
    bytes: usize,
}

impl BodyBudget {
    fn new(bytes: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(bytes)))
    }

    async fn read(&self, body: Body, limit: usize) -> Result<RequestBody, Refused> {
        let declared = body.size_hint().lower();
        if usize::try_from(declared).is_ok_and(|declared| declared <= limit) {
            let read = tokio::time::timeout(BODY_TIME, self.collect(body, limit)).await;
            return read.unwrap_or_else(|_| {
                let message = "the body did not come in time";
                Err(Refused::new(RefusedReason::BodyTimeout, message))
            });
        }
        Err(too_large(limit))
    }

    async fn collect(&self, mut body: Body, limit: usize) -> Result<RequestBody, Refused> {
        let mut bytes = Vec::new();
        let mut held = Held {
            budget: self.clone(),
            bytes: 0,
        };
        while let Some(frame) = body.frame().await {
            let frame = frame
                .map_err(|_| Refused::new(RefusedReason::BodyIncomplete, "the body broke off"))?;
            let Ok(data) = frame.into_data() else {
                continue;
            };
            if data.len() > limit - bytes.len() {
                return Err(too_large(limit));
            }
            let counted = (bytes.len() + data.len()).saturating_sub(FREE_BYTES);
            held.grow_to(counted)?;
            bytes.extend_from_slice(&data);
        }
        Ok(RequestBody { bytes, _held: held })
    }
}

impl Held {
    fn grow_to(&mut self, bytes: usize) -> Result<(), Refused> {
        let more = bytes.saturating_sub(self.bytes);
        let left = &self.budget.0;
        let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            left.checked_sub(more)
        });
        if taken.is_err() {
            let message = "the server is reading as many long requests as it has room for: try again in a while";
            return Err(Refused::new(RefusedReason::TooManyBodies, message));
        }
        self.bytes += more;
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.0.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

fn too_large(limit: usize) -> Refused {
    let message = format!("the body is longer than {limit} bytes");
    Refused::new(RefusedReason::BodyTooLarge, message)
}

/// An answer whose body is these frames, with the headers of their encoding.
#[must_use]
pub fn response(
    encoding: Encoding,
    frames: impl Stream<Item = Bytes> + Send + 'static,
) -> Response {
    let mut response = Response::new(Body::from_stream(frames.map(Ok::<_, Infallible>)));
    for (name, value) in encoding.headers() {
        let (name, value) = (
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
        response.headers_mut().insert(name, value);
    }
    response
}

/// An answer whose body is these frames of a chat's stream, with the id by which a client resumes the stream.
#[must_use]
pub fn chat_response(chat: &str, frames: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let mut response = response(Encoding::UiMessages, frames);
    // A percent-encoded id is always a valid value.
    if let Ok(id) = HeaderValue::from_str(&stream_id(chat)) {
        let name = HeaderName::from_static(STREAM_ID);
        response.headers_mut().insert(name, id);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::stream;

    const LONG: usize = 100 << 10;

    fn body(pieces: usize, is_whole: bool) -> Body {
        let piece = || Ok::<_, Infallible>(Bytes::from(vec![b' '; LONG / 4]));
        let sent = stream::repeat_with(piece).take(pieces);
        match is_whole {
            true => Body::from_stream(sent),
            false => Body::from_stream(sent.chain(stream::pending())),
        }
    }

    fn reason(read: Result<RequestBody, Refused>) -> Option<RefusedReason> {
        read.err().map(|refused| refused.reason)
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_in_flight_are_bounded_together() {
        let budget = BodyBudget::new(LONG);
        let slow = budget.clone();
        // Each counts as what it has beyond 64 KiB.
        let slow = tokio::spawn(async move { slow.read(body(4, false), LONG).await });
        tokio::task::yield_now().await;
        let held = budget.read(body(4, true), LONG).await.expect("room");
        assert_eq!(held.as_ref().len(), LONG);
        let refused = budget.read(body(4, true), LONG).await;
        assert_eq!(reason(refused), Some(RefusedReason::TooManyBodies));
        // A short one is read whatever the others hold.
        let short = budget.read(body(2, true), LONG).await;
        assert_eq!(reason(short), None);
        drop(held);
        assert_eq!(reason(budget.read(body(4, true), LONG).await), None);
        let slow = slow.await.expect("it ends");
        assert_eq!(reason(slow), Some(RefusedReason::BodyTimeout));
        assert_eq!(budget.0.load(Ordering::Relaxed), LONG);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_too_long_is_refused_as_soon_as_it_says_so() {
        let budget = BodyBudget::new(LONG);
        let long = budget.read(Body::from(vec![b' '; LONG]), LONG - 1).await;
        assert_eq!(reason(long), Some(RefusedReason::BodyTooLarge));
        let unsaid = budget.read(body(5, false), LONG).await;
        assert_eq!(reason(unsaid), Some(RefusedReason::BodyTooLarge));
        assert_eq!(budget.0.load(Ordering::Relaxed), LONG);
    }
}
