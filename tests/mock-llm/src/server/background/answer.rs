//! An answer that is made in the background: the events so far, and the answer as it is.

use std::sync::Arc;
use std::time::Duration;
use std::vec;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::watch;

use crate::dialect::stored_response::{self, Noted};
use crate::dialect::{Dialect, Refusal};
use crate::server::background::Readability;
use crate::server::body::Segment;
use crate::{Hop, RecordedRequest};

/// An answer that is made whether or not a client reads it.
pub(super) struct Answer {
    pub(super) progress: watch::Sender<Progress>,
    pub(super) readability: Readability,
    /// The size of the chunks of its bodies, if the script has set one.
    pub(super) chunks_of: Option<usize>,
    /// Whether it was asked for as a stream.
    pub(super) is_streamed: bool,
    /// The key of the request that began it.
    pub(super) authorization: Option<String>,
}

/// The answer so far.
#[derive(Default)]
pub(super) struct Progress {
    pub(super) events: Vec<Event>,
    /// Whether no event follows.
    pub(super) is_over: bool,
    /// The response object of the first event that has one, and of the last.
    begun: Value,
    response: Value,
    /// The number of bodies that have streamed the answer.
    bodies: usize,
    /// The number of reads as a whole that found it in progress.
    reads: usize,
}

/// One event of the answer.
#[derive(Clone)]
pub(super) struct Event {
    pub(super) number: Option<u64>,
    pub(super) bytes: Bytes,
    /// How a body ends that has sent the event, if not later.
    pub(super) then: Option<BodyEnd>,
}

/// The end of a body whose answer continues.
#[derive(Clone, Copy)]
pub(super) enum BodyEnd {
    Cut,
    Complete,
}

impl Answer {
    /// Begins the answer: all that comes before the script's first pause is there when this returns.
    pub(super) fn begin(segments: Vec<Segment>, hop: &Hop, request: &RecordedRequest) -> Arc<Self> {
        let is_streamed = Dialect::OpenAiResponses.wire().streams(&request.body);
        let answer = Arc::new(Self {
            progress: watch::Sender::new(Progress {
                bodies: usize::from(is_streamed),
                ..Progress::default()
            }),
            readability: hop.background,
            chunks_of: hop.chunks_of,
            is_streamed,
            authorization: request.header("authorization").map(str::to_owned),
        });
        let mut segments = segments.into_iter();
        if let Some(mut pause) = answer.proceed(&mut segments) {
            let answer = Arc::clone(&answer);
            tokio::spawn(async move {
                loop {
                    tokio::time::sleep(pause).await;
                    match answer.proceed(&mut segments) {
                        Some(next) => pause = next,
                        None => return,
                    }
                }
            });
        }
        answer
    }

    /// Makes the answer up to the next pause, which it returns. Without one the answer is over, or stalls for ever.
    fn proceed(&self, segments: &mut vec::IntoIter<Segment>) -> Option<Duration> {
        let mut pause = None;
        self.progress.send_modify(|progress| {
            // It was cancelled in the pause.
            if progress.is_over {
                return;
            }
            for segment in segments.by_ref() {
                match segment {
                    Segment::Bytes(bytes) => progress.add(bytes),
                    Segment::Cut => progress.end_body(BodyEnd::Cut),
                    Segment::End => progress.end_body(BodyEnd::Complete),
                    Segment::Stall => return,
                    Segment::Pause(duration) => {
                        pause = Some(duration);
                        return;
                    }
                }
            }
            progress.is_over = true;
        });
        pause
    }

    /// Returns the answer as it was when it began.
    pub(super) fn begun(&self) -> Value {
        self.progress.borrow().begun.clone()
    }

    /// Counts another body. Returns whether it may stream the answer.
    pub(super) fn opens_body(&self) -> bool {
        let limit = self.readability.streams;
        let mut opens = false;
        self.progress.send_if_modified(|progress| {
            opens = limit.is_none_or(|limit| progress.bodies < limit);
            progress.bodies += usize::from(opens);
            false
        });
        opens
    }

    /// Returns the answer as it is, and counts the read.
    pub(super) fn read(&self) -> Value {
        let mut response = Value::Null;
        self.progress.send_if_modified(|progress| {
            response = self.shown(progress);
            progress.reads += 1;
            false
        });
        response
    }

    /// The answer, as a read of it as a whole finds it.
    fn shown(&self, progress: &Progress) -> Value {
        let is_cancelled = progress.response["status"] == "cancelled";
        if is_cancelled || progress.reads >= self.readability.reads {
            return progress.response.clone();
        }
        let mut response = progress.begun.clone();
        response["status"] = "in_progress".into();
        response
    }

    /// Cancels the answer, and returns it. That it is cancelled already is no error.
    ///
    /// # Errors
    /// It has ended otherwise.
    pub(super) fn cancel(&self) -> Result<Value, Refusal> {
        let mut result = Err(Refusal::new(400, ""));
        self.progress.send_modify(|progress| {
            let shown = self.shown(progress);
            if shown["status"] == "cancelled" {
                result = Ok(shown);
            } else if stored_response::is_final(&shown) {
                let status = shown["status"].as_str().unwrap_or_default();
                let article = if status == "incomplete" { "an" } else { "a" };
                let text = format!("Cannot cancel {article} {status} response.");
                result = Err(Refusal::new(400, text));
            } else {
                result = Ok(progress.cancel());
            }
        });
        result
    }
}

impl Progress {
    fn add(&mut self, bytes: Bytes) {
        let Noted { number, response } = stored_response::read(&bytes);
        if let Some(response) = response {
            if self.begun.is_null() {
                self.begun = response.clone();
            }
            self.response = response;
        }
        self.events.push(Event {
            number,
            bytes,
            then: None,
        });
    }

    /// Ends the bodies that have sent the last event.
    fn end_body(&mut self, end: BodyEnd) {
        if let Some(last) = self.events.last_mut() {
            last.then = Some(end);
        }
    }

    fn cancel(&mut self) -> Value {
        let response = stored_response::cancelled(&self.begun);
        if !self.is_over {
            let last = self.events.iter().rev().find_map(|event| event.number);
            let number = last.map_or(0, |last| last + 1);
            let event = stored_response::cancelled_event(&response, number);
            self.add(event.into());
            self.is_over = true;
        }
        self.response = response.clone();
        response
    }
}
