//! The data that a host and a run exchange, and the app's settings. Nothing here moves a turn.

mod answer_text;
mod block;
mod call;
mod compaction;
mod config;
mod context;
mod correction;
mod credentials;
mod cut;
mod device;
mod effect;
mod effect_id;
mod effect_stage;
mod fallback;
mod hook;
mod input;
mod limit;
mod misuse;
mod outcome;
mod output;
mod pending;
mod problem;
mod progress;
mod question;
mod refused;
mod retry;
mod state_kind;
mod text_options;
pub mod ticket;
mod timer_key;
mod turn_options;

pub use answer_text::AnswerText;
pub use block::{Attached, Block, BlockContent, TurnStatus};
pub use call::{Decision, ToolInvocation};
pub use compaction::{CompactionError, CompactionPolicy, CompactionWay, SummaryPolicy};
pub use config::{Durability, LimitPolicy, Limits, RepeatLimit, RunConfig, RunIds, Timeouts};
pub(crate) use context::NEARLY_FULL;
pub use context::{ContextGuard, ContextMessage, ContextOverflow, ContextPolicy};
pub use correction::CORRECTION;
pub(super) use correction::correction;
pub(crate) use correction::is_correction;
pub use credentials::{Authorization, Credentials};
pub(crate) use cut::is_cut;
pub use cut::{CUT, cut_messages};
pub(super) use cut::{NOT_RUN, asked, has_result, is_new, leave_out_cut, mark_as_cut, not_run};
pub use device::{
    BackgroundPolicy, DevicePolicy, KilledPolicy, NetworkChangePolicy, OfflinePolicy,
};
pub use effect::Effect;
pub use effect_id::{EffectId, ParseEffectIdError};
pub use effect_stage::EffectStage;
pub use fallback::{
    Fallback, FallbackError, FallbackModel, HopContext, HopModel, ModelChoice, ModelName,
};
pub(super) use hook::ChangedRequest;
pub use hook::{
    HookAnswer, HookMoment, HookPlace, HookSpec, HookSubject, HookedAnswer, HookedRequest,
    HookedResult,
};
pub use input::{Input, Refusal, Start};
pub use limit::TurnLimit;
pub use misuse::{Misuse, ResumeError};
pub use outcome::{Deadline, Failure, Incomplete, Outcome};
pub(super) use output::MAX_WAITING_MESSAGES;
pub use output::{
    Output, PartialArgumentsUpdate, PartialOutputUpdate, RunEvent, SteeringRefusal, ToolCallUpdate,
};
pub(crate) use pending::PendingCall;
pub use pending::{Pending, PendingKind};
pub use problem::{ErrorKind, Problem};
pub(in crate::run) use progress::MOST_MESSAGE;
pub use progress::{PartialTooLarge, ToolPartialResult, ToolProgress};
pub use question::{Question, QuestionError, UserAnswer};
pub use refused::REFUSED;
pub(super) use refused::{leave_out_refused, mark_as_refused};
pub(super) use retry::FailedTry;
pub use retry::{Retry, RetryPolicy};
pub use state_kind::{EdgeRow, StateKind};
pub use text_options::TextOptions;
pub use timer_key::TimerKey;
pub use turn_options::TurnOptions;
