//! Where an agent's turns are kept: [`SessionStore`], which is SQLite, memory, or the app's own [`Store`].

mod adapter;
mod error;
mod record;
mod session_store;
mod task;

pub use error::StoreError;
pub use record::{
    Claimed, EventLog, LoggedEvent, NewTurn, PersistBatch, ThreadCursor, ThreadQuery, ThreadRecord,
    TurnKey, Unfinished,
};
pub use session_store::SessionStore;
pub use task::{StoreAnswer, StoreCall, StoreRunner, StoreTask};

use crate::session::TurnRecord;
use crate::thread_key::ThreadKey;
use std::sync::Arc;

/// The app's own database, as a store of an agent's threads: see `SessionStore.of_app`.
///
/// A store holds threads; a thread holds a tree of turns; a turn holds its blocks in sequence, its status, the
/// checkpoint to revive it from, and the log of what the user was shown. A turn has one writing owner at a time.
///
/// Each method is one transaction: it is done completely or not at all, even if the call is cancelled midway, and what
/// the method has confirmed survives the death of the process. Methods are called from Stepwell's threads, several at
/// once. A method that fails throws the `StoreError` that gives the reason; any other exception counts as
/// `StoreError.Other`, and the call is retried.
///
/// Names that are too long or hold a NUL, and batches whose numbers do not fit, never reach the store.
#[uniffi::export(foreign)]
#[async_trait::async_trait]
pub trait Store: Send + Sync {
    /// Begins a turn, and its thread if that is new; the turn's status is streaming. Returns the turn's generation, 1.
    ///
    /// `Busy` if another turn of the thread is unfinished, `Exists` if the thread has a turn of this id, `NoTurn` if
    /// there is no such parent.
    async fn begin_turn(&self, turn: NewTurn) -> Result<u64, StoreError>;

    /// Makes `owner` the owner of an unfinished turn, if its generation is still `seen`: compare-and-swap, in the
    /// database. Returns the new generation, one higher, and the checkpoint to continue from.
    ///
    /// `Stale` if another owner claimed the turn first, `Closed` if the turn is over, `NoTurn`.
    async fn claim(&self, turn: TurnKey, seen: u64, owner: String) -> Result<Claimed, StoreError>;

    /// Stores blocks, status, outcome and checkpoint. Blocks that are stored already must be the same, and change
    /// nothing: a batch may be sent again, alone or as a part of a longer one. The newer checkpoint replaces the older;
    /// a closed turn has none. A batch that ends before what is stored is an earlier one that arrives late: it changes
    /// nothing. Nor does a batch that closes a turn with the end that the turn already has.
    ///
    /// `Stale` if `generation` is not the turn's, `Gap` if blocks are missing before the first, `Conflict` if one is
    /// stored with another content, `Closed` if the turn has ended otherwise, `NoTurn`.
    async fn persist(
        &self,
        turn: TurnKey,
        generation: u64,
        batch: PersistBatch,
    ) -> Result<(), StoreError>;

    /// Returns the unfinished turns, oldest first: all, or those that `owner` has.
    async fn unfinished(&self, owner: Option<String>) -> Result<Vec<Unfinished>, StoreError>;

    /// Returns a turn with its blocks; none if there is no such turn.
    async fn turn(&self, turn: TurnKey) -> Result<Option<TurnRecord>, StoreError>;

    /// Returns all turns of a thread, in the order in which they began; none if there is no such thread.
    async fn turns(&self, thread: ThreadKey) -> Result<Vec<TurnRecord>, StoreError>;

    /// Returns a thread; none if there is no such thread.
    async fn thread(&self, thread: ThreadKey) -> Result<Option<ThreadRecord>, StoreError>;

    /// Returns threads, the last used first, then by server, room and thread.
    async fn threads(&self, query: ThreadQuery) -> Result<Vec<ThreadRecord>, StoreError>;

    /// Gives a thread a title. It does not count as use. `NoThread`.
    async fn rename_thread(&self, thread: ThreadKey, title: String) -> Result<(), StoreError>;

    /// Deletes a thread with all that it holds, and returns whether there was one. The owner of an unfinished turn of
    /// the thread gets `NoTurn` at the next write.
    async fn delete_thread(&self, thread: ThreadKey) -> Result<bool, StoreError>;

    /// Appends to the log of what the user is shown of a turn; the first of `events` gets the index `first`. As for
    /// blocks, events that are stored already must be the same, and change nothing. The owner may still append when the
    /// turn is closed. An agent keeps no such log: it is for hosts that serve turns to others.
    ///
    /// `Stale`, `Gap`, `Conflict`, `NoTurn`.
    async fn append_events(
        &self,
        turn: TurnKey,
        generation: u64,
        first: u64,
        events: Vec<String>,
    ) -> Result<(), StoreError>;

    /// Returns what was shown of a turn after the event `after`, or from the beginning: `limit` events at most.
    /// `NoTurn`.
    async fn events(
        &self,
        turn: TurnKey,
        after: Option<u64>,
        limit: u32,
    ) -> Result<Vec<LoggedEvent>, StoreError>;

    /// Returns how long the log of a turn is, and how much of it was acknowledged. `NoTurn`.
    async fn event_log(&self, turn: TurnKey) -> Result<EventLog, StoreError>;

    /// Records that the user has seen the events up to and including `index`. The acknowledged index never decreases.
    /// `Gap` if there is no such event; `NoTurn`.
    async fn acknowledge(&self, turn: TurnKey, index: u64) -> Result<(), StoreError>;
}

/// How an agent uses a store.
#[derive(Clone, Debug, uniffi::Record)]
pub struct StoreSetup {
    /// The store.
    pub store: Arc<SessionStore>,
    /// Whether turns wait for the store however long it takes, while the store is full, read-only, or unreachable.
    /// Otherwise a write is tried as often as `RunConfig.persist_attempts` says, or 6 times by default, before the turn
    /// fails.
    #[uniffi(default = false)]
    pub waits: bool,
}
