//! The stores of turns: what a store must do, in three traits, and the stores that come with Stepwell.
//!
//! A store holds threads; a thread holds a tree of turns; a turn holds its blocks in sequence, its status, the
//! checkpoint from which it can be revived, and the log of what the user was shown. A turn is written by one owner at a
//! time:
//!
//! 1. [`begin_turn`](TurnStore::begin_turn) before anything is sent to the model. A thread has at most one unfinished turn:
//!    if two hosts begin one at the same time, one host wins, and the other gets [`StoreError::Busy`].
//! 2. [`persist`](TurnStore::persist) for each write of the machine
//!    ([`Effect::Persist`](stepwell_core::run::Effect::Persist)): blocks, status and checkpoint in one transaction.
//!    With its last write the turn is closed, once.
//! 3. [`claim`](TurnStore::claim) to continue a turn whose owner died, or to take the turn from an owner that is alive. A
//!    claim raises the turn's [`Generation`] in the database; after that the writes of the former owner are refused with
//!    [`StoreError::Stale`], so no lease and no clock is needed to keep two owners apart.
//!
//! An owner of turns holds a [`Lease`], which it renews while it is alive. The turns of owners whose leases have
//! expired are [orphans](TurnStore::orphans), which any host may claim. A lease only says where a claim is worth trying:
//! only the generation keeps two owners apart.
//!
//! A host sends a command for a turn of another owner to the owner's [inbox](TurnStore::inbox).
//!
//! Readers need no ownership: [`events`](EventStore::events) returns what the user was shown, from any index on, and
//! [`subscribe`](EventStore::subscribe) wakes when there may be more, also for turns of other hosts on the same database. To
//! follow a turn without gap or repeat: subscribe first, then read from the last index until no event comes, then wait
//! for [`Changes::changed`], and so on.
//!
//! An app with its own database implements the part that it uses:
//!
//! | trait | what it stores | used by |
//! |---|---|---|
//! | [`TurnStore`] | turns with their blocks, checkpoints and owners, and the commands between hosts | an agent and its conversations |
//! | [`ThreadStore`] | the list of threads, their titles and trees | an app that lists conversations |
//! | [`EventStore`] | what clients were shown of each turn | a server |
//! | [`Store`] | all three | a server, as a program |
//!
//! `store_contract!` of the feature `testing` tests any store against the rules in the comments of the traits' methods,
//! part by part, and [`check`] has the refusals that all stores share. A store that only changes some behaviour of another
//! store implements [`StoreLayer`].
//!
//! The stores that come with Stepwell implement all parts:
//!
//! | store | for |
//! |---|---|
//! | [`MemoryStore`] | tests, and apps that keep nothing |
#![cfg_attr(
    feature = "sqlite",
    doc = "| [`SqliteStore`] | an app, or a server whose processes share a file |"
)]
#![cfg_attr(
    feature = "postgres",
    doc = "| [`PostgresStore`] | several hosts on one database |"
)]

pub mod check;
#[cfg(feature = "testing")]
pub mod contract;
mod error;
mod event_store;
mod inbox;
mod layer;
mod lease;
mod leases;
mod memory;
mod process;
mod record;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod sql;
mod thread_store;
mod turn_store;
mod wake;

pub use crate::pending::pending;
/// For a host that drives turns in a way of its own, and takes the replies of other processes.
#[doc(hidden)]
pub use crate::pending::{Heard, Reply, SentReply};
pub use error::{StoreError, StoreFuture};
pub use event_store::EventStore;
pub use inbox::Inbox;
pub use layer::StoreLayer;
pub(crate) use lease::LEASE_TERM;
pub use lease::Lease;
pub use leases::LeaseKey;
pub use memory::MemoryStore;
pub use record::{
    Claimed, EventLog, Generation, LoggedEvent, NewTurn, PersistBatch, RESTING, SentCommand,
    ThreadCursor, ThreadQuery, ThreadRecord, TurnKey, TurnOutline, Unfinished,
};
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub use sql::SqlStore;
#[cfg(feature = "postgres")]
pub use sql::{PostgresOptions, PostgresStore};
#[cfg(feature = "sqlite")]
pub use sql::{SqliteOptions, SqliteStore, SqliteSync};
pub use thread_store::ThreadStore;
pub use turn_store::TurnStore;
pub use wake::{Changes, Wakers};

/// A store with all parts, which a server needs: turns, event logs and threads. Every type that implements the three parts
/// is a `Store`.
pub trait Store: EventStore + ThreadStore {}

impl<S: EventStore + ThreadStore + ?Sized> Store for S {}
