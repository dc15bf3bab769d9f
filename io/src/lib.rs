//! Drives the Stepwell core: HTTP by reqwest, tools as async closures run side by side, cancellation, and a stream of
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
mod clock;
mod driver;
mod http;
mod journal;
mod spans;
mod tools;
mod turn;

pub use agent::{Agent, AgentBuilder, BuildError};
pub use journal::JournalSink;
pub use tools::{Approver, ToolHandler};
pub use turn::{CancelHandle, Finished, Turn};

pub use stepwell_core::RunId;
pub use stepwell_core::conversation::{Conversation, ToolCallStatus};
pub use stepwell_core::dialect::{Endpoint, GenerationSettings, Secret, ToolChoice};
pub use stepwell_core::event::{Event, Interrupt, Message, ResumeEntry, ResumeStatus};
pub use stepwell_core::provider;
pub use stepwell_core::run::{
    Decision, Failure, LimitPolicy, Limits, Misuse, Outcome, PartialArgumentsUpdate, RepeatLimit,
    RunConfig, RunEvent, Start, ToolCallUpdate, ToolInvocation, TurnLimit,
};
pub use stepwell_core::tool::{
    OwnedChange, Tool, ToolError, ToolFailure, ToolFailureKind, ToolOutput, ToolRegistry,
    ToolResult,
};
