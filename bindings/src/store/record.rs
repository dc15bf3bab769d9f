//! What a store is given and gives back.

use crate::effect::{Block, TurnStatus};
use crate::json_value::JsonValue;
use crate::session::TurnRecord;
use crate::thread_key::ThreadKey;
use crate::time::Timestamp;
use stepwell_core::{RunId, session};
use stepwell_io::store::{self, Generation};

/// Names one turn. Run ids need only be unique in their thread.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, uniffi::Record)]
pub struct TurnKey {
    /// The conversation.
    pub thread: ThreadKey,
    /// The run id of the turn's first hop.
    pub turn: String,
}

/// A turn that begins.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct NewTurn {
    /// Its name.
    pub key: TurnKey,
    /// The turn before it on its path; none for the first of a thread. Two turns of one parent are branches.
    pub parent: Option<String>,
    /// What the user said, an AG-UI message in JSON; none where the turn goes on from the history alone.
    pub message: Option<JsonValue>,
    /// The conversation before the turn, where the turns on its path do not give it: JSON, to be kept as it is.
    pub history: Option<JsonValue>,
    /// The checkpoint that the run comes back from if its process dies before the first write.
    pub checkpoint: Option<String>,
    /// Who writes it.
    pub owner: String,
    /// The thread's title, if it has none yet.
    pub title: Option<String>,
    /// Now.
    pub at: Timestamp,
}

/// What is stored of a turn at once.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct PersistBatch {
    /// The number of the first block; of the one that would come next, if there are none.
    pub first: u64,
    /// The blocks, numbered from `first` on without a gap. May be empty: the end of a turn alone.
    pub blocks: Vec<Block>,
    /// Where the turn stands with them. Anything but streaming closes it.
    pub status: TurnStatus,
    /// How it ended, if it does: JSON, to be kept as it is.
    pub outcome: Option<JsonValue>,
    /// What the run comes back from, with the blocks: made when they were.
    pub checkpoint: String,
    /// The index of the first event; of the one that would come next, if there are none.
    #[uniffi(default = 0)]
    pub first_event: u64,
    /// Events of the turn's log that are stored with the blocks, as by `append_events`. Those of an agent have none.
    #[uniffi(default = [])]
    pub events: Vec<String>,
    /// Now.
    pub at: Timestamp,
}

/// A turn that now is the caller's.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Claimed {
    /// What to write with.
    pub generation: u64,
    /// The newest checkpoint of the turn; none if it was begun without one and nothing was written since.
    pub checkpoint: Option<String>,
}

/// A turn that has not come to its end.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Unfinished {
    /// The turn.
    pub key: TurnKey,
    /// Its generation, to claim it with.
    pub generation: u64,
    /// Who has it.
    pub owner: String,
    /// When something of it was last stored.
    pub updated_at: Timestamp,
}

/// A thread as a list of threads shows it.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ThreadRecord {
    /// Its name.
    pub key: ThreadKey,
    /// What it is about.
    pub title: Option<String>,
    /// When its first turn began.
    pub created_at: Timestamp,
    /// When something of a turn of it was last stored.
    pub updated_at: Timestamp,
    /// The turn that began last.
    pub latest: Option<String>,
    /// The turn that has not come to its end, if there is one.
    pub unfinished: Option<Unfinished>,
}

/// A place in the list of threads: the last thread of a page.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ThreadCursor {
    /// When the thread was last used: its `updated_at`.
    pub updated_at: Timestamp,
    /// The thread.
    pub key: ThreadKey,
}

/// Which threads to list.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ThreadQuery {
    /// Of this server alone.
    #[uniffi(default = None)]
    pub server: Option<String>,
    /// Of this room alone.
    #[uniffi(default = None)]
    pub room: Option<String>,
    /// From after this place on.
    #[uniffi(default = None)]
    pub after: Option<ThreadCursor>,
    /// How many at most.
    #[uniffi(default = 50)]
    pub limit: u32,
}

/// Something that the user was shown of a turn.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct LoggedEvent {
    /// Its number in the turn: 0, 1, 2 … without a gap.
    pub index: u64,
    /// What was shown, in the words of whoever logged it.
    pub data: String,
}

/// The log of what the user was shown of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, uniffi::Record)]
pub struct EventLog {
    /// The index that the next event gets: as many events there are.
    pub next: u64,
    /// The last event that the user is known to have seen.
    pub acknowledged: Option<u64>,
}

