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
//! println!("{}", agent.conversation().text());
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod agent;
mod alarm;
mod asking;
mod builder;
mod caller;
mod clock;
mod code;
mod credentials;
mod device;
mod driver;
mod durable;
mod fault;
mod handle;
mod hooks;
mod http;
mod http_client;
mod instructions;
mod journal;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod media;
mod observer;
mod output;
mod owner;
mod run_source;
mod setup;
mod sources;
mod spans;
mod start;
pub mod store;
mod threads;
mod tool_context;
mod tool_notes;
mod tools;
mod trim;
mod turn;
mod turn_builder;
mod turn_task;
#[cfg(feature = "macros")]
mod typed_output;
#[cfg(feature = "macros")]
mod typed_tools;
mod when_busy;
mod work;

pub use agent::{Agent, ReviveError};
pub use asking::Approver;
pub use builder::{AgentBuilder, BuildError};
pub use caller::Caller;
pub use code::TurnCode;
pub use credentials::{CredentialRequest, CredentialSource};
pub use durable::{Recovered, StoredTurn};
pub use handle::{TurnError, TurnHandle};
pub use hooks::{Hook, HookHandler};
pub use http_client::{HttpClient, HttpClientError, SendError};
pub use instructions::{InstructionsRequest, InstructionsSource};
pub use journal::JournalSink;
pub use observer::TurnObserver;
pub use output::OutputDecoder;
pub use run_source::{NewRun, RestError, RestRunSource, RunSource};
pub use sources::{SourcedTool, ToolSource};
pub use tool_context::{DepsError, ToolContext};
pub use tools::{ToolAnswer, ToolHandler};
pub use trim::{Trimmed, Trimmer};
pub use turn::{Finished, Turn, TurnFailed};
#[cfg(feature = "macros")]
pub use typed_output::{RunError, output_type};
#[cfg(feature = "macros")]
pub use typed_tools::{AgentTool, ToolFunction, ToolReply};

#[cfg(feature = "macros")]
pub use stepwell_macros::tool;
#[cfg(all(doctest, feature = "macros"))]
#[doc = include_str!("../macros/src/tool.md")]
struct ToolExample;
pub use turn_builder::{TurnBuildError, TurnBuilder};
pub use when_busy::WhenBusy;

pub use stepwell_core::RunId;
pub use stepwell_core::conversation::{Conversation, ToolCallStatus};
pub use stepwell_core::dialect::{Endpoint, GenerationSettings, Secret, ToolChoice};
pub use stepwell_core::event::{
    ContentPart, Event, Interrupt, Message, MessageContent, ResumeEntry, ResumeStatus,
};
pub use stepwell_core::provider;
pub use stepwell_core::registry::{RegistryEvent, RunHandle, SharedRegistry, ThreadKey};
pub use stepwell_core::run::{
    Authorization, BackgroundPolicy, ContextGuard, ContextMessage, ContextOverflow, ContextPolicy,
    Deadline, Decision, DevicePolicy, EmptyAnswerPolicy, Failure, HookAnswer, HookMoment,
    HookPlace, HookSpec, HookSubject, HookedAnswer, HookedRequest, HookedResult, Incomplete,
    LimitPolicy, Limits, Misuse, NetworkChangePolicy, OfflinePolicy, Outcome,
    PartialArgumentsUpdate, PartialOutputUpdate, Problem, ProblemKind, Question, QuestionError,
    RepeatLimit, RetryPolicy, RunConfig, RunEvent, SnapshotError, Start, SteeringRefusal,
    TextOptions, Timeouts, ToolCallUpdate, ToolInvocation, ToolPartialResult, ToolProgress,
    TurnLimit, TurnOptions, UserAnswer,
};
pub use stepwell_core::tool::{
    OutputMode, OutputType, OutputTypeError, OwnedChange, Rejection, Tool, ToolError, ToolFailure,
    ToolFailureKind, ToolOutput, ToolRegistry, ToolResult,
};

/// What the code names that `#[tool]` makes.
#[cfg(feature = "macros")]
#[doc(hidden)]
pub mod __private {
    pub use crate::typed_tools::{Returned, ReturnsValue, asynchronous, blocking};
    pub use {schemars, serde};
}

/// The types that every program names.
pub mod prelude {
    pub use crate::{Agent, RunEvent, Tool, Turn};
}
