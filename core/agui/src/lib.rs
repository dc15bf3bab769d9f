//! AG-UI, the open protocol between agents and user interfaces, without IO.
//!
//! [`event`] has the protocol's events and messages and the rules of their order, and [`wire`] the framing of streams.
//!
//! ```
//! use stepwell_agui::event::{Event, Verdict, Verifier};
//! use stepwell_agui::wire::{FrameLimits, Framer, SseFramer};
//!
//! let body = b"data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n\
//!     data: {\"type\":\"TEXT_MESSAGE_START\",\"messageId\":\"m\",\"role\":\"assistant\"}\n\n\
//!     data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"Hi\"}\n\n";
//! let mut framer = Framer::Sse(SseFramer::new(FrameLimits::default()));
//! let mut verifier = Verifier::default();
//! let mut text = String::new();
//! framer.receive::<Box<dyn std::error::Error>>(body, |frame| {
//!     let event: Event = serde_json::from_slice(frame.data)?;
//!     let verdict = verifier.check((&event).into(), &mut |finding| eprintln!("{finding:?}"))?;
//!     if let (Verdict::Take, Event::TextMessageContent(content)) = (verdict, event) {
//!         text.push_str(&content.delta);
//!     }
//!     Ok(())
//! })?;
//! assert_eq!(text, "Hi");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]
// No clock, file, socket, thread or random number: clippy.toml has the list.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod event;
mod id;
mod money;
mod time;
pub mod wire;

pub use id::*;
pub use money::{NotUsd, Usd};
pub use time::Timestamp;
