//! Inputs and timers are mapped to the states' typed methods here, and nothing is decided.

use crate::Timestamp;
use crate::run::protocol::ticket::Ticket;
use crate::run::protocol::{Input, Misuse, SteeringRefusal, TimerKey};
use crate::run::states::active::Active;
use crate::run::states::any_run::AnyRun;
use crate::run::states::streaming::Flow;
use crate::run::states::{
    Completed, Decoding, Edge, ExecutingTools, Idle, Interrupted, Opening, Reviewing, Run, State,
    Streaming, Summarizing, Waiting, on,
};

/// The result of an input: the machine after it, and whether the input was valid.
pub(super) struct Step(pub(super) AnyRun, pub(super) Result<(), Misuse>);

impl<T> From<T> for Step
where
    AnyRun: From<T>,
{
    fn from(next: T) -> Self {
        Self(next.into(), Ok(()))
    }
}

/// Maps a state's inputs to its typed methods, without any decision.
trait Node: Sized {
    /// `ticket` is for the effect that the input answers.
    fn step(self, input: Input<'_>, ticket: Option<Ticket>, now: Timestamp) -> Step;
    fn fire(self, timer: TimerKey, now: Timestamp) -> AnyRun;
}

macro_rules! dispatch {
    ($($state:ident)*) => {
        impl AnyRun {
            pub(super) fn step(
                self,
                input: Input<'_>,
                ticket: Option<Ticket>,
                now: Timestamp,
            ) -> Step {
                match self {
                    $( Self::$state(run) => run.step(input, ticket, now), )*
                }
            }

            pub(super) fn fire(self, timer: TimerKey, now: Timestamp) -> Self {
                match self {
                    $( Self::$state(run) => run.fire(timer, now), )*
                }
            }
        }
    };
}

dispatch! { Idle Opening Waiting Summarizing Streaming Reviewing Decoding ExecutingTools Interrupted Completed }

impl AnyRun {
    /// Does what is due by now.
    pub fn wake(mut self, now: Timestamp) -> Self {
        self.turn_mut().tick(now);
        while let Some(timer) = self.turn_mut().clocks_mut().take_due() {
            self = self.fire(timer, now);
            self.turn_mut().tick(now);
        }
        self
    }
}

impl<S: State> Run<S>
where
    AnyRun: From<Self>,
{
    /// Does what is due by now: what was awaited for too long is given up, and what was to wait is done. To be called at
    /// [`poll_timeout`](Self::poll_timeout).
    pub fn wake(self, now: Timestamp) -> AnyRun {
        AnyRun::from(self).wake(now)
    }
}

fn wrong<S: State>(run: Run<S>, input: &Input<'_>) -> Step
where
    AnyRun: From<Run<S>>,
{
    let misuse = Misuse::WrongState {
        state: S::KIND,
        input: input.name(),
    };
    Step(run.into(), Err(misuse))
}

/// Converts the next step: the run continues, or it is over.
fn either<S>(next: Result<Run<S>, Run<Completed>>) -> Step
where
    AnyRun: From<Run<S>>,
{
    match next {
        Ok(run) => run.into(),
        Err(run) => run.into(),
    }
}

/// The inputs that every state but `Completed` takes.
fn step_active<S>(mut run: Run<S>, input: Input<'_>, ticket: Option<Ticket>, now: Timestamp) -> Step
where
    S: Active + Edge<on::Fail, Completed>,
    AnyRun: From<Run<S>>,
{
    match (input, ticket) {
        (Input::Cancel, _) => run.cancel(now).into(),
        (Input::Persisted { .. }, Some(Ticket::Persist(ticket))) => {
            run.persisted(ticket, now);
            run.into()
        }
        (Input::PersistFailed { message, .. }, Some(Ticket::Persist(ticket))) => {
            either(run.persist_failed(ticket, message, now))
        }
        (Input::CancelCall { call }, _) => {
            run.turn_mut().tick(now);
            run.turn_mut().nothing_to_stop(call);
            run.into()
        }
        (Input::Steer(message), _) => {
            run.steer(*message, now);
            run.into()
        }
        (Input::EnteredBackground, _) => either(run.entered_background(now)),
        (Input::ModelResting { model, until }, _) => {
            run.model_rests(model, until, now);
            run.into()
        }
        (Input::EnteredForeground, _) => {
            run.entered_foreground(now);
            run.into()
        }
        (input, _) => wrong(run, &input),
    }
}

/// The timers that every active state has.
fn fire_active<S>(run: Run<S>, timer: TimerKey, now: Timestamp) -> AnyRun
where
    S: Active + Edge<on::Fail, Completed>,
    AnyRun: From<Run<S>>,
{
    match timer {
        TimerKey::Turn => run.turn_timed_out(now).into(),
        TimerKey::Network => run.network_timed_out(now).into(),
        TimerKey::Hook(place) => run.hook_timed_out(place, now).into(),
        TimerKey::Silence
        | TimerKey::Retry
        | TimerKey::Tool(_)
        | TimerKey::Approval(_)
        | TimerKey::Question(..)
        | TimerKey::Closing
        | TimerKey::Output
        | TimerKey::Credentials => run.into(),
    }
}

/// Notes that the network was lost or is back; the run stays in its state.
macro_rules! note_network {
    ($run:ident, $method:ident, $now:ident) => {{
        $run.$method($now);
        $run.into()
    }};
}

impl Node for Run<Idle> {
    fn step(mut self, input: Input<'_>, _ticket: Option<Ticket>, now: Timestamp) -> Step {
        match input {
            Input::Start(start) => self.start(*start, now).into(),
            Input::Cancel => self.cancel(now).into(),
            Input::NetworkLost => note_network!(self, network_lost, now),
            Input::NetworkAvailable => note_network!(self, network_available, now),
            Input::ModelResting { model, until } => {
                self.model_rests(model, until, now);
                self.into()
            }
            Input::EnteredBackground => {
                self.entered_background(now);
                self.into()
            }
            Input::EnteredForeground => {
                self.entered_foreground(now);
                self.into()
            }
            input => wrong(self, &input),
        }
    }

    fn fire(self, _timer: TimerKey, _now: Timestamp) -> AnyRun {
        self.into()
    }
}

impl Node for Run<Opening> {
    fn step(mut self, input: Input<'_>, ticket: Option<Ticket>, now: Timestamp) -> Step {
        match (input, ticket) {
            (Input::RunCreated { run_id, .. }, Some(Ticket::CreateRun(ticket))) => {
                self.run_created(ticket, run_id, now);
                self.into()
            }
            (Input::RunNotCreated { message, .. }, Some(Ticket::CreateRun(ticket))) => {
                either(self.run_not_created(ticket, message, now))
            }
            (Input::ContextTrimmed { keep, summary, .. }, Some(Ticket::Trim(ticket))) => {
                self.context_trimmed(ticket, &keep, summary, now).into()
            }
            (Input::ContextNotTrimmed { message, .. }, Some(Ticket::Trim(ticket))) => {
                self.context_not_trimmed(ticket, &message, now).into()
            }
            (Input::ModelChosen { model, .. }, Some(Ticket::ChooseModel(ticket))) => {
                match self.model_chosen(ticket, model, now) {
                    Ok(chosen) => chosen.into(),
                    Err((run, _, misuse)) => Step(run.into(), Err(misuse)),
                }
            }
            (Input::ModelNotChosen { message, .. }, Some(Ticket::ChooseModel(ticket))) => {
                self.model_not_chosen(ticket, &message, now).into()
            }
            (Input::Authorized { authorization, .. }, Some(Ticket::Authorize(ticket))) => {
                either(self.authorized(ticket, authorization, now))
            }
            (Input::NotAuthorized { message, .. }, Some(Ticket::Authorize(ticket))) => {
                self.not_authorized(ticket, message, now).into()
            }
            (Input::HookAnswered { answer, .. }, Some(Ticket::RequestHook(ticket))) => {
                either(self.request_reviewed(ticket, answer, now))
            }
            (Input::Opened { content_type, .. }, Some(Ticket::Open(ticket))) => {
                self.opened(ticket, content_type.as_deref(), now).into()
            }
            (Input::Refused { refusal, .. }, Some(Ticket::Open(ticket))) => {
                self.refused(ticket, &refusal, now).into()
            }
            (Input::ConnectionFailed { message, .. }, Some(Ticket::Open(ticket))) => {
                self.connection_failed(ticket, message, now).into()
            }
            (Input::Shown(messages), _) => self.shown(messages, now).into(),
            (Input::NetworkLost, _) => note_network!(self, network_lost, now),
            (Input::NetworkAvailable, _) => note_network!(self, network_available, now),
            (input, ticket) => step_active(self, input, ticket, now),
        }
    }

    fn fire(self, timer: TimerKey, now: Timestamp) -> AnyRun {
        match timer {
            TimerKey::Silence => self.silent(now).into(),
            TimerKey::Credentials => self.authorize_timed_out(now).into(),
            timer => fire_active(self, timer, now),
        }
    }
}

impl Node for Run<Waiting> {
    fn step(self, input: Input<'_>, ticket: Option<Ticket>, now: Timestamp) -> Step {
        match input {
            Input::NetworkLost => either(self.network_lost(now)),
            Input::NetworkAvailable => self.network_available(now).into(),
            Input::Shown(messages) => self.shown(messages, now).into(),
            input => step_active(self, input, ticket, now),
        }
    }

    fn fire(self, timer: TimerKey, now: Timestamp) -> AnyRun {
        match timer {
            TimerKey::Retry => self.try_now(now).into(),
            timer => fire_active(self, timer, now),
        }
    }
}

impl Node for Run<Summarizing> {
    fn step(mut self, input: Input<'_>, ticket: Option<Ticket>, now: Timestamp) -> Step {
        match input {
            Input::Received { bytes, .. } => match self.receive(&bytes, now) {
                Flow::Open => self.into(),
                Flow::Over => self.end(now).into(),
            },
            Input::Ended { effect } => {
                // The host reported that the stream is over, so it need not be asked to close the stream.
                self.turn_mut().answered(effect);
                self.end(now).into()
            }
            Input::Lost { message, .. } => self.lost(message, now).into(),
            Input::NetworkLost => note_network!(self, network_lost, now),
            Input::NetworkAvailable => self.network_available(now).into(),
            input => step_active(self, input, ticket, now),
        }
    }

    fn fire(self, timer: TimerKey, now: Timestamp) -> AnyRun {
        match timer {
            TimerKey::Silence => self.silent(now).into(),
            TimerKey::Closing => self.end(now).into(),
            timer => fire_active(self, timer, now),
        }
    }
}

impl Node for Run<Streaming> {
    fn step(mut self, input: Input<'_>, ticket: Option<Ticket>, now: Timestamp) -> Step {
        match input {
            Input::Received { bytes, .. } => match self.receive(&bytes, now) {
                Flow::Open => self.into(),
                Flow::Over => self.end(now).into(),
            },
            Input::Ended { effect } => {
                // The host reported that the stream is over, so it need not be asked to close the stream.
                self.turn_mut().answered(effect);
                self.end(now).into()
            }
            Input::Lost { message, .. } => self.lost(message, now).into(),
            Input::CancelCall { call } if self.transcript().call(call).is_some() => {
                self.cancel_call(call, now);
                self.into()
            }
            Input::NetworkLost => note_network!(self, network_lost, now),
            Input::NetworkAvailable => self.network_available(now).into(),
            input => step_active(self, input, ticket, now),
        }
    }

    fn fire(self, timer: TimerKey, now: Timestamp) -> AnyRun {
        match timer {
            TimerKey::Silence => self.silent(now).into(),
            TimerKey::Closing => self.end(now).into(),
            timer => fire_active(self, timer, now),
        }
    }
}

impl Node for Run<Reviewing> {
    fn step(mut self, input: Input<'_>, ticket: Option<Ticket>, now: Timestamp) -> Step {
        match (input, ticket) {
            (Input::HookAnswered { answer, .. }, Some(Ticket::AnswerHook(ticket))) => {
                self.reviewed(ticket, answer, now).into()
            }
            (Input::CancelCall { call }, _) if self.turn().has_open_call(call) => {
                self.cancel_call(call, now);
                self.into()
            }
            (Input::NetworkLost, _) => note_network!(self, network_lost, now),
            (Input::NetworkAvailable, _) => note_network!(self, network_available, now),
            (input, ticket) => step_active(self, input, ticket, now),
        }
    }

    fn fire(self, timer: TimerKey, now: Timestamp) -> AnyRun {
        fire_active(self, timer, now)
    }
}

impl Node for Run<Decoding> {
    fn step(mut self, input: Input<'_>, ticket: Option<Ticket>, now: Timestamp) -> Step {
        match (input, ticket) {
            (Input::OutputDecoded { .. }, Some(Ticket::Decode(ticket))) => {
                self.decoded(ticket, now).into()
            }
            (Input::OutputRefused { reason, .. }, Some(Ticket::Decode(ticket))) => {
                self.refused(ticket, reason, now).into()
            }
            (Input::CancelCall { call }, _) if self.turn().has_open_call(call) => {
                self.cancel_call(call, now);
                self.into()
            }
            (Input::NetworkLost, _) => note_network!(self, network_lost, now),
            (Input::NetworkAvailable, _) => note_network!(self, network_available, now),
            (input, ticket) => step_active(self, input, ticket, now),
        }
    }

    fn fire(self, timer: TimerKey, now: Timestamp) -> AnyRun {
        match timer {
            TimerKey::Output => self.decoding_timed_out(now).into(),
            timer => fire_active(self, timer, now),
        }
    }
}

impl Node for Run<ExecutingTools> {
    fn step(mut self, input: Input<'_>, ticket: Option<Ticket>, now: Timestamp) -> Step {
        match (input, ticket) {
            (Input::ToolFinished { result, .. }, Some(Ticket::Tool(ticket))) => {
                self.tool_finished(ticket, result, now).into()
            }
            (Input::Decided { decision, .. }, Some(Ticket::Approve(ticket))) => {
                match self.decided(ticket, decision, now) {
                    Ok(settled) => settled.into(),
                    Err((run, _, rejection)) => {
                        Step(run.into(), Err(Misuse::EditedArguments(rejection)))
                    }
                }
            }
            (Input::HookAnswered { answer, .. }, Some(Ticket::CallHook(ticket))) => {
                self.call_reviewed(ticket, answer, now).into()
            }
            (Input::HookAnswered { answer, .. }, Some(Ticket::ResultHook(ticket))) => {
                self.result_reviewed(ticket, answer, now).into()
            }
            (Input::ToolDeferred { .. }, Some(Ticket::Tool(ticket))) => {
                self.tool_deferred(&ticket, now);
                self.into()
            }
            (
                Input::ToolProgress {
                    fraction, message, ..
                },
                Some(Ticket::Tool(ticket)),
            ) => {
                self.tool_progress(&ticket, fraction, message, now);
                self.into()
            }
            (Input::ToolPartialResult { output, .. }, Some(Ticket::Tool(ticket))) => {
                let shown = self.tool_partial_result(&ticket, output, now);
                Step(self.into(), shown.map_err(Into::into))
            }
            (
                Input::ToolAsks {
                    number, question, ..
                },
                Some(Ticket::Tool(ticket)),
            ) => {
                let asked = self.tool_asks(&ticket, number, question, now);
                Step(self.into(), asked.map_err(Into::into))
            }
            (Input::UserAnswered { answer, .. }, Some(Ticket::Ask(ticket))) => {
                let answered = self.user_answered(ticket, answer, now);
                Step(self.into(), answered.map_err(|(_, misuse)| misuse))
            }
            (Input::CancelCall { call }, _) if self.turn().has_open_call(call) => {
                self.cancel_call(call, now).into()
            }
            (Input::NetworkLost, _) => note_network!(self, network_lost, now),
            (Input::NetworkAvailable, _) => note_network!(self, network_available, now),
            (input, ticket) => step_active(self, input, ticket, now),
        }
    }

    fn fire(mut self, timer: TimerKey, now: Timestamp) -> AnyRun {
        match timer {
            TimerKey::Tool(call) => self.tool_timed_out(call, now).into(),
            TimerKey::Approval(call) => self.approval_timed_out(call, now).into(),
            TimerKey::Question(call, number) => {
                self.question_timed_out(call, number, now);
                self.into()
            }
            timer => fire_active(self, timer, now),
        }
    }
}

impl Node for Run<Interrupted> {
    fn step(mut self, input: Input<'_>, ticket: Option<Ticket>, now: Timestamp) -> Step {
        match input {
            Input::Resume(answers) => match self.resume(answers, now) {
                Ok(resumed) => resumed.into(),
                Err((run, error)) => Step(run.into(), Err(error.into())),
            },
            Input::NetworkLost => note_network!(self, network_lost, now),
            Input::NetworkAvailable => note_network!(self, network_available, now),
            input => step_active(self, input, ticket, now),
        }
    }

    fn fire(self, timer: TimerKey, now: Timestamp) -> AnyRun {
        fire_active(self, timer, now)
    }
}

impl Node for Run<Completed> {
    fn step(mut self, input: Input<'_>, ticket: Option<Ticket>, now: Timestamp) -> Step {
        match (input, ticket) {
            // Stopping a turn that is over is no mistake: the user may be faster than the screen.
            (Input::Cancel, _) => self.into(),
            (Input::CancelCall { call }, _) => {
                self.turn_mut().nothing_to_stop(call);
                self.into()
            }
            (Input::Persisted { .. }, Some(Ticket::Persist(ticket))) => {
                self.persisted(ticket, now);
                self.into()
            }
            (Input::PersistFailed { message, .. }, Some(Ticket::Persist(ticket))) => {
                self.persist_failed(ticket, &message, now);
                self.into()
            }
            // The user could not know yet that the turn is over.
            (Input::Steer(message), _) => {
                self.turn_mut()
                    .refuse_steering(message, SteeringRefusal::TurnOver);
                self.into()
            }
            // Devices say this at any time.
            (
                Input::EnteredBackground
                | Input::EnteredForeground
                | Input::NetworkLost
                | Input::NetworkAvailable,
                _,
            ) => self.into(),
            (input, _) => wrong(self, &input),
        }
    }

    fn fire(self, _timer: TimerKey, _now: Timestamp) -> AnyRun {
        self.into()
    }
}
