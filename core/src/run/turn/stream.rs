//! The stream of the hop: its events are applied, shown and recorded. It may break off and be opened again.
//!
//! Owns `broken_stream`, `hop_state` and `stopped_calls`, and what a stream adds to `conversation`, to the usage in
//! `budget` and to `recorder`. The stream's content is recorded once, however often the stream is opened.

use super::Turn;
use crate::CallKey;
use crate::dialect::{HopIds, Resumption};
use crate::event::{
    Event, EventRef, Finding, Message, ReasoningEnd, ReasoningMessageEnd, TextMessageEnd,
};
use crate::pipeline::{Listener, Pipeline, StreamEnd};
use crate::run::parts::{Answer, Presenter, Reading, StreamNotes, StreamOf};
use crate::run::protocol::{Failure, Incomplete, Outcome, RunEvent, TimerKey};
use crate::transcript::{Applied, Transcript};
use std::time::Duration;

/// The parts that are notified of a stream's changes to the conversation.
struct Listeners<'a> {
    presenter: &'a mut Presenter,
    notes: &'a mut StreamNotes,
}

impl Listener for Listeners<'_> {
    #[inline]
    fn applied(&mut self, event: EventRef<'_>, applied: &Applied, transcript: &Transcript) {
        self.notes.applied(event, applied, transcript);
        self.presenter.applied(event, applied, transcript);
    }

    fn moving(&mut self, transcript: &Transcript) {
        self.presenter.moving(transcript);
    }

    fn warning(&mut self, message: &str) {
        self.presenter.warning(message);
    }

    fn finding(&mut self, finding: &Finding, frame: u64) {
        self.presenter.finding(finding, frame);
    }

    fn unknown_call(&mut self, id: &str, message: &str) {
        self.presenter.unknown_call(id, message);
    }
}

impl Turn {
    /// Returns the reader of an answer that is open. If the answer resumes a stream that broke off, the same pipeline
    /// continues to read it.
    pub(in crate::run) fn answer(&mut self, attempt: u32, content_type: Option<&str>) -> Answer {
        let broken = self.broken_stream.take();
        Answer::new(attempt, content_type, broken, |broken, media_type| {
            let ids = HopIds {
                provider: self.setup.config().endpoint.provider.clone(),
                ..self.ids.clone()
            };
            let limits = self.setup.config().limits.frames;
            if let Some(mut pipeline) = broken {
                let hop = self.hop;
                self.event(RunEvent::StreamResumed { hop, attempt });
                let dialect = self.setup.config().endpoint.dialect;
                pipeline.reopen(dialect, media_type, ids, limits);
                return pipeline;
            }
            let endpoint = &self.setup.config().endpoint;
            let pipeline = Pipeline::for_answer(endpoint, media_type, ids, limits);
            Box::new(pipeline.limited_to(self.setup.config().limits.answer))
        })
    }

    /// Takes bytes of the answer.
    #[inline]
    pub(in crate::run) fn receive(&mut self, answer: &mut Answer, bytes: &[u8]) -> Reading {
        let mut listeners = Listeners {
            presenter: &mut self.presenter,
            notes: self.recorder.notes(),
        };
        let reading = answer.receive(bytes, &mut self.transcript, &mut listeners);
        self.note_stream();
        match reading {
            Reading::Open => self.note_background(answer),
            Reading::Whole => self.background_is_over(),
            Reading::Over if answer.is_finished() => self.background_is_over(),
            Reading::WasWhole | Reading::Over => {}
        }
        self.time_stream(reading);
        reading
    }

    /// Sets the timers of a stream that has brought bytes.
    #[inline]
    pub(super) fn time_stream(&mut self, reading: Reading) {
        let timeouts = &self.setup.config().timeouts;
        self.clocks.set(TimerKey::Silence, timeouts.silence);
        match reading {
            Reading::Open => self.clocks.stop(TimerKey::Closing),
            // The stream may stay open for a while.
            Reading::Whole => self.clocks.set(TimerKey::Closing, timeouts.closing),
            Reading::WasWhole | Reading::Over => {}
        }
    }

    /// Ends the answer's body. Returns `None` for an answer as a whole that the provider has not finished.
    ///
    /// # Errors
    /// The body cannot be read, or is not a stream.
    pub(in crate::run) fn end_answer(
        &mut self,
        answer: &mut Answer,
    ) -> Result<Option<StreamEnd>, Failure> {
        let mut listeners = Listeners {
            presenter: &mut self.presenter,
            notes: self.recorder.notes(),
        };
        let end = answer.end(&mut self.transcript, &mut listeners);
        if let Ok(Some(StreamEnd::Finished | StreamEnd::Errored)) = end {
            self.background_is_over();
        }
        end
    }

