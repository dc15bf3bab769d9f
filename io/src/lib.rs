//! Drives the Stepwell core: HTTP, tools as async closures run side by side, cancellation, and a stream of
//! events.
//!
//! ```no_run
//! use futures::StreamExt;
//! use serde_json::json;
//! use stepwell_io::{Agent, RunEvent, Tool, provider};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let endpoint = provider::find("openai")?.endpoint(None, "gpt-4o-mini", None, Some("the key".into()))?;
//! let agent = Agent::builder(endpoint)
//!     .tool(
//!         Tool::new("get_weather", "The weather in a city.").parameters(json!({
//!             "type": "object",
//!             "properties": { "city": { "type": "string" } },
//!             "required": ["city"],
//!         })),
//!         |call| async move {
//!             let city = call.arguments.value["city"].as_str().ok_or("no city")?;
//!             Ok::<_, &str>(format!("Sunny in {city}"))
//!         },
//!     )
//!     .build()?;
//!
//! let mut turn = agent.send("What is the weather in Bergen?");
//! while let Some(event) = turn.next().await {
//!     if let RunEvent::Completed(outcome) = event {
//!         println!("{outcome:?}");
//!     }
//! }
//! println!("{}", agent.transcript().text());
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod agent;
mod app;
mod base;
mod durable;
mod http;
#[cfg(feature = "mcp")]
pub mod mcp;
mod spans;
pub mod store;
mod turn;

pub use self::http::{HttpClient, HttpClientError, SendError};
pub use agent::builder::{AgentBuilder, BuildError};
pub use agent::code::TurnCode;
pub use agent::stored::recover::Recovered;
pub use agent::turn_builder::{TurnBuildError, TurnBuilder};
#[cfg(feature = "macros")]
pub use agent::typed_run::RunError;
pub use agent::when_busy::WhenBusy;
pub use agent::{Agent, ReviveError};
pub use app::approver::Approver;
pub use app::credentials::{CredentialRequest, CredentialSource};
pub use app::hooks::{Hook, HookHandler};
pub use app::instructions::{InstructionsRequest, InstructionsSource};
pub use app::journal::JournalSink;
pub use app::media;
pub use app::observer::TurnObserver;
pub use app::output::OutputDecoder;
pub use app::run_source::{NewRun, RestError, RestRunSource, RunSource};
pub use app::tools::context::{DepsError, ToolContext};
pub use app::tools::handler::{ToolAnswer, ToolHandler};
pub use app::tools::source::{SourcedTool, ToolSource};
#[cfg(feature = "macros")]
pub use app::tools::typed::{AgentTool, ToolFunction, ToolReply};
pub use app::trim::{Trimmed, Trimmer};
#[cfg(feature = "macros")]
pub use app::typed_output::output_type;
pub use durable::StoredTurn;
pub use turn::Turn;
pub use turn::caller::Caller;
pub use turn::finished::{Finished, TurnFailed};
pub use turn::handle::{TurnError, TurnHandle};

#[cfg(feature = "macros")]
pub use stepwell_macros::tool;
#[cfg(all(doctest, feature = "macros"))]
#[doc = include_str!("../macros/src/tool.md")]
struct ToolExample;

pub use stepwell_core::RunId;
pub use stepwell_core::dialect::{Endpoint, GenerationSettings, Secret, ToolChoice};
pub use stepwell_core::event::{
    ContentPart, Event, Interrupt, Message, MessageContent, ResumeEntry, ResumeStatus,
};
pub use stepwell_core::provider;
pub use stepwell_core::registry::{RegistryEvent, RunHandle, SharedRegistry, ThreadKey};
pub use stepwell_core::run::{
    Authorization, BackgroundPolicy, ContextGuard, ContextMessage, ContextOverflow, ContextPolicy,
    Deadline, Decision, DevicePolicy, EmptyAnswerPolicy, ErrorKind, Failure, HookAnswer,
    HookMoment, HookPlace, HookSpec, HookSubject, HookedAnswer, HookedRequest, HookedResult,
    Incomplete, LimitPolicy, Limits, Misuse, NetworkChangePolicy, OfflinePolicy, Outcome,
    PartialArgumentsUpdate, PartialOutputUpdate, Problem, Question, QuestionError, RepeatLimit,
    RetryPolicy, RunConfig, RunEvent, SnapshotError, Start, SteeringRefusal, TextOptions, Timeouts,
    ToolCallUpdate, ToolInvocation, ToolPartialResult, ToolProgress, TurnLimit, TurnOptions,
    UserAnswer,
};
pub use stepwell_core::tool::{
    OutputMode, OutputType, OutputTypeError, OwnedChange, Rejection, Tool, ToolError, ToolFailure,
    ToolFailureKind, ToolOutput, ToolRegistry, ToolResult,
};
pub use stepwell_core::transcript::{ToolCallStatus, Transcript};

/// The items that the code of `#[tool]` names.
#[cfg(feature = "macros")]
#[doc(hidden)]
pub mod __private {
    pub use crate::app::tools::typed::{Returned, ReturnsValue, asynchronous, blocking};
    pub use {schemars, serde};
}

/// The types that every program names.
pub mod prelude {
    pub use crate::{Agent, RunEvent, Tool, Turn};
}
