//! One request and its answer, as inputs of the machine.

use crate::http::{Body, HttpClient, redirect_body};
use crate::spans;
use bytes::Bytes;
use futures::stream::Fuse;
use futures::{FutureExt, Stream, StreamExt};
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use stepwell_core::dialect::HttpRequest;
use stepwell_core::middleware::Middleware;
use stepwell_core::run::{EffectId, Input, Refusal};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// As much of an error's body as is kept, in bytes.
const ERROR_BODY: usize = 64 << 10;

/// Sends the request, and the answer into `inputs`, piece by piece. Ends early when nobody listens any more.
pub(crate) async fn stream(
    client: HttpClient,
    request: HttpRequest,
    effect: EffectId,
    inputs: mpsc::Sender<Input<'static>>,
    middleware: Option<Arc<Mutex<Middleware>>>,
) {
    let asked = Instant::now();
    let response = match client.send(request).await {
        Ok(response) => response,
        Err(error) => {
            let message = error.to_string();
            let _ = inputs
                .send(Input::ConnectionFailed { effect, message })
                .await;
            return;
        }
    };
    let (head, body) = response.into_parts();
    let status = head.status;
    if !status.is_success() {
        let retry_after = retry_after(&head.headers, SystemTime::now());
        let body = match redirect_body(status) {
            Some(body) => body,
            None => beginning(body).await,
        };
        let refusal = Refusal {
            status: status.as_u16(),
            retry_after,
            body,
        };
        let _ = inputs.send(Input::Refused { effect, refusal }).await;
        return;
    }
    let header = |name| {
        let value = head.headers.get(name)?;
        value.to_str().ok().map(str::to_owned)
    };
    let content_type = header(CONTENT_TYPE);
    let middleware = middleware.as_deref();
    if let Some(mut middleware) = middleware.map(lock) {
        middleware.open(content_type.as_deref());
    }
    let mut encoding = header(CONTENT_ENCODING);
    if inputs
        .send(Input::Opened {
            effect,
            content_type,
        })
        .await
        .is_err()
    {
        return;
    }
    let mut body = Pieces::new(body);
    let mut is_first = true;
    while let Some(piece) = body.next().await {
        if std::mem::take(&mut is_first) {
            spans::record_first_chunk(asked);
        }
        let input = match piece {
            Ok(bytes) => match encoding.take().filter(|_| is_compressed(&bytes)) {
                Some(encoding) => Input::Lost {
                    effect,
                    message: format!("the answer is compressed ({encoding}), unasked"),
                },
                None => Input::Received {
                    effect,
                    bytes: Cow::Owned(changed(bytes, middleware)),
                },
            },
            Err(error) => Input::Lost {
                effect,
                message: error.to_string(),
            },
        };
        let is_last = matches!(input, Input::Lost { .. });
        if inputs.send(input).await.is_err() || is_last {
            return;
        }
    }
    let mut rest = Vec::new();
    if let Some(mut middleware) = middleware.map(lock) {
        middleware.end(&mut rest);
    }
    if !rest.is_empty() {
        let bytes = Cow::Owned(rest);
        if inputs
            .send(Input::Received { effect, bytes })
            .await
            .is_err()
        {
            return;
        }
    }
    let _ = inputs.send(Input::Ended { effect }).await;
}

/// A body in pieces as large as what has arrived. Servers send each event in a chunk of its own: a turn that is behind
/// takes all that waits at once, and says pieces of one text as one event.
struct Pieces<S, E> {
    body: Fuse<S>,
    /// What broke off the body after the piece that was given last.
    failed: Option<E>,
}

/// The size from which a piece is handed on, in bytes.
const PIECE: usize = 16 << 10;

/// So often is looked whether more has arrived.
const LOOKS: usize = 16;

impl<S, E> Pieces<S, E>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
{
    fn new(body: S) -> Self {
        Self {
            body: body.fuse(),
            failed: None,
        }
    }

