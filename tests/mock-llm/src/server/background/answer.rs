//! An answer that is made in the background: the events so far, and the answer as it is.

use std::sync::Arc;
use std::time::Duration;
use std::vec;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::watch;

use crate::dialect::Refusal;
use crate::dialect::stored::{self, Noted, Refused, StoredForm};
use crate::server::background::Readability;
use crate::server::body::Segment;
use crate::{Hop, RecordedRequest};

/// An answer that is made whether or not a client reads it.
pub(super) struct Answer {
    pub(super) form: &'static dyn StoredForm,
    /// The request's body.
    request: Value,
    pub(super) progress: watch::Sender<Progress>,
    pub(super) readability: Readability,
    /// The size of the chunks of its bodies, if the script has set one.
    pub(super) chunks_of: Option<usize>,
    /// Whether it was asked for as a stream.
    pub(super) is_streamed: bool,
    /// The key of the request that began it.
    pub(super) key: Option<String>,
}

/// The answer so far.
#[derive(Default)]
pub(super) struct Progress {
    pub(super) events: Vec<Event>,
    /// Whether no event follows.
    pub(super) is_over: bool,
    /// The answer in the first event that has it, and in the last.
    begun: Value,
    answer: Value,
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
    pub(super) fn begin(
        form: &'static dyn StoredForm,
        segments: Vec<Segment>,
        hop: &Hop,
        request: &RecordedRequest,
    ) -> Arc<Self> {
        let is_streamed = form.dialect().wire().streams(&request.body);
        let answer = Arc::new(Self {
            form,
            request: request.body.clone(),
            progress: watch::Sender::new(Progress {
                bodies: usize::from(is_streamed),
                ..Progress::default()
            }),
            readability: hop.background,
            chunks_of: hop.chunks_of,
            is_streamed,
            key: request.header(form.key_header()).map(str::to_owned),
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
                    Segment::Bytes(bytes) => progress.add(self.form, bytes),
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
        let mut answer = Value::Null;
        self.progress.send_if_modified(|progress| {
            answer = self.shown(progress);
            progress.reads += 1;
            false
        });
        self.form.shown(answer, &self.request)
    }

    /// The answer, as a read of it as a whole finds it.
    fn shown(&self, progress: &Progress) -> Value {
        let is_cancelled = progress.answer["status"] == "cancelled";
        if is_cancelled || progress.reads >= self.readability.reads {
            return progress.answer.clone();
        }
        let mut answer = progress.begun.clone();
        answer["status"] = "in_progress".into();
        answer
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
            } else if stored::is_final(&shown) {
                let status = shown["status"].as_str().unwrap_or_default();
                result = Err(self.form.refusal(Refused::Ended(status)));
            } else {
                result = Ok(progress.cancel(self.form));
            }
        });
        result
    }
}

impl Progress {
    fn add(&mut self, form: &dyn StoredForm, bytes: Bytes) {
        let Noted { number, answer } = form.read(&bytes);
        if let Some(answer) = answer {
            if self.begun.is_null() {
                self.begun = answer.clone();
            }
            self.answer = answer;
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

    fn cancel(&mut self, form: &dyn StoredForm) -> Value {
        let answer = form.cancelled(&self.begun);
        if !self.is_over {
            let last = self.events.iter().rev().find_map(|event| event.number);
            let number = last.map_or(0, |last| last + 1);
            let event = form.cancelled_event(&answer, number);
            self.add(form, event.into());
            self.is_over = true;
        }
        self.answer = answer.clone();
        answer
    }
}
