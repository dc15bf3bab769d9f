use super::block::{Block, TurnStatus};
use super::call::ToolInvocation;
use super::context::ContextOverflow;
use super::effect_id::EffectId;
use super::hook::HookSubject;
use super::outcome::Outcome;
use super::question::{Question, UserAnswer};
use crate::dialect::HttpRequest;
use crate::{RunId, ThreadId};
use serde::Serialize;
use serde_json::Value;

/// Something that the host must do.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Effect {
    /// Create a run at the backend, then answer with
    /// [`RunCreated`](crate::run::Input::RunCreated) or [`RunNotCreated`](crate::run::Input::RunNotCreated).
    CreateRun {
        /// The conversation.
        thread_id: ThreadId,
        /// The run that the new one continues; a thread's first has none.
        parent_run_id: Option<RunId>,
    },
    /// Send the request; answer with [`Opened`](crate::run::Input::Opened) and then the body's bytes and its end, or with
    /// [`Refused`](crate::run::Input::Refused) or [`ConnectionFailed`](crate::run::Input::ConnectionFailed).
    OpenStream {
        /// The request.
        request: HttpRequest,
    },
    /// Close the stream of this id, if it is open. Needs no answer.
    CloseStream,
    /// Ask the user; answer with [`Decided`](crate::run::Input::Decided).
    AskApproval {
        /// The call.
        invocation: Box<ToolInvocation>,
    },
    /// Run the tool; answer with [`ToolFinished`](crate::run::Input::ToolFinished), at once or after a
    /// [`ToolDeferred`](crate::run::Input::ToolDeferred).
    RunTool {
        /// The call.
        invocation: Box<ToolInvocation>,
    },
    /// Ask the user what a running tool wants to know; answer with [`UserAnswered`](crate::run::Input::UserAnswered).
    AskUser {
        /// The call that asks.
        invocation: Box<ToolInvocation>,
        /// What it asks.
        question: Question,
    },
    /// Give the tool the answer to the question that it asked under this id. Needs no answer.
    AnswerTool {
        /// What the user said.
        answer: UserAnswer,
    },
    /// Stop the tool, or stop asking (the user, a hook, or for credentials), under this id. Needs no answer; a late one is dropped.
    CancelTool,
    /// Store the blocks and the checkpoint in one transaction; answer with [`Persisted`](crate::run::Input::Persisted) or
    /// [`PersistFailed`](crate::run::Input::PersistFailed).
    Persist {
        /// The turn: the run id of its first hop.
        turn: RunId,
        /// Where the turn stands with these blocks.
        status: TurnStatus,
        /// How the turn ended, with its last write. Not part of the effect's serde form:
        /// [`Completed`](crate::run::RunEvent::Completed) says it there.
        #[serde(skip_serializing)]
        outcome: Option<Outcome>,
        /// The blocks, in sequence without a gap.
        blocks: Vec<Block>,
        /// What the machine knows beside them, to be stored in place of the checkpoint before: with the turn's blocks and
        /// the history before it the run comes back by
        /// [`revive_from`](crate::run::RunMachine::revive_from). Not part of the effect's serde form: its own form may change.
        #[serde(skip_serializing)]
        checkpoint: String,
    },
    /// Say which messages the next request is to carry, since all do not fit the model's context; answer with
    /// [`ContextTrimmed`](crate::run::Input::ContextTrimmed) or [`ContextNotTrimmed`](crate::run::Input::ContextNotTrimmed). Only
    /// with [`ContextPolicy::Trim`](crate::run::ContextPolicy::Trim).
    TrimContext {
        /// What does not fit.
        overflow: ContextOverflow,
    },
    /// Decode the typed answer, which fits its schema, into the app's own type; answer with
    /// [`OutputDecoded`](crate::run::Input::OutputDecoded) or [`OutputRefused`](crate::run::Input::OutputRefused). Only with
    /// [`OutputType::decoded_by_host`](crate::tool::OutputType::decoded_by_host). It may be asked again after a restore.
    DecodeOutput {
        /// The answer.
        value: Value,
    },
    /// Give the key, or the headers, that the next request is sent with; answer with
    /// [`Authorized`](crate::run::Input::Authorized) or [`NotAuthorized`](crate::run::Input::NotAuthorized). Only with
    /// [`Credentials::Host`](crate::run::Credentials::Host), and then before each request.
    Authorize {
        /// The provider has refused what the try before was sent with, with a 401: it is to be got anew.
        rejected: bool,
    },
    /// Ask a hook of the app's; answer with [`HookAnswered`](crate::run::Input::HookAnswered). Only with
    /// [`RunConfig::hooks`](crate::run::RunConfig::hooks). It may be asked again after a restore.
    RunHook {
        /// The hook's name. Empty if the configuration has none any more under this number: answer that it failed.
        hook: String,
        /// What it looks at.
        subject: Box<HookSubject>,
    },
}

impl EffectId {
    /// Whether the host can stop what it does under this id.
    pub(in crate::run) fn is_stoppable(self) -> bool {
        matches!(
            self,
            Self::Open { .. }
                | Self::Tool(_)
                | Self::Approve(_)
                | Self::Authorize { .. }
                | Self::Ask { .. }
                | Self::Hook { .. }
        )
    }

    /// Returns the effect that stops it.
    pub(in crate::run) fn stop(self) -> Effect {
        match self {
            Self::Open { .. } => Effect::CloseStream,
            _ => Effect::CancelTool,
        }
    }
}
