//! The body that streams an answer of the background: the events so far, and those that are still to come.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use futures::stream;
use tokio::sync::watch;

use super::answer::{Answer, BodyEnd, Event, Progress};
use crate::server::body::{Segment, chunks_of};
use crate::server::connection::Connection;
use crate::server::record::{Delivery, Receipt};

/// Streams the events after the one with the number `after`, up to the byte `cut_at`.
pub(super) fn body(
    answer: &Arc<Answer>,
    after: Option<u64>,
    cut_at: Option<usize>,
    connection: Connection,
    receipt: Receipt,
) -> Body {
    let progress = answer.progress.subscribe();
    let next = progress.borrow().events_up_to(after);
    let reader = Reader {
        progress,
        after,
        next,
        events_left: answer.readability.drop_every,
        bytes_left: cut_at,
        chunks_of: answer.chunks_of,
        queue: VecDeque::new(),
        _answer: Arc::clone(answer),
    };
    let reading = (reader, connection, receipt);
    Body::from_stream(stream::unfold(
        reading,
        async |(mut reader, connection, mut receipt)| match reader.segment().await {
            Segment::Bytes(bytes) => {
                Some((Ok::<_, Infallible>(bytes), (reader, connection, receipt)))
            }
            Segment::Cut => {
                receipt.settle(Delivery::Cut);
                connection.cut();
                std::future::pending().await
            }
            _ => {
                receipt.settle(Delivery::Complete);
                None
            }
        },
    ))
}

impl Progress {
    /// Returns the number of events up to the one with this number: those that a client has.
    fn events_up_to(&self, number: Option<u64>) -> usize {
        let is_known = |event: &Event| event.number.is_some() && event.number <= number;
        let last = self.events.iter().rposition(is_known);
        last.map_or(0, |last| last + 1)
    }
}

/// The place of one body in its answer.
struct Reader {
    progress: watch::Receiver<Progress>,
    after: Option<u64>,
    next: usize,
    events_left: Option<usize>,
    bytes_left: Option<usize>,
    chunks_of: Option<usize>,
    /// What is sent before the next event.
    queue: VecDeque<Segment>,
    /// Keeps the answer while it is read.
    _answer: Arc<Answer>,
}

impl Reader {
    /// Waits for what is sent next: bytes, or the end of the body.
    async fn segment(&mut self) -> Segment {
        loop {
            match self.queue.pop_front() {
                Some(Segment::Bytes(bytes)) if bytes.is_empty() => {}
                Some(segment) => return segment,
                None => match self.event().await {
                    Some(event) => self.send(event),
                    None if self.bytes_left.is_some() => return Segment::Cut,
                    None => return Segment::End,
                },
            }
        }
    }

    /// Waits for the next event that the client does not have; `None` once the answer is over.
    async fn event(&mut self) -> Option<Event> {
        loop {
            let next = self.next;
            let is_there = |progress: &Progress| progress.events.len() > next || progress.is_over;
            let progress = self.progress.wait_for(is_there).await.ok()?;
            let event = progress.events.get(next)?.clone();
            self.next += 1;
            if event.number.is_none() || event.number > self.after {
                return Some(event);
            }
        }
    }

    /// Queues an event, and the end of the body if it comes with it.
    fn send(&mut self, event: Event) {
        let Event {
            number,
            mut bytes,
            then,
        } = event;
        let mut end = then.map(|end| match end {
            BodyEnd::Cut => Segment::Cut,
            BodyEnd::Complete => Segment::End,
        });
        // The mark at the end of a body is no event.
        if number.is_some() && count_down(&mut self.events_left, 1) {
            end = Some(Segment::Cut);
        }
        if let Some(left) = self.bytes_left
            && count_down(&mut self.bytes_left, bytes.len())
        {
            bytes = bytes.slice(..left);
            end = Some(Segment::Cut);
        }
        self.queue.extend(self.chunks(bytes));
        self.queue.extend(end);
    }

    fn chunks(&self, bytes: Bytes) -> Vec<Segment> {
        let bytes = vec![Segment::Bytes(bytes)];
        match self.chunks_of {
            Some(size) => chunks_of(bytes, size),
            None => bytes,
        }
    }
}

/// Takes from what is left. Returns whether nothing is left.
fn count_down(left: &mut Option<usize>, taken: usize) -> bool {
    *left = left.map(|left| left.saturating_sub(taken));
    *left == Some(0)
}
