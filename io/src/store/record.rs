use std::fmt;
use stepwell_core::event::Message;
use stepwell_core::registry::ThreadKey;
use stepwell_core::run::{Block, Outcome, TurnStatus};
use stepwell_core::session::{Turn, TurnHistory};
use stepwell_core::{RunId, Timestamp};

/// The number of owners that a turn has had: 1 for the owner that began it. A store accepts only the writes of the
/// highest generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub u64);

impl Generation {
    /// The generation of a turn that has just begun.
    pub const FIRST: Self = Self(1);

    /// Returns the generation of the next owner.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The name of a turn. Run ids need only be unique in their thread.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TurnKey {
    /// The conversation.
    pub thread: ThreadKey,
    /// The run id of the turn's first hop.
    pub turn: RunId,
}

impl TurnKey {
    /// Returns the key of a turn of a thread.
    #[must_use]
    pub fn new(thread: impl Into<ThreadKey>, turn: impl Into<RunId>) -> Self {
        Self {
            thread: thread.into(),
            turn: turn.into(),
        }
    }
}

/// For logs.
impl fmt::Display for TurnKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.turn, self.thread)
    }
}

/// A new turn.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTurn {
    /// Its name.
    pub key: TurnKey,
    /// The turn before it on its path; `None` for a first turn. Two turns with one parent are branches.
    pub parent: Option<RunId>,
    /// The user's message; `None` where the turn continues the history alone.
    pub message: Option<Message>,
    /// The conversation before the turn, where it cannot be rebuilt from the turns on its path: the history that an
    /// agent was given.
    pub history: Option<Box<TurnHistory>>,
    /// The [checkpoint](stepwell_core::run::RunMachine::checkpoint) from which the run is revived if its host dies
    /// before the first write.
    pub checkpoint: Option<String>,
    /// The owner that writes the turn. No other owner has its name.
    pub owner: String,
    /// The thread's title, if it has none yet.
    pub title: Option<String>,
    /// The present time.
    pub at: Timestamp,
}

impl NewTurn {
    /// Returns a turn without message and parent. Set the other fields as needed.
    #[must_use]
    pub fn new(key: TurnKey, owner: impl Into<String>, at: Timestamp) -> Self {
        Self {
            key,
            parent: None,
            message: None,
            history: None,
            checkpoint: None,
            owner: owner.into(),
            title: None,
            at,
        }
    }

    /// Returns the turn as it is stored before its first write.
    #[must_use]
    pub fn turn(&self) -> Turn {
        Turn {
            id: self.key.turn.clone(),
            parent: self.parent.clone(),
            history: self.history.clone(),
            message: self.message.clone(),
            status: TurnStatus::Streaming,
            outcome: None,
            created_at: self.at,
            updated_at: self.at,
            blocks: Vec::new(),
        }
    }
}

/// Changes of a turn that are stored together.
#[derive(Clone, Debug, PartialEq)]
pub struct PersistBatch {
    /// The number of the first block, or of the next block if there are none.
    pub first: u64,
    /// The blocks, numbered from `first` on without a gap. They may be empty, at the end of a turn.
    pub blocks: Vec<Block>,
    /// The turn's status after these blocks. Any status but streaming closes the turn.
    pub status: TurnStatus,
    /// The outcome, if the turn has ended.
    pub outcome: Option<Outcome>,
    /// The checkpoint from which the run is revived, together with these blocks.
    pub checkpoint: String,
    /// The index of the first event, or of the next event if there are none.
    pub first_event: u64,
    /// Events of the turn's log that are stored with the blocks, as by [`append_events`](super::EventStore::append_events).
    pub events: Vec<String>,
    /// The present time.
    pub at: Timestamp,
}

/// A turn in the tree of its thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnOutline {
    /// The turn.
    pub id: RunId,
    /// The turn before it on its path.
    pub parent: Option<RunId>,
    /// The time at which it began.
    pub created_at: Timestamp,
}

/// A turn that the caller has claimed.
#[derive(Clone, Debug, PartialEq)]
pub struct Claimed {
    /// The generation with which the caller writes the turn.
    pub generation: Generation,
    /// The checkpoint from which the run is [revived](stepwell_core::run::RunMachine::revive_from), with the turns on
    /// its [path](super::TurnStore::path). `None` if the turn was begun without a checkpoint and not written since: it
    /// begins again, with its message.
    pub checkpoint: Option<String>,
}

/// A turn that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// The turn.
    pub key: TurnKey,
    /// Its generation, to claim it with.
    pub generation: Generation,
    /// Its owner.
    pub owner: String,
    /// The time of its last write.
    pub updated_at: Timestamp,
}

/// The owner of turns that wait for their users, and that no host drives meanwhile. They are no
/// [orphans](super::TurnStore::orphans): a host that gets the user's answer claims them.
pub const RESTING: &str = "~resting";

/// A thread as a list of threads shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadRecord {
    /// Its name.
    pub key: ThreadKey,
    /// Its title.
    pub title: Option<String>,
    /// The time at which its first turn began.
    pub created_at: Timestamp,
    /// The time of the last write of a turn of it.
    pub updated_at: Timestamp,
    /// The turn that began last.
    pub latest: Option<RunId>,
    /// The unfinished turn, if there is one.
    pub unfinished: Option<Unfinished>,
}

impl ThreadRecord {
    /// Returns the cursor of the next page, if this is the last thread of a page.
    #[must_use]
    pub fn cursor(&self) -> ThreadCursor {
        ThreadCursor {
            updated_at: self.updated_at,
            key: self.key.clone(),
        }
    }
}

/// A position in the list of threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadCursor {
    /// The time of the thread's last use.
    pub updated_at: Timestamp,
    /// The thread.
    pub key: ThreadKey,
}

/// Which threads to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadQuery {
    /// Only threads of this server.
    pub server: Option<String>,
    /// Only threads of this room.
    pub room: Option<String>,
    /// Only threads after this position: the [cursor](ThreadRecord::cursor) of the last thread of the page before.
    pub after: Option<ThreadCursor>,
    /// The maximum number of threads.
    pub limit: usize,
}

impl Default for ThreadQuery {
    fn default() -> Self {
        Self {
            server: None,
            room: None,
            after: None,
            limit: 50,
        }
    }
}

/// An event that the user was shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedEvent {
    /// Its index in the turn: 0, 1, 2 … without a gap.
    pub index: u64,
    /// The event, in the format of the host that logged it: an AG-UI event as JSON, say.
    pub data: String,
}

/// The log of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventLog {
    /// The index of the next event, which is the number of events.
    pub next: u64,
    /// The last event that the user is known to have seen.
    pub acknowledged: Option<u64>,
}

/// A command to the owner of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentCommand {
    /// The unique name of the command.
    pub id: String,
    /// The owner that the command is for.
    pub owner: String,
    /// The command, in the format of the hosts.
    pub command: String,
}
