//! The response of a run: its log, in the encoding that the client asked for.

use super::Server;
use super::encoding::Encoding;
use super::event_log::{Entry, LogReader};
use crate::metrics::Metrics;
use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use futures::{Stream, stream};
use std::convert::Infallible;
use std::pin::Pin;
use std::time::Duration;
use stepwell_io::RunId;
use tokio::time::{Instant, Sleep, sleep_until};

/// As many bytes of frames go to the connection at once, and an event more.
const AT_ONCE: usize = 16 << 10;

/// A silence beyond what can be counted is none that ends: a year is as good.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);

/// Streams the log as it grows. A client that goes away drops the reader, which the run notices.
pub(super) fn reply(
    server: &Server,
    encoding: Encoding,
    run_id: RunId,
    log: LogReader,
) -> Response {
    let now = Instant::now();
    let keep_alive = server.serving.keep_alive.min(LONGEST);
    let frames = Frames {
        encoding,
        run_id,
        log,
        metrics: server.metrics.clone(),
        keep_alive,
        sent: now,
        silence: Box::pin(sleep_until(now + keep_alive)),
    };
    let frames = stream::unfold(frames, |mut frames| async move {
        let next = frames.next().await?;
        Some((Ok(next), frames))
    });
    streamed(encoding, frames)
}

/// A response whose body is these frames.
pub(super) fn streamed(
    encoding: Encoding,
    frames: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static,
) -> Response {
    let body = Body::from_stream(frames);
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, encoding.media_type()),
        (header::CACHE_CONTROL, "no-cache"),
        // nginx would collect the events otherwise.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The body of a reply.
struct Frames {
    encoding: Encoding,
    run_id: RunId,
    log: LogReader,
    metrics: Metrics,
    keep_alive: Duration,
    /// When something was sent last.
    sent: Instant,
    /// Ends when it may be time for a keep-alive. It is not set anew with each event: that would cost more than the
    /// event.
    silence: Pin<Box<Sleep>>,
}

impl Frames {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            tokio::select! {
                biased;
                entry = self.log.next() => {
                    let entry = entry?;
                    // On a busy machine the run says more before this has its turn again: one write for all of it.
                    tokio::task::yield_now().await;
                    return Some(self.frames(entry));
                }
                () = &mut self.silence => {
                    let now = Instant::now();
                    let is_due = now >= self.sent + self.keep_alive;
                    if is_due {
                        self.sent = now;
                    }
                    self.silence.as_mut().reset(self.sent + self.keep_alive);
                    if is_due && let Some(comment) = self.encoding.keep_alive() {
                        return Some(comment);
                    }
                }
            }
        }
    }

    /// The entry and those that are there too.
    fn frames(&mut self, first: Entry) -> Bytes {
        self.sent = Instant::now();
        let mut frames = Vec::with_capacity(first.json.len() + 64);
        let mut next = Some(first);
        while let Some(entry) = next {
            self.metrics.event_sent(self.sent - entry.written);
            let Entry { index, json, .. } = entry;
            self.encoding.write(&self.run_id, index, &json, &mut frames);
            next = (frames.len() < AT_ONCE)
                .then(|| self.log.next_unread())
                .flatten();
        }
        frames.into()
    }
}
