//! Stepwell's core: the loop between a user, a language model and tools, as a state machine without IO. The machine opens
//! no socket, reads no clock and waits for nothing. The host feeds it inputs (bytes, results of tools, decisions, the time)
//! and carries out the effects that it asks for.
//!
//! ```
//! use std::borrow::Cow;
//! use std::sync::Arc;
//! use stepwell_core::transcript::Transcript;
//! use stepwell_core::event::Message;
//! use stepwell_core::run::{RunConfig, Start};
//! use stepwell_core::{Effect, Input, Output, RunMachine, Timestamp, provider};
//!
//! let endpoint = provider::find("openai-compatible")?.endpoint(None, "a-model", Some("http://localhost/v1"), None)?;
//! let config = Arc::new(RunConfig::new(endpoint));
//! let mut machine = RunMachine::new(config, "thread-1".into(), Transcript::default());
//! let mut inputs = vec![Input::Start(Box::new(Start::new("run-1", Message::user("message-1", "Hello"))))];
//! while let Some(input) = inputs.pop() {
//!     machine.handle(input, Timestamp(0))?; // the host's clock
//!     while let Some(output) = machine.poll_output() {
//!         match output {
//!             Output::Effect(effect, Effect::OpenStream { request }) => {
//!                 assert_eq!(request.url, "http://localhost/v1/chat/completions");
//!                 // A host sends `request`. Here the whole answer is at hand; the last input comes first.
//!                 let body = b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n";
//!                 inputs.push(Input::Ended { effect });
//!                 inputs.push(Input::Received { effect, bytes: Cow::Borrowed(body) });
//!                 inputs.push(Input::Opened { effect, content_type: None });
//!             }
//!             Output::Event(event) => println!("{event:?}"),
//!             _ => {} // run a tool, store a block, ask the user, …
//!         }
//!     }
//! }
//! assert_eq!(machine.transcript().text(), "Hi");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The typed API, [`Run`], does the same. A call that the state does not allow does not compile, and the host answers an
//! effect with the [`Ticket`](run::ticket::Ticket) that came with it:
//!
//! ```
//! use std::sync::Arc;
//! use stepwell_core::transcript::Transcript;
//! use stepwell_core::event::Message;
//! use stepwell_core::run::ticket::Ticket;
//! use stepwell_core::run::{AnyRun, RunConfig, Start};
//! use stepwell_core::{Effect, Output, Run, Timestamp, provider};
//!
//! let endpoint = provider::find("openai-compatible")?.endpoint(None, "a-model", Some("http://localhost/v1"), None)?;
//! let (config, now) = (Arc::new(RunConfig::new(endpoint)), Timestamp(0));
//! let idle = Run::new(config, "thread-1".into(), Transcript::default());
//! let mut run = idle.start(Start::new("run-1", Message::user("message-1", "Hello")), now).into_any();
//! let run = loop {
//!     let mut sent = None;
//!     while let Some(output) = run.poll_output() {
//!         match output {
//!             Output::Effect(Ticket::Open(ticket), Effect::OpenStream { .. }) => sent = Some(ticket),
//!             Output::Event(event) => println!("{event:?}"),
//!             _ => {}
//!         }
//!     }
//!     run = match (run, sent) {
//!         (AnyRun::Opening(run), Some(ticket)) => run.opened(ticket, None, now).into_any(),
//!         (AnyRun::Streaming(mut run), _) => {
//!             let body = b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n";
//!             let _ = run.receive(body, now);
//!             run.end(now).into_any()
//!         }
//!         (AnyRun::Completed(run), _) => break run,
//!         // Tools, questions, …: match the other states here. Time passes in each of them.
//!         (run, _) => run.wake(now),
//!     };
//! };
//! assert_eq!(run.transcript().text(), "Hi");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`RunMachine`] documents the contract with the host, which both APIs share. `stepwell-io` is a complete host on tokio.
//! `ARCHITECTURE.md` in the repository describes the layout of the code.
#![forbid(unsafe_code)]
#![warn(missing_docs)]
// No clock, file, socket, thread or random number: clippy.toml has the list.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod hash;
pub mod journal;
pub mod pipeline;
pub mod registry;
pub mod run;
pub mod run_source;
pub mod session;
mod sync;
pub mod transcript;
mod unquoted;
mod zero;

pub use run::{Effect, Input, Output, Run, RunEvent, RunMachine};
pub use stepwell_agui::{
    CallKey, MessageId, NotUsd, RunId, ThreadId, Timestamp, ToolCallId, Usd, event, wire,
};
pub use stepwell_llm::{dialect, provider, tool};

/// The types that every host names.
pub mod prelude {
    pub use crate::{Effect, Input, Output, Run, RunEvent, RunMachine, Timestamp};
}
