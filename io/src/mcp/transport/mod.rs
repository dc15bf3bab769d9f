//! The transports of servers: the SDK's own, with limits, and with what keeps every call from waiting for ever.
//!
//! The SDK's own child process cannot fail a call by a limit, and its own HTTP client is reqwest, on which this crate
//! must not depend (`io/deny.toml`).

mod answer;
mod child;
mod ending;
mod environment;
mod event_size;
mod http;
mod http_client;
mod lines;
mod unreadable;

pub(super) use self::http::http;
pub(super) use child::{ChildTransport, Program};
pub(super) use ending::Ending;
