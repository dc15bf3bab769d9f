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
pub mod http;
#[cfg(feature = "mcp")]
pub mod mcp;
mod model;
mod model_health;
mod pending;
mod run;
mod spans;
mod start;
pub mod store;
mod threads;
pub mod turn;

pub use self::error::{Error, ErrorKind};
pub use self::http::HttpClient;
pub use agent::Agent;
pub use agent::builder::{AgentBuilder, BuildError};
pub use answer::output::Output;
pub use answer::result::TurnResult;
pub use answer::update::Update;
pub use app::media;
pub use app::tools::fault::OnToolError;
pub use conversation::Conversation;
pub use device::Device;
pub use model::Model;
pub use run::Run;
pub use run::turn::Turn;
pub use start::when_busy::WhenBusy;

#[cfg(feature = "macros")]
pub use stepwell_macros::tool;
#[cfg(all(doctest, feature = "macros"))]
#[doc = include_str!("../macros/src/tool.md")]
struct ToolExample;

/// The core: the machine without IO, which the types of this crate come from.
pub use stepwell_core as core;
pub use stepwell_core::event::TokenUsage;
pub use stepwell_core::provider;
pub use stepwell_core::registry::ThreadKey;
pub use stepwell_core::{MessageId, RunId, ThreadId, Timestamp, ToolCallId, Usd};

/// Tools: their definitions and their code, and what they wait for.
pub mod tool {
    pub use crate::app::answerer::Answerer;
    pub use crate::app::approver::Approver;
    pub use crate::app::tools::context::ToolContext;
    pub use crate::app::tools::handler::{IntoToolAnswer, Json, ToolAnswer, ToolHandler};
    pub use crate::app::tools::source::{SourcedTool, ToolSource};
    #[cfg(feature = "macros")]
    pub use crate::app::tools::typed::{AgentTool, ToolFunction, ToolReply};
    pub use stepwell_core::run::{
        Decision, Pending, PendingKind, Question, QuestionError, ToolInvocation, UserAnswer,
    };
    pub use stepwell_core::tool::{
        Rejection, Tool, ToolError, ToolFailure, ToolFailureKind, ToolOutput, ToolRegistry,
        ToolResult,
    };
    pub use stepwell_core::transcript::ToolCallStatus;
}

/// The types of answers that are known only while the program runs.
pub mod output {
    pub use crate::app::output::OutputDecoder;
    #[cfg(feature = "macros")]
    pub use crate::app::typed_output::output_type;
    pub use stepwell_core::run::PartialOutputUpdate;
    pub use stepwell_core::tool::{OutputMode, OutputType, OutputTypeError, OwnedChange};
}

/// Messages, transcripts, and what an AG-UI agent asks.
pub mod message {
    pub use crate::answer::message::{assistant, system, user};
    pub use stepwell_core::event::{
        ContentPart, Interrupt, Message, MessageContent, ResumeEntry, ResumeStatus,
    };
    pub use stepwell_core::transcript::{Compaction, Transcript};
}

/// The configuration of an agent, and of one turn.
pub mod config {
    pub use crate::app::instructions::{InstructionsRequest, InstructionsSource};
    pub use crate::app::model_choice::ModelChooser;
    pub use crate::app::trim::{Trimmed, Trimmer};
    pub use crate::model::ModelError;
    pub use crate::model_health::ModelHealth;
    pub use stepwell_core::dialect::{Endpoint, GenerationSettings, ToolChoice};
    pub use stepwell_core::run::{
        BackgroundPolicy, CompactionPolicy, CompactionWay, ContextGuard, ContextMessage,
        ContextOverflow, ContextPolicy, DevicePolicy, Fallback, FallbackModel, HopContext,
        HopModel, LimitPolicy, Limits, ModelChoice, ModelName, NetworkChangePolicy, OfflinePolicy,
        RepeatLimit, Retry, RetryPolicy, RunConfig, SummaryPolicy, TextOptions, Timeouts,
        TurnOptions,
    };
}

/// Keys and headers that the app supplies for each request.
pub mod credentials {
    #[cfg(feature = "aws")]
    pub use crate::app::aws::{AwsCredentialSource, AwsCredentials};
    pub use crate::app::credentials::{CredentialRequest, CredentialSource};
    pub use stepwell_core::dialect::Secret;
    pub use stepwell_core::run::Authorization;
}

/// Hooks: code of the app that sees requests, calls, results and answers, and may change or refuse them.
pub mod hook {
    pub use crate::app::hooks::{Hook, HookHandler};
    pub use stepwell_core::run::{
        HookAnswer, HookMoment, HookPlace, HookSpec, HookSubject, HookedAnswer, HookedRequest,
        HookedResult,
    };
}

/// The registry of conversations: which have a turn under way, and what is unread.
pub mod registry {
    pub use stepwell_core::registry::{RegistryEvent, RunHandle, SharedRegistry};
}

/// What a program supplies that hosts agents for others: code for each turn, sources of runs, journals and observers.
pub mod host {
    pub use crate::app::journal::JournalSink;
    pub use crate::app::observer::TurnObserver;
    pub use crate::app::run_source::{NewRun, RestError, RestRunSource, RunSource};
    pub use crate::definition::code::TurnCode;
    pub use crate::turn::caller::Caller;
}

/// The items that the code of `#[tool]` names.
#[cfg(feature = "macros")]
#[doc(hidden)]
pub mod __private {
    pub use crate::app::tools::typed::{Returned, ReturnsValue, asynchronous, blocking};
    pub use {schemars, serde};
}

/// What a first program names.
pub mod prelude {
    pub use crate::tool::{Tool, ToolContext};
    pub use crate::{
        Agent, Conversation, Error, ErrorKind, Model, Turn, TurnResult, Update, WhenBusy,
    };
    #[cfg(feature = "macros")]
    pub use crate::{tool, tools};
}
