use super::block::{Block, TurnStatus};
use super::call::ToolInvocation;
use super::context::ContextOverflow;
use super::effect_id::EffectId;
use super::fallback::HopContext;
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
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum Effect {
    /// Create a run at the backend. Answer with
    /// [`RunCreated`](crate::run::Input::RunCreated) or [`RunNotCreated`](crate::run::Input::RunNotCreated).
    CreateRun {
        /// The conversation.
        thread_id: ThreadId,
        /// The run that the new one continues; a thread's first has none.
        parent_run_id: Option<RunId>,
    },
    /// Send the request. Answer with [`Opened`](crate::run::Input::Opened) and then the bytes and the end of the body, or with
    /// [`Refused`](crate::run::Input::Refused) or [`ConnectionFailed`](crate::run::Input::ConnectionFailed).
    OpenStream {
        /// The request.
        request: HttpRequest,
    },
    /// Close the stream of this id if it is open. Needs no answer.
    CloseStream,
    /// Send the request, which stops an answer that the provider makes in the background. Needs no answer, and how the provider
    /// responds does not matter. The id is that of the hop's first request. Only with
    /// [`Resumption::Background`](crate::dialect::Resumption::Background).
    CancelAnswer {
        /// The request.
        request: HttpRequest,
    },
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
    /// Ask the user the question of a running tool. Answer with [`UserAnswered`](crate::run::Input::UserAnswered).
    AskUser {
        /// The call that asks.
        invocation: Box<ToolInvocation>,
        /// The question.
        question: Question,
    },
    /// Pass the user's answer to the tool that asked under this id. Needs no answer.
    AnswerTool {
        /// The user's answer.
        answer: UserAnswer,
    },
    /// Stop the tool under this id, or stop asking the user, the hook, the source of credentials or the code that chooses
    /// models. Needs no answer; a late answer is dropped.
    CancelTool,
    /// Store the blocks and the checkpoint in one transaction; answer with [`Persisted`](crate::run::Input::Persisted) or
    /// [`PersistFailed`](crate::run::Input::PersistFailed).
    Persist {
        /// The turn: the run id of its first hop.
        turn: RunId,
        /// The status of the turn with these blocks.
        status: TurnStatus,
        /// The outcome of the turn, with its last write. It is not part of the effect's serde form:
        /// [`Completed`](crate::run::RunEvent::Completed) has it there.
        #[serde(skip_serializing)]
        outcome: Option<Outcome>,
        /// The blocks, in sequence without a gap.
        blocks: Vec<Block>,
        /// The state of the machine that is not in blocks. It replaces the checkpoint before: with the turn's blocks and the
        /// history before the turn, [`revive_from`](crate::run::RunMachine::revive_from) revives the run. It is not part of
        /// the effect's serde form, since its own form may change.
        #[serde(skip_serializing)]
        checkpoint: String,
    },
    /// Choose the messages of the next request, since not all of them fit the model's context. Answer with
    /// [`ContextTrimmed`](crate::run::Input::ContextTrimmed) or [`ContextNotTrimmed`](crate::run::Input::ContextNotTrimmed). Only
    /// with [`ContextPolicy::Trim`](crate::run::ContextPolicy::Trim).
    TrimContext {
        /// The messages that do not fit, and their sizes.
        overflow: ContextOverflow,
    },
    /// Choose the model of the next hop. Answer with [`ModelChosen`](crate::run::Input::ModelChosen) or
    /// [`ModelNotChosen`](crate::run::Input::ModelNotChosen). Only with [`ModelChoice::Host`](crate::run::ModelChoice::Host).
    /// It may come again after a restore.
    ChooseModel {
        /// What the choice depends on.
        context: HopContext,
    },
    /// Decode the typed answer, which fits its schema, into the app's own type. Answer with
    /// [`OutputDecoded`](crate::run::Input::OutputDecoded) or [`OutputRefused`](crate::run::Input::OutputRefused). Only with
    /// [`OutputType::decoded_by_host`](crate::tool::OutputType::decoded_by_host). It may come again after a restore.
    DecodeOutput {
        /// The answer.
        value: Value,
    },
    /// Supply the key or the headers of the next request. Answer with
    /// [`Authorized`](crate::run::Input::Authorized) or [`NotAuthorized`](crate::run::Input::NotAuthorized). Only with
    /// [`Credentials::Host`](crate::run::Credentials::Host), and then before each request.
    Authorize {
        /// The provider rejected the credentials of the attempt before with a 401: get new ones.
        rejected: bool,
    },
    /// Call a hook of the app. Answer with [`HookAnswered`](crate::run::Input::HookAnswered). Only with
    /// [`RunConfig::hooks`](crate::run::RunConfig::hooks). It may be asked again after a restore.
    RunHook {
        /// The name of the hook. Empty if the configuration no longer has a hook of this number: then answer that it failed.
        hook: String,
        /// The subject that the hook looks at.
        subject: Box<HookSubject>,
    },
}

impl EffectId {
    /// Returns whether the host can stop what it does under this id.
    pub(in crate::run) fn is_stoppable(self) -> bool {
        matches!(
            self,
            Self::Open { .. }
                | Self::Tool(_)
                | Self::Approve(_)
                | Self::Authorize { .. }
                | Self::ChooseModel { .. }
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
