use super::active::{Active, plan_retry};
use super::completed::Completed;
use super::core::Core;
use super::edges::on;
use super::effect::EffectId;
use super::executing_tools::ExecutingTools;
use super::fault::fault;
use super::interrupted::Interrupted;
use super::opening::Opening;
use super::outcome::{Deadline, Failure, Incomplete, Outcome};
use super::output::RunEvent;
use super::timer::TimerKey;
use super::tools::Next;
use super::typed::{Run, next};
use super::waiting::Waiting;
use crate::dialect::{ApiError, Dialect, HopIds, Resumption};
use crate::event::{Message, Phase, RunOutcome};
use crate::pipeline::{Pipeline, StreamEnd};
use crate::{CallKey, Timestamp};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The answer is coming.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "model-check", derive(Clone))]
pub struct Streaming {
    attempt: u32,
    /// The answer's media type; empty if it has none.
    media_type: String,
    body: Body,
    /// The body as far as nothing was decoded of it: what it is can be said if nothing ever is.
    beginning: Vec<u8>,
    /// Why the stream cannot be read any further.
    fault: Option<Failure>,
}

#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "model-check", derive(Clone))]
enum Body {
    Stream(Box<Pipeline>),
    /// The answer's media type says that it is no stream.
    Unexpected,
}

/// As much of an unexpected body as is kept, in bytes.
const BEGINNING: usize = 64 << 10;

/// Whether a stream goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Flow {
    /// It does.
    Open,
    /// It cannot be read any further, or has said all that counts: call [`Run::end`].
    Over,
}

next! {
    /// What the end of a stream leads to.
    Ended {
        /// The model asked for tools.
        ExecutingTools,
        /// Every call was answered without running a tool, the person has typed meanwhile, or the provider has paused:
        /// the next hop is on its way.
        Opening,
        /// The agent asks the person.
        Interrupted,
        /// The turn is over.
        Completed,
        /// The body ended before the answer did, and the backend can resume it: it is opened again in a while.
        Waiting,
    }
}

next! {
    /// What a broken connection leads to.
    Lost {
        /// Nothing was seen of the stream, or the backend can resume it: it is opened again in a while.
        Waiting,
        /// All that counts had been said: the model asked for tools.
        ExecutingTools,
        /// The same, and every call was answered without running a tool, or the person has typed meanwhile.
        Opening,
        /// The same, and the agent asks the person.
        Interrupted,
        /// The turn is over.
        Completed,
    }
}

impl From<Ended> for Lost {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::ExecutingTools(run) => run.into(),
            Ended::Opening(run) => run.into(),
            Ended::Interrupted(run) => run.into(),
            Ended::Completed(run) => run.into(),
            Ended::Waiting(run) => run.into(),
        }
    }
}

impl Streaming {
    pub(super) fn new(core: &mut Core, attempt: u32, content_type: Option<&str>) -> Self {
        let kept = core.resumption.take();
        let media_type = content_type
            .unwrap_or_default()
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        let body = if matches!(media_type.as_str(), "text/html" | "application/json") {
            Body::Unexpected
        } else if let Some(mut pipeline) = kept {
            let hop = core.hop;
            core.event(RunEvent::StreamResumed { hop, attempt });
            let limits = core.config.limits.frames;
            let dialect = core.config.endpoint.dialect;
            pipeline.reopen(dialect, &media_type, core.stream_ids(), limits);
            Body::Stream(pipeline)
        } else {
            let config = &core.config;
            let ids = core.stream_ids();
            let limits = config.limits.frames;
            let pipeline = Pipeline::for_answer(&config.endpoint, &media_type, ids, limits)
                .limited_to(config.limits.answer);
            Body::Stream(Box::new(pipeline))
        };
        Self {
            attempt,
            media_type,
            body,
            beginning: Vec::new(),
            fault: None,
        }
    }
}

impl Active for Streaming {}

impl Run<Streaming> {
    /// The effect under which the stream's inputs come.
    pub(super) fn open_effect(&self) -> EffectId {
        EffectId::Open {
            hop: self.core.hop,
            attempt: self.state.attempt,
        }
    }

