//! Stepwell for apps on tokio: agents whose tools run where the app runs, HTTP, cancellation, and turns that survive
//! their process.
//!
//! ```no_run
//! use stepwell_io::prelude::*;
//!
//! /// The weather in a city.
//! #[tool]
//! async fn get_weather(city: String) -> String {
//!     format!("Sunny in {city}")
//! }
//!
//! # async fn example() -> Result<(), Error> {
//! let agent = Agent::builder(Model::openai("gpt-5-mini")).tools(tools![get_weather]).build()?;
//! println!("{}", agent.run("What is the weather in Bergen?").await?.output);
//! # Ok(())
//! # }
//! ```
//!
//! An [`Agent`] is a definition, which users and tasks share. [`Agent::run`] answers one prompt; a [`Conversation`]
//! remembers. A [`Turn`] is a turn under way, a stream of [updates](Update), and a [`TurnResult`] its result.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod agent;
mod answer;
mod app;
mod base;
mod conversation;
mod definition;
mod device;
mod durable;
mod error;
mod http;
#[cfg(feature = "mcp")]
pub mod mcp;
mod model;
mod pending;
mod run;
mod spans;
mod start;
pub mod store;
mod threads;
mod turn;

pub use self::error::{Error, ErrorKind};
pub use self::http::{HttpClient, HttpClientError, SendError};
pub use self::pending::pending;
pub use agent::Agent;
pub use agent::builder::{AgentBuilder, BuildError};
pub use agent::recover::Recovered;
pub use agent::revive::ReviveError;
pub use answer::output::Output;
pub use answer::result::TurnResult;
pub use answer::update::Update;
pub use app::answerer::Answerer;
pub use app::approver::Approver;
pub use app::credentials::{CredentialRequest, CredentialSource};
pub use app::hooks::{Hook, HookHandler};
pub use app::instructions::{InstructionsRequest, InstructionsSource};
pub use app::journal::JournalSink;
pub use app::media;
pub use app::observer::TurnObserver;
pub use app::output::OutputDecoder;
pub use app::run_source::{NewRun, RestError, RestRunSource, RunSource};
pub use app::tools::context::ToolContext;
pub use app::tools::fault::OnToolError;
pub use app::tools::handler::{IntoToolAnswer, Json, ToolAnswer, ToolHandler};
pub use app::tools::source::{SourcedTool, ToolSource};
#[cfg(feature = "macros")]
pub use app::tools::typed::{AgentTool, ToolFunction, ToolReply};
pub use app::trim::{Trimmed, Trimmer};
#[cfg(feature = "macros")]
pub use app::typed_output::output_type;
pub use conversation::Conversation;
pub use definition::code::TurnCode;
pub use device::Device;
pub use durable::StoredTurn;
pub use model::{Model, ModelError};
pub use run::Run;
pub use run::turn::Turn;
pub use start::when_busy::WhenBusy;
pub use turn::caller::Caller;
pub use turn::events::TurnEvents;
pub use turn::finished::Finished;
pub use turn::handle::{TurnError, TurnHandle};

#[cfg(feature = "macros")]
pub use stepwell_macros::tool;
#[cfg(all(doctest, feature = "macros"))]
#[doc = include_str!("../macros/src/tool.md")]
struct ToolExample;

/// The core: the machine without IO, which the types of this crate come from.
pub use stepwell_core as core;
pub use stepwell_core::dialect::{Endpoint, GenerationSettings, Secret, ToolChoice};
pub use stepwell_core::event::{
    ContentPart, Event, Interrupt, Message, MessageContent, ResumeEntry, ResumeStatus, TokenUsage,
};
pub use stepwell_core::provider;
pub use stepwell_core::registry::{RegistryEvent, RunHandle, SharedRegistry, ThreadKey};
pub use stepwell_core::run::{
    Authorization, BackgroundPolicy, ContextGuard, ContextMessage, ContextOverflow, ContextPolicy,
    Deadline, Decision, DevicePolicy, EmptyAnswerPolicy, Failure, HookAnswer, HookMoment,
    HookPlace, HookSpec, HookSubject, HookedAnswer, HookedRequest, HookedResult, Incomplete,
    LimitPolicy, Limits, Misuse, NetworkChangePolicy, OfflinePolicy, Outcome,
    PartialArgumentsUpdate, PartialOutputUpdate, Pending, PendingKind, Problem, Question,
    QuestionError, RepeatLimit, RetryPolicy, RunConfig, RunEvent, SnapshotError, Start,
    SteeringRefusal, TextOptions, Timeouts, ToolCallUpdate, ToolInvocation, ToolPartialResult,
    ToolProgress, TurnLimit, TurnOptions, UserAnswer,
};
pub use stepwell_core::tool::{
    OutputMode, OutputType, OutputTypeError, OwnedChange, Rejection, Tool, ToolError, ToolFailure,
    ToolFailureKind, ToolOutput, ToolRegistry, ToolResult,
};
pub use stepwell_core::transcript::{ToolCallStatus, Transcript};
pub use stepwell_core::{MessageId, RunId, ThreadId, Timestamp, ToolCallId, Usd};

/// The items that the code of `#[tool]` names.
#[cfg(feature = "macros")]
#[doc(hidden)]
pub mod __private {
    pub use crate::app::tools::typed::{Returned, ReturnsValue, asynchronous, blocking};
    pub use {schemars, serde};
}

/// What a first program names.
pub mod prelude {
    pub use crate::{
        Agent, Conversation, Error, ErrorKind, Model, Turn, TurnResult, Update, WhenBusy,
    };
    #[cfg(feature = "macros")]
    pub use crate::{tool, tools};
}
