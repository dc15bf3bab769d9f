//! Stepwell for Swift, Kotlin and Python, by uniffi.
//!
//! Without the feature `uniffi` there are only the definitions: configuration, events, effects, outcomes, errors, the
//! registry and stored turns. The definitions are also read from and written as JSON, for languages without bindings of
//! their own (`stepwell-json`).
//!
//! Two APIs use the one machine of `stepwell-core`: [`RunMachine`] leaves all IO to the app, [`Agent`] does it. Records
//! and enums mirror those of the core and have the same names; any JSON of the core is a [`JsonValue`] here. Each
//! language adds a small layer in its own style.
//!
//! Rules of this boundary: no generics, no tuples, named fields only, so that every language can match them; no panic
//! crosses it; no code of the app is called with a lock held.

#[cfg(feature = "agent")]
mod agent;
#[cfg(feature = "agent")]
mod caller;
mod config;
#[cfg(feature = "agent")]
mod conversation;
#[cfg(feature = "agent")]
mod credentials;
mod effect;
mod error;
mod event;
#[cfg(feature = "agent")]
mod fork;
mod guarded_run;
mod hook;
#[cfg(feature = "agent")]
mod instructions;
#[cfg(feature = "uniffi")]
mod journal;
mod json_value;
#[cfg(feature = "agent")]
mod language;
#[cfg(feature = "agent")]
mod log;
#[cfg(feature = "uniffi")]
mod machine;
#[cfg(feature = "uniffi")]
mod media;
mod model_choice;
mod outcome;
#[cfg(feature = "agent")]
mod output;
#[cfg(feature = "agent")]
mod partial_value;
mod pending;
#[cfg(feature = "uniffi")]
mod provider;
mod question;
mod registry;
#[cfg(feature = "agent")]
mod run_source;
#[cfg(feature = "agent")]
mod runtime;
#[cfg(feature = "agent")]
mod serve;
mod session;
#[cfg(feature = "agent")]
mod setup;
mod state;
#[cfg(feature = "agent")]
mod store;
#[cfg(feature = "agent")]
mod task;
mod thread_key;
mod time;
#[cfg(feature = "agent")]
mod tool;
#[cfg(feature = "agent")]
mod tool_context;
#[cfg(feature = "agent")]
mod trace;
#[cfg(feature = "agent")]
mod transport;
#[cfg(feature = "agent")]
mod trim;
#[cfg(feature = "agent")]
mod turn;

