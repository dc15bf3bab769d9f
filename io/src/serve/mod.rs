//! Agents behind a server of your own: runs for [AG-UI](https://docs.ag-ui.com) clients and for chats of the AI SDK,
//! whatever brings their requests. `stepwell-axum` has the routes for axum.
//!
//! [`AgUiServer`] takes runs, with the client's tools, its state, and its answers to what a turn asked. [`run_of`] makes a
//! whole run of a turn that the app has begun itself. Both give an [`EventStream`], whose
//! [`frames`](EventStream::frames) are the body of an answer, in an [`Encoding`].

mod agent;
mod answers;
mod asking;
mod client_tools;
mod drive;
mod encoding;
mod ending;
mod event_log;
mod format;
mod frames;
mod input;
mod interrupts;
mod lawful;
mod open_turn;
mod places;
mod questions;
mod refused;
mod resumed;
mod rounds;
mod run;
mod run_clock;
mod server;
mod shared_state;
mod stop;
mod trust;
mod ui_message;
mod writer;

pub use answers::Unresumable;
pub use encoding::Encoding;
pub use event_log::{Entry, EventStream};
pub use format::Format;
pub use input::{check_content_type, read_input};
pub use places::Permit;
pub use refused::{Refused, RefusedReason};
pub use run::{AgUiRun, run_of};
pub use server::{AgUiServer, Prepared, RunLimits, understand};
pub use trust::ClientTrust;
pub use ui_message::{ChatRequest, ChatStream, ChatStreams, UiMessageEncoder};

/// What `stepwell serve` makes the turns of its stored sessions of, beside the runs of [`AgUiServer`]. It may change with
/// any version.
#[doc(hidden)]
pub mod parts {
    pub use super::answers::{Answers, Asker, Question};
    pub use super::asking::{Asking, ToolAsks, approver};
    pub use super::client_tools::{UnusableTools, build, offer};
    pub use super::ending::{Ending, LIMIT_REACHED, custom, tool_progress, usage_since};
    pub use super::input::LONGEST_ID;
    pub use super::lawful::Lawful;
    pub use super::questions::{Asked, Questions};
    pub use super::rounds::Rounds;
    pub use super::run_clock::RunClock;
    pub use super::shared_state::{CHANGE_STATE, SharedState, offered_by, tool};
    pub use super::stop::Stop;
}
