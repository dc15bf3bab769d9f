use std::fmt;
use stepwell_core::event::Message;
use stepwell_core::registry::ThreadKey;
use stepwell_core::run::{Block, Outcome, TurnStatus};
use stepwell_core::session::TurnHistory;
use stepwell_core::{RunId, Timestamp};

/// How often the owner of a turn has changed: 1 for the one that began it. A store takes the writes of the highest one
/// alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub u64);

impl Generation {
    /// Of a turn that has just begun.
    pub const FIRST: Self = Self(1);

    /// Of the next owner.
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

/// Names one turn. Run ids need only be unique in their thread.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TurnKey {
    /// The conversation.
    pub thread: ThreadKey,
    /// The run id of the turn's first hop.
    pub turn: RunId,
}

impl TurnKey {
    /// A turn of a thread.
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

/// A turn that begins.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTurn {
    /// Its name.
    pub key: TurnKey,
    /// The turn before it on its path; none for the first of a thread. Two turns of one parent are branches.
    pub parent: Option<RunId>,
    /// What the user said; none where the turn goes on from the history alone.
    pub message: Option<Message>,
    /// The conversation before the turn, where the turns on its path do not give it: that of an agent which was given one
    /// that the store has no turns of.
    pub history: Option<Box<TurnHistory>>,
    /// The [checkpoint](stepwell_core::run::RunMachine::checkpoint) that the run comes back from if its host dies before the
    /// first write.
    pub checkpoint: Option<String>,
    /// Who writes it: a name that stays the same when the host is started again, and that no other host has.
    pub owner: String,
    /// The thread's title, if it has none yet.
    pub title: Option<String>,
    /// Now.
    pub at: Timestamp,
}

impl NewTurn {
    /// A turn that says nothing and has no parent; set the rest.
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
}

/// What is stored of a turn at once.
#[derive(Clone, Debug, PartialEq)]
pub struct PersistBatch {
    /// The number of the first block; of the one that would come next, if there are none.
    pub first: u64,
    /// The blocks, numbered from `first` on without a gap. May be empty: the end of a turn alone.
    pub blocks: Vec<Block>,
    /// Where the turn stands with them. Anything but streaming closes it.
    pub status: TurnStatus,
    /// How it ended, if it does.
    pub outcome: Option<Outcome>,
    /// What the run comes back from, with the blocks: made when they were.
    pub checkpoint: String,
    /// The index of the first event; of the one that would come next, if there are none.
    pub first_event: u64,
    /// Events of the turn's log that are stored with the blocks, as by [`append_events`](super::Store::append_events).
    pub events: Vec<String>,
    /// Now.
    pub at: Timestamp,
}

/// A turn as the tree of its thread has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnOutline {
    /// The turn.
    pub id: RunId,
    /// The turn before it on its path.
    pub parent: Option<RunId>,
    /// When it began.
    pub created_at: Timestamp,
}

/// A turn that now is the caller's.
#[derive(Clone, Debug, PartialEq)]
pub struct Claimed {
    /// What to write with.
    pub generation: Generation,
    /// What the run [comes back from](stepwell_core::run::RunMachine::revive_from), with the turns on its
    /// [path](super::Store::path). None if it was begun without one and nothing was written since: it is to begin anew, with
    /// its message.
    pub checkpoint: Option<String>,
}

/// A turn that has not come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// The turn.
    pub key: TurnKey,
    /// Its generation, to claim it with.
    pub generation: Generation,
    /// Who has it.
    pub owner: String,
    /// When something of it was last stored.
    pub updated_at: Timestamp,
}

/// The owner of turns that wait for their users, and that nobody drives meanwhile. They are no
/// [orphans](super::Store::orphans): whoever is given the answer claims them.
pub const RESTING: &str = "~resting";

/// A thread as a list of threads shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    pub latest: Option<RunId>,
    /// The turn that has not come to its end, if there is one.
    pub unfinished: Option<Unfinished>,
}

impl ThreadRecord {
    /// Where the next page begins, if this is the last thread of one.
    #[must_use]
    pub fn cursor(&self) -> ThreadCursor {
        ThreadCursor {
            updated_at: self.updated_at,
            key: self.key.clone(),
        }
    }
}

/// A place in the list of threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadCursor {
    /// When the thread was last used.
    pub updated_at: Timestamp,
    /// The thread.
    pub key: ThreadKey,
}

/// Which threads to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadQuery {
    /// Of this server alone.
    pub server: Option<String>,
    /// Of this room alone.
    pub room: Option<String>,
    /// From after this place on: the [cursor](ThreadRecord::cursor) of the last thread of the page before.
    pub after: Option<ThreadCursor>,
    /// How many at most.
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

/// Something that the user was shown of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedEvent {
    /// Its number in the turn: 0, 1, 2 … without a gap.
    pub index: u64,
    /// What was shown, in the words of whoever logged it: an AG-UI event as JSON, say.
    pub data: String,
}

/// The log of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventLog {
    /// The index that the next event gets: as many events there are.
    pub next: u64,
    /// The last event that the user is known to have seen.
    pub acknowledged: Option<u64>,
}

/// A command to the owner of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentCommand {
    /// A name that no other command has.
    pub id: String,
    /// The owner that it is for.
    pub owner: String,
    /// What is to be done, in the words of the hosts.
    pub command: String,
}
