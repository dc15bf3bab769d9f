use crate::effect::CallKey;
use crate::hook::HookMoment;
use stepwell_core::run;

/// The purpose of a run's timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum TimerKey {
    /// The model has been silent for too long.
    Silence,
    /// A failed request should be retried.
    Retry,
    /// A tool has taken too long.
    Tool {
        /// The call.
        call: CallKey,
    },
    /// The turn has taken too long.
    Turn,
    /// The user has taken too long to allow a call.
    Approval {
        /// The call.
        call: CallKey,
    },
    /// The network has been away for too long.
    Network,
    /// The answer is over, and its stream was left open for the allowed time.
    Closing,
    /// The app has taken too long to decode the typed answer.
    Output,
    /// The app has taken too long to supply the credentials of a request.
    Credentials,
    /// The user has taken too long to answer a tool's question.
    Question {
        /// The call that asks.
        call: CallKey,
        /// The question's number among those of the call, from 0.
        number: u32,
    },
    /// A hook has taken too long.
    Hook {
        /// The subject of the hook.
        moment: HookMoment,
        /// The call, if the subject is one.
        call: Option<CallKey>,
    },
}

impl From<run::TimerKey> for TimerKey {
    fn from(key: run::TimerKey) -> Self {
        match key {
            run::TimerKey::Silence => Self::Silence,
            run::TimerKey::Retry => Self::Retry,
            run::TimerKey::Tool(call) => Self::Tool { call: call.into() },
            run::TimerKey::Turn => Self::Turn,
            run::TimerKey::Approval(call) => Self::Approval { call: call.into() },
            run::TimerKey::Network => Self::Network,
            run::TimerKey::Closing => Self::Closing,
            run::TimerKey::Output => Self::Output,
            run::TimerKey::Credentials => Self::Credentials,
            run::TimerKey::Question(call, number) => Self::Question {
                call: call.into(),
                number,
            },
            run::TimerKey::Hook(place) => Self::Hook {
                moment: place.moment().into(),
                call: match place {
                    run::HookPlace::Call(call) | run::HookPlace::Result(call) => Some(call.into()),
                    run::HookPlace::Request { .. } | run::HookPlace::Answer { .. } => None,
                },
            },
        }
    }
}
