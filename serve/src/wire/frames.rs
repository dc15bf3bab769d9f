//! The response body: the events of a run, in the encoding that the client asked for.

use crate::wire::Encoding;
use crate::wire::event_log::{Entry, EventStream};
use bytes::Bytes;
use futures::{Stream, stream};
use std::pin::Pin;
use std::time::Duration;
use stepwell_io::RunId;
use tokio::time::{Instant, Sleep, sleep_until};

/// The bytes of frames that go to the connection at once; the last event may exceed them.
const AT_ONCE: usize = 16 << 10;

/// A silence beyond what can be counted is none that ends: a year is as good.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);

struct Frames {
    encoding: Encoding,
    run_id: RunId,
    log: EventStream,
    keep_alive: Duration,
    /// The time of the last send.
    sent: Instant,
    /// Ends when it may be time for a keep-alive. It is not reset with each event: that would cost more than the event.
    silence: Pin<Box<Sleep>>,
}

impl EventStream {
    /// The frames of an HTTP body. After a silence of `keep_alive` comes a comment, where the encoding has one. A
    /// client that goes away drops the stream, which the run notices.
    pub fn frames(
        self,
        encoding: Encoding,
        run_id: RunId,
        keep_alive: Duration,
    ) -> impl Stream<Item = Bytes> + Send + 'static {
        let now = Instant::now();
        let keep_alive = keep_alive.min(LONGEST);
        let frames = Frames {
            encoding,
            run_id,
            log: self,
            keep_alive,
            sent: now,
            silence: Box::pin(sleep_until(now + keep_alive)),
        };
        stream::unfold(frames, |mut frames| async move {
            let next = frames.next().await?;
            Some((next, frames))
        })
    }
}

impl Frames {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            tokio::select! {
                biased;
                entry = self.log.next() => {
                    let entry = entry?;
                    // On a busy machine the run emits more before this task runs again: one write for all of it.
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
            let Entry { index, json } = entry;
            self.encoding.write(&self.run_id, index, &json, &mut frames);
            next = (frames.len() < AT_ONCE)
                .then(|| self.log.next_unread())
                .flatten();
        }
        frames.into()
    }
}
