//! The mistakes that a host can make.

use super::effect_id::EffectId;
use super::progress::PartialTooLarge;
use super::question::QuestionError;
use super::state_kind::StateKind;
use crate::tool::Rejection;

/// The host's own mistake. The run is as it was before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Misuse {
    /// The state does not take this input.
    #[error("a run that is {state} does not take {input}")]
    WrongState {
        /// The state.
        state: StateKind,
        /// The input.
        input: &'static str,
    },
    /// The input answers another kind of effect.
    #[error("{input} does not answer the effect {effect}")]
    WrongEffect {
        /// The input.
        input: &'static str,
        /// The effect.
        effect: EffectId,
    },
    /// The body of a stream that was not reported as open.
    #[error("{input} before the stream {effect} was opened: say Opened first")]
    NotOpened {
        /// The input.
        input: &'static str,
        /// The effect.
        effect: EffectId,
    },
    /// Outputs of the last input wait: the host has not seen yet what it answers.
    #[error("{input} while outputs wait: take them all with poll_output first")]
    OutputsWait {
        /// The input.
        input: &'static str,
    },
    /// The answers do not fit the questions.
    #[error(transparent)]
    Resume(#[from] ResumeError),
    /// The arguments that the user put instead of the model's do not fit the tool: the call still waits for approval.
    #[error("the edited arguments do not fit: {0}")]
    EditedArguments(#[source] Rejection),
    /// The answer to a tool's question does not fit its schema: it is still asked.
    #[error("the answer does not fit the question: {0}")]
    Answer(String),
    /// The tool cannot ask this.
    #[error(transparent)]
    Question(#[from] QuestionError),
    /// There is no model of this number.
    #[error("there is no model {model}: choose one from 0 to {last}")]
    UnknownModel {
        /// The number.
        model: u32,
        /// The largest number.
        last: u32,
    },
    /// The partial result is too large to be shown.
    #[error(transparent)]
    PartialTooLarge(#[from] PartialTooLarge),
    /// An earlier call panicked half-way, so the run cannot be trusted: restore its last snapshot.
    #[error("the run broke in an earlier call: restore its last snapshot")]
    Broken,
    /// The host has disposed of the run.
    #[error("{input} after the run was disposed of: revive its snapshot to go on with the turn")]
    Disposed {
        /// The input.
        input: &'static str,
    },
}

/// The answers do not fit the questions: there must be one for each interrupt, and no other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum ResumeError {
    /// A question has no answer.
    #[error("the interrupt `{0}` has no answer: resume answers all of them at once")]
    Unanswered(String),
    /// An answer has no question.
    #[error("no interrupt `{0}` is open")]
    Unknown(String),
    /// A question has two answers.
    #[error("the interrupt `{0}` is answered twice")]
    Twice(String),
    /// A question that has lapsed has an answer.
    #[error("the interrupt `{0}` has expired: it can be cancelled, but no more be answered")]
    Expired(String),
}
