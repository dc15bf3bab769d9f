//! One turn of a conversation as a state machine: it opens a stream, reads it, runs the tools that the model calls, and
//! continues until the answer is complete.
//!
//! ```text
//! Idle ─start▶ Opening ─opened▶ Streaming ─finish▶ Completed
//!                ▲                 │ calls pending
//!                │                 ▼
//!                └── continue ── ExecutingTools
//! Opening, Streaming ─ transient failure, nothing consumed or to be resumed ▶ Waiting ─ wake ▶ Opening
//! Opening ─ a model writes a summary of the conversation first ▶ Summarizing ─ done, or given up ▶ Opening
//! Opening, Streaming ─ the model failed, and another one is asked ▶ Opening
//! Streaming ─ another network, nothing consumed or to be resumed ▶ Opening
//! Streaming ─ hooks look at the answer ▶ Reviewing ─ the hooks accept it ▶ as from Streaming
//! Streaming ─ a typed answer that the host decodes ▶ Decoding ─ decoded or refused ▶ Completed, Opening, ExecutingTools
//! Streaming ─ the backend asks the user ▶ Interrupted ─ resume ▶ Opening, ExecutingTools
//! any active state ─ cancel, fail ▶ Completed
//! ```
//!
//! The machine has two APIs: with [`Run<S>`] a call that the state does not allow does not compile; [`RunMachine`] is for
//! hosts that keep a run in one variable. Neither does any IO: [`RunMachine`] shows the host's loop.

// Each module uses only those before it: `protocol` is data alone; `parts` are the parts of a turn, each with private
// fields; `turn` holds the parts and does what takes several of them; `hop` builds the request to the model; `states` say
// which input is valid when; `machine` keeps the states in one variable; `accessors` has what both APIs read.
#[cfg(feature = "model-check")]
mod abstraction;
mod accessors;
mod hop;
mod machine;
mod parts;
mod protocol;
mod states;
mod stored;
mod turn;

/// The model checker's view of a run. It is not part of the public API and may change at any time.
#[cfg(feature = "model-check")]
#[doc(hidden)]
pub use machine::model_check;

pub use machine::{CanonicalForm, RunMachine, SnapshotError};
pub use protocol::ticket;
pub use protocol::{
    AnswerText, Attached, Authorization, BackgroundPolicy, Block, BlockContent, CORRECTION, CUT,
    CompactionError, CompactionPolicy, CompactionWay, ContextGuard, ContextMessage,
    ContextOverflow, ContextPolicy, Credentials, Deadline, Decision, DevicePolicy, Durability,
    EdgeRow, Effect, EffectId, EffectStage, ErrorKind, Failure, Fallback, FallbackError,
    FallbackModel, HookAnswer, HookMoment, HookPlace, HookSpec, HookSubject, HookedAnswer,
    HookedRequest, HookedResult, HopContext, HopModel, Incomplete, Input, KilledPolicy,
    LimitPolicy, Limits, Misuse, ModelChoice, ModelName, NetworkChangePolicy, OfflinePolicy,
    Outcome, Output, ParseEffectIdError, PartialArgumentsUpdate, PartialOutputUpdate,
    PartialTooLarge, Pending, PendingKind, Problem, Question, QuestionError, REFUSED, Refusal,
    RepeatLimit, ResumeError, Retry, RetryPolicy, RunConfig, RunEvent, RunIds, Start, StateKind,
    SteeringRefusal, SummaryPolicy, TextOptions, Timeouts, TimerKey, ToolCallUpdate,
    ToolInvocation, ToolPartialResult, ToolProgress, TurnLimit, TurnOptions, TurnStatus,
    UserAnswer, cut_messages,
};
pub(crate) use protocol::{NEARLY_FULL, PendingCall, is_correction, is_cut};
pub use states::active::Active;
pub use states::any_run::AnyRun;
pub use states::decoding::Judged;
pub use states::device::Reconnected;
pub use states::dispose::Disposed;
pub use states::executing_tools::Settled;
pub use states::fall_back::Prepared;
pub use states::idle::Started;
pub use states::interrupted::Resumed;
pub use states::opening::{Opened, Refused, Shown};
pub use states::reviewing::Reviewed;
pub use states::streaming::{Ended, Flow, Lost};
pub use states::summarizing::Summarized;
pub use states::{
    Completed, Decoding, EDGES, ExecutingTools, Idle, Interrupted, Opening, Reviewing, Run, State,
    Statechart, Streaming, Summarizing, Waiting, statechart, statechart_mermaid,
};
#[doc(hidden)]
pub use stored::{SessionError, Turn as StoredTurn, TurnBlock, TurnHistory};
pub(crate) use stored::{in_sequence, replay, replay_turn, usage_of_turn};