    pub(super) fn stream_of(&self) -> StreamOf<'_> {
        let tools = &self.setup.config().tools;
        StreamOf::new(self.hop, &self.transcript, tools, self.beginnings.stream())
    }

    /// Records the stream's changes, or notes them for the stream's end.
    #[inline]
    fn note_stream(&mut self) {
        let kept = self.transcript.take_rewritten();
        let tools = &self.setup.config().tools;
        let begins = self.beginnings.stream();
        let stream = StreamOf::new(self.hop, &self.transcript, tools, begins);
        self.recorder.note_stream(&stream, kept);
    }

    /// Leaves a stream, however it ended: its cost is counted, and its content is recorded.
    pub(in crate::run) fn leave_stream(&mut self) {
        // The answers to an agent's questions have arrived: no later request carries them.
        self.resume.clear();
        self.broken_stream = None;
        self.leave_background();
        let endpoint = &self.setup.config().endpoint;
        self.transcript.price_usage(|usage| endpoint.cost(usage));
        self.budget.count_usage(&self.transcript.summary().usage);
        self.note_stream();
        let tools = &self.setup.config().tools;
        let begins = self.beginnings.stream();
        let stream = StreamOf::new(self.hop, &self.transcript, tools, begins);
        self.recorder.record_stream(&stream);
        // No stream of this hop is opened again.
        self.hop_state = None;
        self.record_usage();
    }

    pub(super) fn record_usage(&mut self) {
        let usage = &self.transcript.summary().usage;
        self.recorder.record_usage(self.hop, usage);
    }

    /// Drops a stream that brought no content and is requested again. Its metadata and its cost do not belong to the
    /// answer. The messages that it began are removed, and the app gets events that end them. No block has them: a
    /// message that has ended is content, after which no stream is requested again.
    pub(in crate::run) fn drop_stream(&mut self) {
        self.leave_background();
        let start = self.stream_start();
        self.presenter.moving(&self.transcript);
        for message in self.transcript.drop_empty_stream(start) {
            let message_id = message.id().clone();
            let common = None;
            if let Message::Reasoning(_) = message {
                self.event(RunEvent::AgUi(Event::from(ReasoningMessageEnd {
                    message_id: message_id.clone(),
                    common: None,
                })));
                self.event(RunEvent::AgUi(Event::from(ReasoningEnd {
                    message_id,
                    common,
                })));
            } else {
                self.event(RunEvent::AgUi(Event::from(TextMessageEnd {
                    message_id,
                    common,
                })));
            }
        }
    }

    /// Returns whether the backend can resume the stream.
    pub(in crate::run) fn can_resume(&self, answer: &Answer) -> bool {
        let how = self.setup.config().endpoint.quirks.resumption;
        !self.comeback.is_of_another_dialect() && answer.can_resume(how)
    }

    /// If the backend can resume the stream, what reads it is kept until it is open again.
    pub(in crate::run) fn keep_for_resumption(&mut self, answer: &mut Answer) -> bool {
        if !self.can_resume(answer) {
            return false;
        }
        if answer.has_gone_on() {
            // The attempts are counted separately for each place at which the stream breaks off.
            self.tries.restart();
        }
        self.broken_stream = answer.break_off();
        true
    }

    /// Takes the pipeline of a stream that is not opened again after all.
    pub(in crate::run) fn take_broken_stream(&mut self) -> Option<Box<Pipeline>> {
        self.broken_stream.take()
    }

    /// Returns the stream that must be opened again.
    pub(in crate::run) fn broken_stream(&self) -> Option<&Pipeline> {
        self.broken_stream.as_deref()
    }

    /// The wait that the stream itself asks for before it is opened again.
    pub(in crate::run) fn wanted_wait(&self) -> Option<Duration> {
        let longest = self.setup.config().retry.max_retry_after;
        let wait = self.broken_stream()?.wanted_wait()?;
        Some(wait.min(longest))
    }

    /// Returns the id from which the backend should resume the stream, if it resumes by id.
    pub(in crate::run) fn resumed_from(&self) -> Option<&str> {
        let by_id = self.setup.config().endpoint.quirks.resumption == Resumption::LastEventId;
        self.broken_stream().filter(|_| by_id)?.last_event_id()
    }

    /// The state that the hop's request carries.
    pub(in crate::run) fn asked_state(&self) -> &serde_json::Value {
        match (&self.broken_stream, &self.hop_state) {
            (Some(_), Some(state)) => state,
            _ => self.transcript.shared_state(),
        }
    }

    /// Returns all messages that the hop's request may carry, without those that came from a stream to be resumed.
    pub(in crate::run) fn asked_messages(&self) -> &[Message] {
        let messages = self.transcript.messages();
        let end = match self.broken_stream {
            Some(_) => self.hop_start(),
            None => None,
        };
        &messages[..end.unwrap_or(messages.len())]
    }

    /// Notes that the user stops a call that the model has asked for: the call will not run.
    pub(in crate::run) fn stop_before_it_begins(&mut self, call: CallKey) {
        if self.transcript.call(call).is_some() && !self.stopped_calls.contains(&call) {
            self.stopped_calls.push(call);
        }
    }

    /// Returns the failure that the provider gives as the stop reason, if it is one.
    pub(in crate::run) fn failure_of_stop(&self) -> Option<Failure> {
        let stop_reason = self.transcript.summary().stop_reason.as_deref();
        stop_reason.and_then(Failure::of_stop)
    }

    /// Returns whether the provider has only paused, and continues when its answer is sent back: another round.
    pub(in crate::run) fn is_paused(&self) -> bool {
        let stop_reason = self.transcript.summary().stop_reason.as_deref();
        let dialect = self.setup.config().endpoint.dialect;
        self.setup.config().limits.continue_after_tools
            && stop_reason.is_some_and(|reason| dialect.pauses_with(reason))
    }

    /// Returns the turn's outcome with the answer that has just ended.
    pub(in crate::run) fn answered_outcome(&self) -> Outcome {
        let stop_reason = self.transcript.summary().stop_reason.as_deref();
        let brought = self.transcript.messages().iter();
        let refuses = |message: &Message| {
            let metadata = message.metadata();
            metadata.is_some_and(|metadata| metadata.contains_key("refusal"))
        };
        let reason = if brought.skip(self.stream_start()).any(refuses) {
            Some(Incomplete::Refusal)
        } else {
            let is_empty = || {
                !self.expects_output()
                    && !self.setup.config().retry.accept_empty
                    && self.is_answer_empty()
            };
            stop_reason
                .and_then(Incomplete::of)
                .or_else(|| is_empty().then_some(Incomplete::Empty))
        };
        match reason {
            Some(reason) => Outcome::Incomplete { reason },
            None => Outcome::Success,
        }
    }
}