    /// Takes bytes of the body, of any number and cut anywhere.
    pub fn receive(&mut self, bytes: &[u8], now: Timestamp) -> Flow {
        let (core, state) = (&mut *self.core, &mut self.state);
        core.tick(now);
        core.restart_silence();
        if state.fault.is_some() {
            return Flow::Over;
        }
        match &mut state.body {
            Body::Unexpected => {
                if keep(&mut state.beginning, bytes) {
                    Flow::Open
                } else {
                    Flow::Over
                }
            }
            Body::Stream(pipeline) => {
                let (frames, was_over) = (pipeline.frames(), pipeline.is_over());
                let received = pipeline.receive(bytes, &mut core.conversation, &mut core.outbox);
                let phase = pipeline.phase();
                if !pipeline.has_begun() {
                    keep(&mut state.beginning, bytes);
                } else if !state.beginning.is_empty() {
                    state.beginning = Vec::new();
                }
                core.note_stream();
                if let Err(error) = received {
                    state.fault = Some(Failure::of_stream(&error));
                    return Flow::Over;
                }
                if phase == Phase::Errored {
                    return Flow::Over;
                }
                if !pipeline.is_done() {
                    core.timers.stop(TimerKey::Closing);
                } else if !was_over && pipeline.frames() > frames {
                    core.restart_closing();
                }
                Flow::Open
            }
        }
    }

    /// The person stops one call that the model has asked for: it will not be run. The answer goes on.
    pub fn cancel_call(&mut self, call: CallKey, now: Timestamp) {
        let core = &mut *self.core;
        core.tick(now);
        if core.conversation.call(call).is_some() && !core.stopped_calls.contains(&call) {
            core.stopped_calls.push(call);
        }
    }

    /// The body has ended: as it should, because [`receive`](Self::receive) said that it is over, or because the answer
    /// is, and the stream was left open long enough ([`TimerKey::Closing`]).
    pub fn end(mut self, now: Timestamp) -> Ended {
        self.core.tick(now);
        self.core.withdraw_stream(self.open_effect());
        if let Some(failure) = self.state.fault.take() {
            return self.fail(failure).into();
        }
        if let Some(waiting) = self.plan_resumption() {
            return self.goto(on::Retry, waiting).into();
        }
        let core = &mut *self.core;
        let ended = match &mut self.state.body {
            Body::Stream(pipeline) => pipeline.end(&mut core.conversation, &mut core.outbox),
            Body::Unexpected => {
                let failure = self.state.unexpected();
                return self.fail(failure).into();
            }
        };
        match ended {
            Err(error) => self.fail(Failure::of_stream(&error)).into(),
            Ok(StreamEnd::Truncated) if self.state.is_no_stream() => {
                let failure = self.state.unexpected();
                self.fail(failure).into()
            }
            Ok(StreamEnd::Truncated) if fault!(TruncatedIsFinished) => self.finished(),
            Ok(StreamEnd::Truncated) => self.finish(Outcome::Truncated).into(),
            Ok(StreamEnd::Errored) => {
                let error = self.core.conversation.summary().failure.clone();
                let error = error.unwrap_or_else(|| crate::conversation::RunFailure {
                    message: "the stream reported a failure".to_owned(),
                    code: None,
                });
                self.fail(Failure::reported(error)).into()
            }
            Ok(StreamEnd::Finished) => self.finished(),
        }
    }

    /// The connection broke within the body.
    pub fn lost(mut self, message: String, now: Timestamp) -> Lost {
        self.core.tick(now);
        self.core.answered(self.open_effect());
        self.broken(Failure::Connection { message })
    }

    /// The host died while the answer came. What was shown of one that cannot be resumed stays, marked as cut, and it is
    /// asked for anew.
    pub(super) fn host_died(self, now: Timestamp) -> Lost {
        let (has_begun, is_done) = self.state.progress();
        if !has_begun || is_done || self.can_resume() {
            let message = "the host stopped while the answer came".to_owned();
            return self.lost(message, now);
        }
        self.cut(now)
    }

    fn cut(mut self, now: Timestamp) -> Lost {
        self.core.tick(now);
        // This host has nothing to close.
        self.core.answered(self.open_effect());
        self.core.timers.stop(TimerKey::Silence);
        self.core.cut_answer(Vec::new());
        self.core.begin_hop_after_cut();
        self.core.follows_cut = true;
        self.goto(on::Continue, Opening::new(0)).opening_or_over()
    }

