//! One turn of a conversation as a state machine: open a stream, read it, run the tools it asks for, go on, until the
//! answer is done.
//!
//! ```text
//! Idle ─start▶ Opening ─opened▶ Streaming ─finish▶ Completed
//!                ▲                 │ calls pending
//!                │                 ▼
//!                └── continue ── ExecutingTools
//! Opening, Streaming ─ transient failure, nothing consumed or to be resumed ▶ Waiting ─ wake ▶ Opening
//! Streaming ─ another network, nothing consumed or to be resumed ▶ Opening
//! Streaming ─ the backend asks the person ▶ Interrupted ─ resume ▶ Opening, ExecutingTools
//! any active state ─ cancel, fail ▶ Completed
//! ```
//!
//! Two faces on the one machine: [`Run<S>`], where a call that the state does not allow does not compile, and
//! [`RunMachine`], for hosts that keep a run in one variable. Neither does any IO: see [`RunMachine`] for the host's
//! loop.

mod active;
mod anchor;
mod block;
mod completed;
mod config;
pub(crate) mod context_guard;
pub(crate) mod context_size;
mod context_trim;
mod core;
mod cut_answer;
mod device;
mod dispose;
#[cfg(feature = "model-check")]
#[doc(hidden)]
pub mod doors;
mod edges;
mod effect;
mod erased;
mod executing_tools;
mod fault;
mod idle;
mod input;
mod interrupted;
pub mod journal;
mod limits;
mod machine;
mod media;
mod opening;
mod outbox;
mod outcome;
mod output;
mod partial_calls;
mod pending;
mod problem;
mod recorder;
mod recording;
mod snapshot;
mod steering;
mod streaming;
mod text_options;
mod timer;
pub(crate) mod tools;
mod typed;
mod waiting;

pub use active::Active;
pub use block::{Attached, Block, BlockContent, TurnStatus};
pub use completed::Completed;
pub use config::{
    Durability, LimitPolicy, Limits, RepeatLimit, RetryPolicy, RunConfig, RunIds, Timeouts,
};
pub use context_guard::{ContextGuard, ContextMessage, ContextOverflow, ContextPolicy};
pub(crate) use cut_answer::is_cut;
pub use cut_answer::{CUT, Shown, cut_messages};
pub use device::{
    BackgroundPolicy, DevicePolicy, KilledPolicy, NetworkChangePolicy, OfflinePolicy, Reconnected,
};
pub use dispose::Disposed;
pub use edges::{EDGES, EdgeRow, StateKind, Statechart, statechart, statechart_mermaid};
pub use effect::{Decision, Effect, EffectId, ParseEffectIdError, ToolInvocation};
pub use executing_tools::{ExecutingTools, Settled};
pub use idle::{Idle, Start, Started};
pub use input::{Input, Misuse};
pub use interrupted::{Interrupted, ResumeError, Resumed};
pub use limits::TurnLimit;
pub use machine::RunMachine;
pub use opening::{Opening, Refusal, Refused};
pub use outcome::{Deadline, Failure, Incomplete, Outcome};
pub use output::{Output, PartialArgumentsUpdate, RunEvent, ToolCallUpdate};

pub use problem::{Problem, ProblemKind};
pub use snapshot::SnapshotError;
pub use steering::SteeringRefusal;
pub use streaming::{Ended, Flow, Lost, Streaming};
pub use text_options::TextOptions;
pub use timer::TimerKey;
pub use typed::{Run, State};
pub use waiting::Waiting;