    /// The next piece. It is a copy, so that the connection has its buffer back.
    async fn next(&mut self) -> Option<Result<Vec<u8>, E>> {
        if let Some(error) = self.failed.take() {
            return Some(Err(error));
        }
        let mut piece = match self.body.next().await? {
            Ok(first) => first.to_vec(),
            Err(error) => return Some(Err(error)),
        };
        for _ in 0..LOOKS {
            if piece.len() >= PIECE {
                break;
            }
            // The connection hands on one chunk at a time, when it has its turn. On a busy machine all others have theirs.
            tokio::task::yield_now().await;
            match self.body.next().now_or_never().flatten() {
                Some(Ok(more)) => piece.extend_from_slice(&more),
                Some(Err(error)) => {
                    self.failed = Some(error);
                    break;
                }
                None => break,
            }
        }
        Some(Ok(piece))
    }
}

/// What a middleware makes of a piece of the body; without one, the piece.
fn changed(bytes: Vec<u8>, middleware: Option<&Mutex<Middleware>>) -> Vec<u8> {
    let Some(mut middleware) = middleware.map(lock) else {
        return bytes;
    };
    let mut changed = Vec::with_capacity(bytes.len());
    middleware.receive(&bytes, &mut changed);
    changed
}

/// Only one stream has it at a time; one whose function panicked is gone.
fn lock(middleware: &Mutex<Middleware>) -> MutexGuard<'_, Middleware> {
    middleware.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a body that is said to be compressed really is. Some servers only say so, and what can be read is read.
fn is_compressed(beginning: &[u8]) -> bool {
    // Neither the text of a stream nor a page begins with a control character or with bytes that are no UTF-8, and no
    // compressed body with the 0 that a binary stream begins with.
    beginning
        .first()
        .is_some_and(|byte| !matches!(byte, 0 | b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0xef))
}

/// The beginning of an error's body; what could not be read of it is left out.
async fn beginning(mut body: Body) -> Vec<u8> {
    let mut kept = Vec::new();
    while let Some(Ok(bytes)) = body.next().await {
        let room = ERROR_BODY - kept.len();
        kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if kept.len() == ERROR_BODY {
            break;
        }
    }
    kept
}

/// `Retry-After` in either of its forms, seconds or a date (RFC 9110, section 10.2.3), or `retry-after-ms`, which
/// some providers send besides.
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
    fn retry_after_is_read_in_all_its_forms() {
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

    #[tokio::test]
    async fn what_has_arrived_is_one_piece_and_a_break_comes_after_it() {
        let (sender, receiver) = futures::channel::mpsc::unbounded();
        let mut pieces = Pieces::new(receiver);
        let arrives = |bytes: &'static [u8]| {
            let sent = sender.unbounded_send(Ok::<_, &str>(Bytes::from_static(bytes)));
            sent.expect("somebody reads");
        };
        arrives(b"data: a\n\n");
        assert_eq!(pieces.next().await, Some(Ok(b"data: a\n\n".to_vec())));
        assert_eq!(pieces.next().now_or_never(), None);
        arrives(b"data: b\n\n");
        arrives(b"data: c\n\n");
        sender.unbounded_send(Err("broken")).expect("it is read");
        let waiting = b"data: b\n\ndata: c\n\n".to_vec();
        assert_eq!(pieces.next().await, Some(Ok(waiting)));
        assert_eq!(pieces.next().await, Some(Err("broken")));
        drop(sender);
        assert_eq!(pieces.next().await, None);
        assert_eq!(pieces.next().await, None);
    }

    #[tokio::test]
    async fn a_piece_is_no_longer_than_what_a_turn_takes_at_once_and_a_chunk_more() {
        let chunk = Bytes::from(vec![b'x'; PIECE / 2]);
        let chunks = vec![Ok::<_, &str>(chunk); 5];
        let mut pieces = Pieces::new(futures::stream::iter(chunks));
        let mut lengths = Vec::new();
        while let Some(piece) = pieces.next().await {
            lengths.push(piece.expect("a piece").len());
        }
        assert_eq!(lengths, [PIECE, PIECE, PIECE / 2]);
    }

    #[test]
    fn a_date_in_the_past_is_no_wait() {
        let mut headers = HeaderMap::new();
        headers.insert(
            RETRY_AFTER,
            HeaderValue::from_static("Thu, 01 Jan 1970 00:00:09 GMT"),
        );
        let later = SystemTime::UNIX_EPOCH + Duration::from_secs(60);
        assert_eq!(retry_after(&headers, later), Some(Duration::ZERO));
    }
}
