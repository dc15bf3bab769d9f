//! Language models as streams of AG-UI events, without IO.
//!
//! [`provider`] has the providers' addresses and differences, [`dialect`] encodes requests and decodes responses in
//! eight wire formats, and [`tool`] has the tools that a model may call. This crate is for programs that have a loop of
//! their own; `stepwell-core` has the loop.
//!
//! ```
//! use serde_json::Value;
//! use stepwell_llm::dialect::{Decode, Decoder, GenerationSettings, HopIds, ModelRequest, Sink};
//! use stepwell_llm::event::{EventRef, Message, Violation};
//! use stepwell_llm::wire::FrameLimits;
//! use stepwell_llm::{Timestamp, provider};
//!
//! /// Receives the events; this one collects the text of the answer.
//! #[derive(Default)]
//! struct Text(String);
//!
//! impl Sink for Text {
//!     fn event(&mut self, event: EventRef<'_>) -> Result<(), Violation> {
//!         if let EventRef::TextMessageContent { delta, .. } = event {
//!             self.0.push_str(delta);
//!         }
//!         Ok(())
//!     }
//!
//!     fn warning(&mut self, message: &str) {
//!         eprintln!("{message}");
//!     }
//! }
//!
//! // An endpoint, and a request for it.
//! let endpoint = provider::find("openai-compatible")?.endpoint(None, "a-model", Some("http://localhost/v1"), None)?;
//! let request = ModelRequest {
//!     endpoint: &endpoint,
//!     ids: &HopIds::default(),
//!     parent_run_id: None,
//!     instructions: Some("Be brief."),
//!     messages: &[&Message::user("1", "Hello")],
//!     tools: &[],
//!     state: &Value::Null,
//!     settings: &GenerationSettings::default(),
//!     resume: &[],
//!     compact_above: None,
//!     now: Timestamp(0),
//! };
//! let http = request.to_http();
//! assert_eq!(http.url, "http://localhost/v1/chat/completions");
//!
//! // The program sends the request with its own HTTP client. The bytes of the response become events.
//! let body = b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n";
//! let mut framer = endpoint.dialect.framer(FrameLimits::default());
//! let mut decoder = Decoder::new(endpoint.dialect, HopIds::default());
//! let mut text = Text::default();
//! framer.receive(body, |frame| decoder.frame(frame, &mut text))?;
//! framer.finish(|frame| decoder.frame(frame, &mut text))?;
//! decoder.end(&mut text)?;
//! assert_eq!(text.0, "Hi");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]
// No clock, file, socket, thread or random number: clippy.toml has the list.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod dialect;
mod matrix;
pub mod provider;
pub mod tool;
mod words;

pub use stepwell_agui::{
    CallKey, MessageId, NotUsd, RunId, ThreadId, Timestamp, ToolCallId, Usd, event, wire,
};