    /// The model has been silent for too long ([`TimerKey::Silence`]).
    pub fn silent(mut self, now: Timestamp) -> Lost {
        self.core.tick(now);
        self.broken(Failure::TimedOut {
            deadline: Deadline::Silence,
        })
    }

    fn broken(mut self, failure: Failure) -> Lost {
        let (has_begun, is_done) = self.state.progress();
        if is_done {
            // All that counts was said before the connection broke.
            let now = self.core.now();
            return self.end(now).into();
        }
        self.core.withdraw_stream(self.open_effect());
        if has_begun && !self.keep_for_resumption() {
            return self.fail(failure).into();
        }
        let wait = self.wanted_wait();
        match plan_retry(&mut self.core, self.state.attempt, failure, wait) {
            Ok(waiting) => self.goto(on::Retry, waiting).into(),
            Err(failure) => self.fail(failure).into(),
        }
    }

    /// Whether the stream can be opened again without a gap or a repetition. If it has begun, it is kept for that.
    pub(super) fn can_open_again(&mut self) -> bool {
        let (has_begun, is_done) = self.state.progress();
        !is_done && (!has_begun || self.keep_for_resumption())
    }

    fn can_resume(&self) -> bool {
        let Body::Stream(pipeline) = &self.state.body else {
            return false;
        };
        match self.core.config.endpoint.quirks.resumption {
            _ if self.core.is_of_another_dialect => false,
            Resumption::Never => false,
            Resumption::LastEventId => pipeline.last_event_id().is_some(),
            Resumption::Replay | Resumption::Snapshot => true,
        }
    }

    /// If the backend can resume the stream, what reads it is kept until it is open again.
    fn keep_for_resumption(&mut self) -> bool {
        if !self.can_resume() {
            return false;
        }
        if let Body::Stream(pipeline) = &self.state.body
            && pipeline.has_gone_on()
        {
            // The tries are counted for each place at which the stream breaks off.
            self.core.device.uncounted = self.state.attempt;
        }
        if let Body::Stream(mut pipeline) =
            std::mem::replace(&mut self.state.body, Body::Unexpected)
        {
            pipeline.reconnect();
            self.core.resumption = Some(pipeline);
        }
        true
    }

    /// The wait that the stream itself asks for before it is opened again.
    fn wanted_wait(&self) -> Option<Duration> {
        let longest = self.core.config.retry.max_retry_after;
        let wait = self.core.resumption.as_deref()?.wanted_wait()?;
        Some(wait.min(longest))
    }

    /// A body that ended as it should, though the answer in it did not, is resumed too where the backend can.
    fn plan_resumption(&mut self) -> Option<Waiting> {
        let broke_off = match &self.state.body {
            Body::Stream(pipeline) => {
                pipeline.phase() == Phase::Active
                    && !pipeline.is_done()
                    && pipeline.is_between_frames()
            }
            Body::Unexpected => false,
        };
        if !broke_off || !self.keep_for_resumption() {
            return None;
        }
        let message = "the body ended before the answer did".to_owned();
        let failure = Failure::Connection { message };
        let wait = self.wanted_wait();
        let plan = plan_retry(&mut self.core, self.state.attempt, failure, wait);
        if plan.is_err()
            && let Some(pipeline) = self.core.resumption.take()
        {
            self.state.body = Body::Stream(pipeline);
        }
        plan.ok()
    }

