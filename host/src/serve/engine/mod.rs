//! Who drives stored turns: [`Engine`] starts, answers and cancels them. Whatever comes of a turn is in the store, so
//! whoever reads needs no engine, and may be on another host.
//!
//! The one engine is [`local`]: a task of this process for each turn. Turns that are to move from machine to machine
//! would run on an engine that makes them durable itself, behind the same trait.

mod announce;
#[cfg(test)]
mod asked_again;
mod call_labels;
mod commands;
mod drive;
mod event_writer;
mod local;
mod lost_end;
mod session_state;
mod session_turn;
mod store_waits;
mod stored;
mod take_over;
mod taken;
#[cfg(test)]
mod tests;

pub(super) use local::{LocalEngine, LocalSetup};

use super::client_tools::TurnTools;
use super::store_trouble::StoreTrouble;
use futures::future::BoxFuture;
use std::fmt::Debug;
use stepwell_core::ToolCallId;
use stepwell_core::event::{Message, ResumeEntry};
use stepwell_core::registry::ThreadKey;
use stepwell_io::store::{StoreError, TurnKey};
use stepwell_io::{RunId, ToolResult};
use tokio::sync::watch;

/// A turn to begin.
#[derive(Clone, Debug)]
pub(super) struct NewTurn {
    pub(super) thread: ThreadKey,
    /// Its id, unique in the thread.
    pub(super) turn: RunId,
    pub(super) parent: Parent,
    /// What the user said; absent to go on from the path alone.
    pub(super) message: Option<Message>,
    /// The name of the model that is to answer, if not the usual one.
    pub(super) model: Option<String>,
    /// The client's tools, if it has any.
    pub(super) tools: Option<TurnTools>,
}

/// Where a turn hangs in its thread's tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Parent {
    /// At the turn that began last.
    Latest,
    /// At none: it begins the thread, or begins it anew.
    Root,
    /// At this one. A second turn of one parent is a branch.
    Turn(RunId),
}

/// Why an engine did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub(super) enum EngineError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The turn has come to its end.
    #[error("the turn is over")]
    Over,
    /// Another host drives it.
    #[error("another host has the turn, `{owner}`: ask that one")]
    Elsewhere { owner: String },
    /// The answers do not fit what is asked.
    #[error(transparent)]
    Answers(#[from] stepwell_io::serve::Unresumable),
    /// The turn has no such call under way.
    #[error("the turn has no call `{call}` under way: it is done, or the id is another one")]
    NoCall { call: ToolCallId },
    /// Nobody waits for a result of the call.
    #[error(
        "no result of the call `{call}` is awaited: it has one, or its `tool_status` is not `deferred` yet"
    )]
    NotWaiting { call: ToolCallId },
    /// So many turns are under way.
    #[error("{most} turns are under way, and no more are taken: try again in a while")]
    TooMany { most: usize },
    /// It takes nothing more.
    #[error("the server is stopping: try again in a while")]
    Stopping,
    /// The turn cannot be set up, or revived.
    #[error("the server cannot go on with the turn: see its log")]
    Internal,
}

/// Starts, answers and cancels turns.
pub(super) trait Engine: Debug + Send + Sync {
    /// Begins a turn, once it is stored that it has begun. A turn of the thread that is under way is cancelled first.
    fn start(&self, turn: NewTurn) -> BoxFuture<'_, Result<TurnKey, EngineError>>;

    /// Answers what a turn asks the user.
    fn answer<'a>(
        &'a self,
        turn: &'a TurnKey,
        answers: Vec<ResumeEntry>,
    ) -> BoxFuture<'a, Result<(), EngineError>>;

    /// Stops one call of a turn; the others go on.
    fn cancel_call<'a>(
        &'a self,
        turn: &'a TurnKey,
        call: ToolCallId,
    ) -> BoxFuture<'a, Result<(), EngineError>>;

    /// Brings what a client's tool gave, and waits until it is stored.
    fn bring_result<'a>(
        &'a self,
        turn: &'a TurnKey,
        call: ToolCallId,
        result: ToolResult,
    ) -> BoxFuture<'a, Result<(), EngineError>>;

    /// Completes the log of a turn that is over, and that nobody drives any more: its host may have died before it could
    /// tell the end.
    fn tell_end<'a>(&'a self, turn: &'a TurnKey) -> BoxFuture<'a, Result<(), EngineError>>;

    /// Waits until a turn that is over, and is driven here still, has told its end; not for long.
    fn told<'a>(&'a self, turn: &'a TurnKey) -> BoxFuture<'a, ()>;

    /// What keeps a turn that is driven here from being stored, as it changes.
    fn trouble(&self, turn: &TurnKey) -> Option<watch::Receiver<Option<StoreTrouble>>>;

    /// Whether a turn that is driven here waits for the user; of another host's turn that is not known.
    fn asks(&self, turn: &TurnKey) -> bool;

    /// Cancels a turn, and waits until that is stored. One that is over stays as it is.
    fn cancel<'a>(&'a self, turn: &'a TurnKey) -> BoxFuture<'a, Result<(), EngineError>>;
}
