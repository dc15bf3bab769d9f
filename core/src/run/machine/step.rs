//! Inputs and timers are mapped to the states' typed methods here, and nothing is decided.

use crate::Timestamp;
use crate::run::protocol::{EffectId, Input, Misuse, SteeringRefusal, TimerKey};
use crate::run::states::active::Active;
use crate::run::states::any_run::AnyRun;
use crate::run::states::streaming::Flow;
use crate::run::states::{
    Completed, Decoding, Edge, ExecutingTools, Idle, Interrupted, Opening, Reviewing, Run, State,
    Streaming, Waiting, on,
};

/// What a state makes of an input: the machine after it, and whether the input was right.
pub(super) struct Step(pub(super) AnyRun, pub(super) Result<(), Misuse>);

impl<T> From<T> for Step
where
    AnyRun: From<T>,
{
    fn from(next: T) -> Self {
        Self(next.into(), Ok(()))
    }
}

/// How a state maps inputs to its typed methods. Nothing is decided here.
trait Node: Sized {
    fn step(self, input: Input<'_>, now: Timestamp) -> Step;
    fn fire(self, timer: TimerKey, now: Timestamp) -> Step;
}

macro_rules! dispatch {
    ($($state:ident)*) => {
        impl AnyRun {
            pub(super) fn step(self, input: Input<'_>, now: Timestamp) -> Step {
                match self {
                    $( Self::$state(run) => run.step(input, now), )*
                    Self::Broken => Step(Self::Broken, Err(Misuse::Broken)),
                }
            }

            pub(super) fn fire(self, timer: TimerKey, now: Timestamp) -> Step {
                match self {
                    $( Self::$state(run) => run.fire(timer, now), )*
                    Self::Broken => Step(Self::Broken, Err(Misuse::Broken)),
                }
            }
        }
    };
}

dispatch! { Idle Opening Waiting Streaming Reviewing Decoding ExecutingTools Interrupted Completed }

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

/// The inputs that every state but `Completed` takes.
fn step_active<S>(mut run: Run<S>, input: Input<'_>, now: Timestamp) -> Step
where
    S: Active + Edge<on::Fail, Completed>,
    AnyRun: From<Run<S>>,
{
    match input {
        Input::Cancel => run.cancel(now).into(),
        Input::Persisted { effect } => {
            run.persisted(effect, now);
            run.into()
        }
        Input::PersistFailed { effect, message } => {
            match run.persist_failed(effect, message, now) {
                Ok(run) => run.into(),
                Err(run) => run.into(),
            }
        }
        Input::CancelCall { call } => {
            run.turn_mut().tick(now);
            run.turn_mut().nothing_to_stop(call);
            run.into()
        }
        Input::Steer(message) => {
            run.steer(*message, now);
            run.into()
        }
        Input::EnteredBackground => match run.entered_background(now) {
            Ok(run) => run.into(),
            Err(run) => run.into(),
        },
        Input::EnteredForeground => {
            run.entered_foreground(now);
            run.into()
        }
        input => wrong(run, &input),
    }
}

/// The timer that every active state has.
fn fire_active<S>(run: Run<S>, timer: TimerKey, now: Timestamp) -> Step
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

impl Node for Run<Idle> {
    fn step(mut self, input: Input<'_>, now: Timestamp) -> Step {
        match input {
            Input::Start(start) => self.start(*start, now).into(),
            Input::Cancel => self.cancel(now).into(),
            Input::NetworkLost => {
                self.network_lost(now);
                self.into()
            }
            Input::NetworkAvailable => {
                self.network_available(now);
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

    fn fire(self, _timer: TimerKey, _now: Timestamp) -> Step {
        self.into()
    }
}

impl Node for Run<Opening> {
    fn step(mut self, input: Input<'_>, now: Timestamp) -> Step {
        match input {
            Input::RunCreated { run_id, .. } => {
                self.run_created(run_id, now);
                self.into()
            }
            Input::RunNotCreated { message, .. } => self.run_not_created(message, now).into(),
            Input::ContextTrimmed { keep, summary, .. } => {
                match self.context_trimmed(&keep, summary, now) {
                    Ok(run) => run.into(),
                    Err(run) => run.into(),
                }
            }
            Input::ContextNotTrimmed { message, .. } => {
                self.context_not_trimmed(&message, now).into()
            }
            Input::Authorized { authorization, .. } => match self.authorized(authorization, now) {
                Ok(run) => run.into(),
                Err(run) => run.into(),
            },
            Input::NotAuthorized { message, .. } => self.not_authorized(message, now).into(),
            Input::HookAnswered {
                effect: EffectId::Hook { hook, .. },
                answer,
            } => match self.request_reviewed(hook, answer, now) {
                Ok(run) => run.into(),
                Err(run) => run.into(),
            },
            Input::Opened { content_type, .. } => self.opened(content_type.as_deref(), now).into(),
            Input::Refused { refusal, .. } => self.refused(&refusal, now).into(),
            Input::ConnectionFailed { message, .. } => self.connection_failed(message, now).into(),
            Input::Shown(messages) => self.shown(messages, now).into(),
            Input::NetworkLost => {
                self.network_lost(now);
                self.into()
            }
            Input::NetworkAvailable => {
                self.network_available(now);
                self.into()
            }
            input => step_active(self, input, now),
        }
    }

    fn fire(self, timer: TimerKey, now: Timestamp) -> Step {
        match timer {
            TimerKey::Silence => self.silent(now).into(),
            TimerKey::Credentials => self.authorize_timed_out(now).into(),
            timer => fire_active(self, timer, now),
        }
    }
}

impl Node for Run<Waiting> {
    fn step(self, input: Input<'_>, now: Timestamp) -> Step {
        match input {
            Input::NetworkLost => match self.network_lost(now) {
                Ok(run) => run.into(),
                Err(run) => run.into(),
            },
            Input::NetworkAvailable => self.network_available(now).into(),
            Input::Shown(messages) => self.wake(now).shown(messages, now).into(),
            input => step_active(self, input, now),
        }
    }

    fn fire(self, timer: TimerKey, now: Timestamp) -> Step {
        match timer {
            TimerKey::Retry => self.wake(now).into(),
            timer => fire_active(self, timer, now),
        }
    }
}

impl Node for Run<Streaming> {
    fn step(mut self, input: Input<'_>, now: Timestamp) -> Step {
        match input {
            Input::Received { bytes, .. } => match self.receive(&bytes, now) {
                Flow::Open => self.into(),
                Flow::Over => self.end(now).into(),
            },
            Input::Ended { effect } => {
                // The host says itself that the stream is over: it need not be told to close it.
                self.turn_mut().answered(effect);
                self.end(now).into()
            }
            Input::Lost { message, .. } => self.lost(message, now).into(),
            Input::CancelCall { call } if self.conversation().call(call).is_some() => {
                self.cancel_call(call, now);
                self.into()
            }
            Input::NetworkLost => {
                self.network_lost(now);
                self.into()
            }
            Input::NetworkAvailable => self.network_available(now).into(),
            input => step_active(self, input, now),
        }
    }

    fn fire(self, timer: TimerKey, now: Timestamp) -> Step {
        match timer {
            TimerKey::Silence => self.silent(now).into(),
            TimerKey::Closing => self.end(now).into(),
            timer => fire_active(self, timer, now),
        }
    }
}

impl Node for Run<Reviewing> {
    fn step(mut self, input: Input<'_>, now: Timestamp) -> Step {
        match input {
            Input::HookAnswered {
                effect: EffectId::Hook { hook, .. },
                answer,
            } => self.reviewed(hook, answer, now).into(),
            Input::CancelCall { call } if self.turn().has_open_call(call) => {
                self.cancel_call(call, now);
                self.into()
            }
            Input::NetworkLost => {
                self.network_lost(now);
                self.into()
            }
            Input::NetworkAvailable => {
                self.network_available(now);
                self.into()
            }
            input => step_active(self, input, now),
        }
    }

    fn fire(self, timer: TimerKey, now: Timestamp) -> Step {
        fire_active(self, timer, now)
    }
}

impl Node for Run<Decoding> {
    fn step(mut self, input: Input<'_>, now: Timestamp) -> Step {
        match input {
            Input::OutputDecoded { .. } => self.decoded(now).into(),
            Input::OutputRefused { reason, .. } => self.refused(reason, now).into(),
            Input::CancelCall { call } if self.turn().has_open_call(call) => {
                self.cancel_call(call, now);
                self.into()
            }
            Input::NetworkLost => {
                self.network_lost(now);
                self.into()
            }
            Input::NetworkAvailable => {
                self.network_available(now);
                self.into()
            }
            input => step_active(self, input, now),
        }
    }

    fn fire(self, timer: TimerKey, now: Timestamp) -> Step {
        match timer {
            TimerKey::Output => self.decoding_timed_out(now).into(),
            timer => fire_active(self, timer, now),
        }
    }
}

impl Node for Run<ExecutingTools> {
    fn step(mut self, input: Input<'_>, now: Timestamp) -> Step {
        match input {
            Input::ToolFinished {
                effect: EffectId::Tool(call),
                result,
            } => self.tool_finished(call, result, now).into(),
            Input::Decided {
                effect: EffectId::Approve(call),
                decision,
            } => match self.decided(call, decision, now) {
                Ok(settled) => settled.into(),
                Err((run, rejection)) => Step(run.into(), Err(Misuse::EditedArguments(rejection))),
            },
            Input::HookAnswered {
                effect: EffectId::Hook { place, hook },
                answer,
            } => self.call_reviewed(place, hook, answer, now).into(),
            Input::ToolDeferred {
                effect: EffectId::Tool(call),
            } => {
                self.tool_deferred(call, now);
                self.into()
            }
            Input::ToolProgress {
                effect: EffectId::Tool(call),
                fraction,
                message,
            } => {
                self.tool_progress(call, fraction, message, now);
                self.into()
            }
            Input::ToolPartialResult {
                effect: EffectId::Tool(call),
                output,
            } => {
                let shown = self.tool_partial_result(call, output, now);
                Step(self.into(), shown.map_err(Into::into))
            }
            Input::ToolAsks {
                effect: EffectId::Tool(call),
                number,
                question,
            } => {
                let asked = self.tool_asks(call, number, question, now);
                Step(self.into(), asked.map_err(Into::into))
            }
            Input::UserAnswered {
                effect: EffectId::Ask { call, number },
                answer,
            } => {
                let answered = self.user_answered(call, number, answer, now);
                Step(self.into(), answered)
            }
            Input::CancelCall { call } if self.turn().has_open_call(call) => {
                self.cancel_call(call, now).into()
            }
            Input::NetworkLost => {
                self.network_lost(now);
                self.into()
            }
            Input::NetworkAvailable => {
                self.network_available(now);
                self.into()
            }
            input => step_active(self, input, now),
        }
    }

    fn fire(mut self, timer: TimerKey, now: Timestamp) -> Step {
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
    fn step(mut self, input: Input<'_>, now: Timestamp) -> Step {
        match input {
            Input::Resume(answers) => match self.resume(answers, now) {
                Ok(resumed) => resumed.into(),
                Err((run, error)) => Step(run.into(), Err(error.into())),
            },
            Input::NetworkLost => {
                self.network_lost(now);
                self.into()
            }
            Input::NetworkAvailable => {
                self.network_available(now);
                self.into()
            }
            input => step_active(self, input, now),
        }
    }

    fn fire(self, timer: TimerKey, now: Timestamp) -> Step {
        fire_active(self, timer, now)
    }
}

impl Node for Run<Completed> {
    fn step(mut self, input: Input<'_>, now: Timestamp) -> Step {
        match input {
            // To stop what is over is no mistake: the user may be faster than the screen.
            Input::Cancel => self.into(),
            Input::CancelCall { call } => {
                self.turn_mut().nothing_to_stop(call);
                self.into()
            }
            Input::Persisted { effect } => {
                self.persisted(effect, now);
                self.into()
            }
            Input::PersistFailed { effect, message } => {
                self.persist_failed(effect, &message, now);
                self.into()
            }
            // The user could not know yet that the turn is over.
            Input::Steer(message) => {
                self.turn_mut()
                    .refuse_steering(message, SteeringRefusal::TurnOver);
                self.into()
            }
            // Devices say this at any time.
            Input::EnteredBackground
            | Input::EnteredForeground
            | Input::NetworkLost
            | Input::NetworkAvailable => self.into(),
            input => wrong(self, &input),
        }
    }

    fn fire(self, _timer: TimerKey, _now: Timestamp) -> Step {
        self.into()
    }
}