#[cfg(feature = "agent")]
pub use agent::{Agent, Recovered, RunnerDuties};
#[cfg(feature = "agent")]
pub use caller::current_caller;
pub use config::{
    AgUiEncoding, AgUiOptions, BackgroundPolicy, CacheLifetime, CompactionPolicy, CompactionWay,
    ContextEntry, ContextGuard, ContextPolicy, Credentials, DevicePolicy, ExtraRules, Fallback,
    FallbackModel, GenerationSettings, KilledPolicy, LimitPolicy, Limits, LongContextPrice,
    ModelChoice, ModelPrice, NetworkChangePolicy, OutputMode, OutputType, ReasoningEffort,
    RepeatLimit, ResponseFormat, Resumption, Retry, RetryPolicy, RunConfig, RunIds, TextOptions,
    Timeouts, ToolChoice, ToolDefinition, TurnOptions, Verification, WhenBusy, model_price,
};
#[cfg(feature = "agent")]
pub use conversation::Conversation;
#[cfg(feature = "agent")]
pub use credentials::{Authorization, CredentialRequest, CredentialSource};
pub use effect::{
    Block, CallKey, ContextMessage, Effect, HttpHeader, HttpRequest, Outputs, ToolInvocation,
    TurnStatus,
};
pub use error::{CallbackError, StepwellError, ToolError};
pub use event::{
    ArgumentsChange, Compaction, EncryptedValueSubtype, Event, EventCommon, Interrupt,
    SteeringRefusal, TextMessageRole, ToolCallStatus, ToolFailureKind, ToolResult, event_to_json,
};
#[cfg(feature = "agent")]
pub use fork::{after_fork_in_child, after_fork_in_parent, before_fork};
pub use guarded_run::{GuardedRun, guard};
#[cfg(feature = "agent")]
pub use hook::{AgentHook, Hook, HookTask};
pub use hook::{HookAnswer, HookMoment, HookSpec, HookSubject};
#[cfg(feature = "agent")]
pub use instructions::{InstructionsRequest, InstructionsSource};
#[cfg(feature = "agent")]
pub use journal::JournalSink;
#[cfg(feature = "uniffi")]
pub use journal::{JournalReplay, redact_journal, replay_journal};
pub use json_value::JsonValue;
#[cfg(feature = "agent")]
pub use language::set_language;
#[cfg(feature = "agent")]
pub use log::{LogLevel, LogSink, log_to};
#[cfg(feature = "uniffi")]
pub use machine::{ResumeEntry, ResumeStatus, RunMachine, Start, TimerKey};
#[cfg(feature = "uniffi")]
pub use media::{ContentPart, MediaKind, file, text};
#[cfg(feature = "agent")]
pub use media::{MediaSource, media_part};
#[cfg(feature = "agent")]
pub use model_choice::ModelChooser;
pub use model_choice::{HopContext, HopModel, ModelName};
pub use outcome::{
    ApiErrorKind, Deadline, ErrorKind, Failure, Incomplete, Outcome, Problem, TokenUsage,
    TurnLimit, problem_of,
};
#[cfg(feature = "agent")]
pub use outcome::{TurnError, require_whole};
#[cfg(feature = "agent")]
pub use output::OutputDecoder;
#[cfg(feature = "agent")]
pub use partial_value::PartialValue;
pub use pending::{Pending, PendingKind};
#[cfg(feature = "uniffi")]
pub use provider::{Api, Capabilities, ContextWindow, Provider, context_window, providers};
pub use question::{Question, UserAnswer};
pub use registry::{Registered, RegistryEvent, RunHandle, RunRegistry};
#[cfg(feature = "agent")]
pub use run_source::{NewRun, RunSource};
#[cfg(feature = "agent")]
pub use runtime::shutdown;
#[cfg(feature = "agent")]
pub use serve::{AgUiEvents, AgUiServer, RunLimits, ServedReply, ServedRequest};
#[cfg(feature = "uniffi")]
pub use session::{
    ActivityView, ChatCompaction, ChatConnection, ChatMessage, ChatPart, ChatProblem, ChatReducer,
    ChatRole, ChatState, ChatStatus, ChatUpdate, MessageView, Role, SessionView, ToolCard,
    ToolCardProgress, ToolExecution, TurnView, conversation_of, session_view,
};
pub use session::{TurnBlock, TurnRecord, read_run_event};
#[cfg(feature = "agent")]
pub use setup::{AgentSetup, OnToolError};
pub use state::StateKind;
#[cfg(feature = "agent")]
pub use store::{
    Claimed, EventLog, LoggedEvent, NewTurn, PersistBatch, SessionStore, Store, StoreAnswer,
    StoreCall, StoreError, StoreRunner, StoreSetup, StoreTask, ThreadCursor, ThreadQuery,
    ThreadRecord, TurnKey, Unfinished,
};
#[cfg(feature = "agent")]
pub use task::{
    ApprovalTask, ChooseModelTask, CreateRunTask, CredentialsTask, DecodeOutputTask,
    InstructionsTask, QuestionTask, TaskRunner, ToolTask, TrimContextTask,
};
pub use thread_key::ThreadKey;
pub use time::{Duration, Timestamp};
#[cfg(feature = "agent")]
pub use tool::{AgentTool, Answerer, Approver, Decision, ToolHandler, ToolOutput};
#[cfg(feature = "agent")]
pub use tool_context::ToolContext;
#[cfg(feature = "agent")]
pub use trace::{FinishedSpan, SpanKind, SpanParent, SpanSink, trace_to};
#[cfg(feature = "agent")]
pub use transport::{HttpAnswer, HttpTask, HttpTransport};
#[cfg(feature = "agent")]
pub use trim::{ContextOverflow, Trimmed, Trimmer, newest_messages};
#[cfg(feature = "agent")]
pub use turn::{Finished, StoredTurn, Turn};

// The definitions alone do not need uniffi; the macros of this crate leave them unchanged.
#[cfg(not(feature = "uniffi"))]
extern crate stepwell_no_uniffi as uniffi;

#[cfg(feature = "uniffi")]
uniffi::setup_scaffolding!();

/// Returns the version of the library, such as `0.1.0`.
#[uniffi::export]
#[must_use]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