impl From<store::TurnKey> for TurnKey {
    fn from(key: store::TurnKey) -> Self {
        Self {
            thread: key.thread.into(),
            turn: key.turn.into_string(),
        }
    }
}

impl From<TurnKey> for store::TurnKey {
    fn from(key: TurnKey) -> Self {
        Self::new(key.thread, key.turn)
    }
}

impl From<store::NewTurn> for NewTurn {
    fn from(new: store::NewTurn) -> Self {
        Self {
            key: new.key.into(),
            parent: new.parent.map(RunId::into_string),
            message: new.message.as_ref().map(JsonValue::of),
            history: new.history.as_deref().map(JsonValue::of),
            checkpoint: new.checkpoint,
            owner: new.owner,
            title: new.title,
            at: new.at.into(),
        }
    }
}

impl From<store::PersistBatch> for PersistBatch {
    fn from(batch: store::PersistBatch) -> Self {
        Self {
            first: batch.first,
            blocks: batch.blocks.into_iter().map(Into::into).collect(),
            status: batch.status.into(),
            outcome: batch.outcome.as_ref().map(JsonValue::of),
            checkpoint: batch.checkpoint,
            at: batch.at.into(),
            first_event: batch.first_event,
            events: batch.events,
        }
    }
}

impl From<Claimed> for store::Claimed {
    fn from(claimed: Claimed) -> Self {
        Self {
            generation: Generation(claimed.generation),
            checkpoint: claimed.checkpoint,
        }
    }
}

impl From<store::Unfinished> for Unfinished {
    fn from(unfinished: store::Unfinished) -> Self {
        Self {
            key: unfinished.key.into(),
            generation: unfinished.generation.0,
            owner: unfinished.owner,
            updated_at: unfinished.updated_at.into(),
        }
    }
}

impl From<Unfinished> for store::Unfinished {
    fn from(unfinished: Unfinished) -> Self {
        Self {
            key: unfinished.key.into(),
            generation: Generation(unfinished.generation),
            owner: unfinished.owner,
            updated_at: unfinished.updated_at.into(),
        }
    }
}

impl From<store::ThreadRecord> for ThreadRecord {
    fn from(record: store::ThreadRecord) -> Self {
        Self {
            key: record.key.into(),
            title: record.title,
            created_at: record.created_at.into(),
            updated_at: record.updated_at.into(),
            latest: record.latest.map(RunId::into_string),
            unfinished: record.unfinished.map(Into::into),
        }
    }
}

impl From<ThreadRecord> for store::ThreadRecord {
    fn from(record: ThreadRecord) -> Self {
        Self {
            key: record.key.into(),
            title: record.title,
            created_at: record.created_at.into(),
            updated_at: record.updated_at.into(),
            latest: record.latest.map(Into::into),
            unfinished: record.unfinished.map(Into::into),
        }
    }
}

impl From<store::ThreadQuery> for ThreadQuery {
    fn from(query: store::ThreadQuery) -> Self {
        let after = |after: store::ThreadCursor| ThreadCursor {
            updated_at: after.updated_at.into(),
            key: after.key.into(),
        };
        Self {
            server: query.server,
            room: query.room,
            after: query.after.map(after),
            limit: u32::try_from(query.limit).unwrap_or(u32::MAX),
        }
    }
}

impl From<ThreadQuery> for store::ThreadQuery {
    fn from(query: ThreadQuery) -> Self {
        let after = |after: ThreadCursor| store::ThreadCursor {
            updated_at: after.updated_at.into(),
            key: after.key.into(),
        };
        Self {
            server: query.server,
            room: query.room,
            after: query.after.map(after),
            limit: usize::try_from(query.limit).unwrap_or(usize::MAX),
        }
    }
}

impl From<LoggedEvent> for store::LoggedEvent {
    fn from(event: LoggedEvent) -> Self {
        Self {
            index: event.index,
            data: event.data,
        }
    }
}

impl From<EventLog> for store::EventLog {
    fn from(log: EventLog) -> Self {
        Self {
            next: log.next,
            acknowledged: log.acknowledged,
        }
    }
}

/// A turn as the app's store gave it.
pub(super) fn turn_of(record: TurnRecord) -> Result<session::Turn, store::StoreError> {
    session::Turn::try_from(record).map_err(|message| store::StoreError::Damaged { message })
}