    fn finished(mut self) -> Ended {
        match self.core.conversation.summary().outcome.clone() {
            Some(RunOutcome::Interrupt { interrupts }) => {
                let core = &mut self.core;
                core.leave_stream();
                core.pause_turn_clock();
                core.event(RunEvent::Interrupted {
                    interrupts: interrupts.clone(),
                });
                return self
                    .goto(on::Interrupt, Interrupted::new(interrupts))
                    .into();
            }
            Some(RunOutcome::Cancelled) => return self.finish(Outcome::Cancelled).into(),
            _ => {}
        }
        self.core.leave_foreign_calls();
        if !self.core.has_open_calls() {
            let stop_reason = self.core.conversation.summary().stop_reason.as_deref();
            if let Some(failure) = stop_reason.and_then(Failure::of_stop) {
                return self.fail(failure).into();
            }
            if self.core.go_on_steered() {
                return self.goto(on::Continue, Opening::new(0)).opening_or_over();
            }
            if !self.core.is_paused() {
                let outcome = self.core.answered_outcome();
                return self.finish(outcome).into();
            }
        }
        self.core.leave_stream();
        match self.core.begin_round() {
            Next::Execute => self.goto(on::Call, ExecutingTools {}).into(),
            Next::Open => self.goto(on::Continue, Opening::new(0)).opening_or_over(),
            Next::Over(outcome) => {
                self.core.close(&outcome);
                self.goto(on::Finish, Completed::new(outcome)).into()
            }
        }
    }

    fn finish(mut self, outcome: Outcome) -> Run<Completed> {
        self.core.leave_stream();
        self.core.close(&outcome);
        self.goto(on::Finish, Completed::new(outcome))
    }
}

impl Core {
    /// The ids that the hop's stream is read with.
    fn stream_ids(&self) -> HopIds {
        HopIds {
            provider: self.config.endpoint.provider.clone(),
            ..self.ids.clone()
        }
    }

    /// Whether the provider has only paused, in its own tools or behind a compaction, and goes on when it is sent its answer
    /// back: another round.
    fn is_paused(&self) -> bool {
        let stop_reason = self.conversation.summary().stop_reason.as_deref();
        self.config.endpoint.dialect == Dialect::Anthropic
            && self.config.limits.continue_after_tools
            && matches!(stop_reason, Some("pause_turn" | "compaction"))
    }

    /// How the turn ends with the answer that has just come.
    fn answered_outcome(&self) -> Outcome {
        let stop_reason = self.conversation.summary().stop_reason.as_deref();
        let brought = self.conversation.messages().iter();
        let refuses = |message: &Message| {
            let metadata = message.metadata();
            metadata.is_some_and(|metadata| metadata.contains_key("refusal"))
        };
        let reason = if brought.skip(self.stream_start()).any(refuses) {
            Some(Incomplete::Refusal)
        } else {
            stop_reason.and_then(Incomplete::of)
        };
        match reason {
            Some(reason) => Outcome::Incomplete { reason },
            None => Outcome::Success,
        }
    }

    /// The stream is over for the machine; the host closes it if it is still open.
    pub(super) fn withdraw_stream(&mut self, stream: EffectId) {
        self.withdraw(stream);
        self.timers.stop(TimerKey::Silence);
        self.timers.stop(TimerKey::Closing);
    }
}

impl Streaming {
    /// Whether anything was seen of the stream, and whether all that counts was.
    fn progress(&self) -> (bool, bool) {
        let (has_begun, is_over) = match &self.body {
            Body::Stream(pipeline) => (
                pipeline.has_begun(),
                pipeline.phase() != Phase::Active || pipeline.is_done(),
            ),
            Body::Unexpected => (true, true),
        };
        (has_begun, (has_begun && is_over) || self.fault.is_some())
    }

    /// Whether the body, of which nothing could be decoded, looks like a page or a JSON text: some servers send those
    /// under a stream's media type, or under none.
    fn is_no_stream(&self) -> bool {
        let start = self.beginning.trim_ascii_start().first();
        matches!(start, Some(b'<' | b'{' | b'['))
    }

    /// The failure that an answer that is no stream stands for.
    fn unexpected(&self) -> Failure {
        let body = crate::json::value_of(&self.beginning);
        if body.is_ok_and(|body| body.get("error").is_some()) {
            return Failure::Api {
                error: ApiError::from_body(200, &self.beginning),
            };
        }
        Failure::UnexpectedBody {
            content_type: self.media_type.clone(),
            excerpt: crate::dialect::excerpt(&self.beginning),
        }
    }
}

/// Keeps the beginning of a body. Whether there was room for more.
fn keep(beginning: &mut Vec<u8>, bytes: &[u8]) -> bool {
    let room = BEGINNING.saturating_sub(beginning.len());
    beginning.extend_from_slice(&bytes[..bytes.len().min(room)]);
    room > 0
}
