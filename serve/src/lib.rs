//! Agents behind a server of your own: runs for [AG-UI](https://docs.ag-ui.com) clients, chats of the [AI
//! SDK](https://ai-sdk.dev), and stored threads, over any transport. The routes of an axum app are in [`axum`].
//!
//! [`AgUiServer`] takes runs, with the client's tools, its state, and its answers to what a turn asked. [`run_of`]
//! makes a complete run of a turn that the app has begun itself. Both return an [`EventStream`], whose
//! [`frames`](EventStream::frames) are the body of an answer, in an [`Encoding`].
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(feature = "axum")]
pub mod axum;
mod engine;
mod follow;
mod request;
mod run;
mod turn;
mod ui_message;
mod wire;

pub use follow::RunStream;
pub use request::{
    ClientTrust, Refused, RefusedReason, StopRequest, check_content_type, read_input, understand,
};
pub use run::{AgUiServer, RunLimits, run_of};
pub use turn::Unresumable;
pub use ui_message::{ChatRequest, ChatStream, STREAM_ID, UiMessageEncoder, stream_id};
pub use wire::{Encoding, Entry, EventStream, Format, LAST_EVENT_ID};

/// The parts of `stepwell serve` besides the runs of [`AgUiServer`]. They may change with any version.
#[doc(hidden)]
pub mod parts {
    pub use crate::engine::{
        Command, Continued, Driver, DriverSetup, Engine, EngineError, Journals, LocalEngine,
        NewTurn, Observer, Origin, Parent, Permit, RunObserver,
    };
    #[cfg(feature = "restate")]
    pub use crate::engine::{RestateEngine, RestateSettings};
    pub use crate::follow::{Follow, FollowError};
    pub use crate::request::client_tools::UnusableTools;
    pub use crate::request::input::LONGEST_ID;
    pub use crate::run::{Cursor, PreparedRun};
    pub use crate::turn::agent::{TurnAgent, UnusableTurnTools};
    pub use crate::turn::brought::{Brought, Given, RunTerms};
    pub use crate::turn::compactions::{ShownCompaction, compactions_in};
    pub use crate::turn::ending::{Ending, custom};
    pub use crate::turn::models;
    pub use crate::turn::shared_state::{CHANGE_STATE, offered_by, tool};
    pub use crate::turn::store_trouble::StoreTrouble;

    /// The traits with which the simulation replaces Restate.
    #[cfg(all(feature = "restate", feature = "testing"))]
    pub use crate::engine::seam;
}
