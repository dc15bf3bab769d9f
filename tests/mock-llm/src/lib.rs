//! A scripted language model behind a real HTTP port, for testing an app that calls one.
//!
//! The app is given [`MockLlm::base_url`] (or [`MockLlm::ag_ui_url`]) instead of its provider's address.
//! Each request is answered by the next [`Hop`] of a [`Script`]: text, reasoning and tool calls in
//! small pieces, or a failure: a pause, a stall, a cut connection, a rate limit, a page of HTML.
//! What the app sent is kept for assertions, and is checked as a provider would check it.
//!
//! ```
//! use serde_json::json;
//! use stepwell_mock_llm::{Hop, MockLlm, Script};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let _ = rustls::crypto::ring::default_provider().install_default();
//! let script = Script::new()
//!     .hop(Hop::new().text("Let me look. ").tool_call("get_secret_number", json!({"name": "alice"})))
//!     .hop(Hop::new().text("Alice's number is 42"));
//! let server = MockLlm::start(script).await?;
//!
//! // The app under test, here a bare HTTP client.
//! let answer = reqwest::Client::new()
//!     .post(format!("{}/chat/completions", server.base_url()))
//!     .header("content-type", "application/json")
//!     .body(json!({
//!         "model": "any",
//!         "stream": true,
//!         "messages": [{"role": "user", "content": "What is Alice's number?"}],
//!     }).to_string())
//!     .send().await?
//!     .text().await?;
//!
//! assert!(answer.ends_with("data: [DONE]\n\n"));
//! assert_eq!(server.requests()[0].body["messages"][0]["role"], "user");
//! assert!(server.failures().is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! Time in a script ([`Hop::pause`]) is real time: sockets do not know a paused tokio clock.
//! A test that must not wait uses [`Hop::stall`] and drops its side, or [`MockLlm::wait_until`].
#![forbid(unsafe_code)]

mod answer;
pub mod check;
mod dialect;
#[cfg(feature = "server")]
mod server;
mod writer;

pub use answer::{Answer, Call};
pub use dialect::Dialect;
#[cfg(feature = "server")]
pub use server::{Delivery, Hop, MockLlm, RecordedRequest, Script, ScriptError, StartError};
pub use writer::{Block, Setting, Usage, Writer};

/// The examples of the README.
#[cfg(all(doctest, feature = "server"))]
#[doc = include_str!("../README.md")]
struct Readme;
