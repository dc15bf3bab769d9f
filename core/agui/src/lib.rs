//! AG-UI, the open protocol between agents and user interfaces, without IO: its [`event`]s and messages, the rules of
//! their order, and the framing of streams ([`wire`]).
//!
//! ```
//! use stepwell_agui::event::{Event, EventRef};
//! use stepwell_agui::wire::{FrameLimits, Framer, SseFramer};
//!
//! let mut framer = Framer::Sse(SseFramer::new(FrameLimits::default()));
//! framer.push(b"data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m1\",\"delta\":\"Hi\"}\n\n");
//! while let Some(frame) = framer.next_frame()? {
//!     let event = EventRef::from_json(frame.data)?.into_owned();
//!     assert!(matches!(event, Event::TextMessageContent(_)));
//! }
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
