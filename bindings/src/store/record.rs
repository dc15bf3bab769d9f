//! What a store is given and gives back.

use crate::effect::{Block, TurnStatus};
use crate::json_value::JsonValue;
use crate::session::TurnRecord;
use crate::thread_key::ThreadKey;
use crate::time::Timestamp;
use stepwell_core::session;
use stepwell_io::store::{self, Generation};
use stepwell_mirror::mirror;

mirror! {
    /// Names one turn. Run ids need only be unique in their thread.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, uniffi::Record)]
    #[mirror(stepwell_io::store::TurnKey, own, both)]
    pub struct TurnKey {
        /// The conversation.
        thread: ThreadKey,
        /// The run id of the turn's first hop.
        turn: RunId,
    }

    /// A turn that begins.
    #[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
    #[mirror(stepwell_io::store::NewTurn, own)]
    pub struct NewTurn {
        /// Its name.
        key: TurnKey,
        /// The turn before it on its path; none for the first of a thread. Two turns of one parent are branches.
        parent: Option<RunId>,
        /// What the user said, an AG-UI message in JSON; none where the turn goes on from the history alone.
        message: Option<Message>,
        /// The conversation before the turn, where the turns on its path do not give it: JSON, to be kept as it is.
        history: Option<Box<TurnHistory>>,
        /// The checkpoint that the run comes back from if its process dies before the first write.
        checkpoint: Option<String>,
        /// Who writes it.
        owner: String,
        /// The thread's title, if it has none yet.
        title: Option<String>,
        /// Now.
        at: Timestamp,
    }

    /// What is stored of a turn at once.
    #[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
    #[mirror(stepwell_io::store::PersistBatch, own)]
    pub struct PersistBatch {
        /// The number of the first block; of the one that would come next, if there are none.
        first: u64,
        /// The blocks, numbered from `first` on without a gap. May be empty: the end of a turn alone.
        blocks: Vec<Block>,
        /// Where the turn stands with them. Anything but streaming closes it.
        status: TurnStatus,
        /// How it ended, if it does: JSON, to be kept as it is.
        outcome: Option<JsonValue> = outcome.as_ref().map(JsonValue::of),
        /// What the run comes back from, with the blocks: made when they were.
        checkpoint: String,
        /// The index of the first event; of the one that would come next, if there are none.
        #[uniffi(default = 0)]
        first_event: u64,
        /// Events of the turn's log that are stored with the blocks, as by `append_events`. Those of an agent have none.
        #[uniffi(default = [])]
        events: Vec<String>,
        /// Now.
        at: Timestamp,
    }

    /// A turn that now is the caller's.
    #[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
    #[mirror(stepwell_io::store::Claimed, own, both)]
    pub struct Claimed {
        /// What to write with.
        generation: u64 = generation.0 => Generation(generation),
        /// The newest checkpoint of the turn; none if it was begun without one and nothing was written since.
        checkpoint: Option<String>,
    }

    /// A turn that has not come to its end.
    #[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
    #[mirror(stepwell_io::store::Unfinished, own, both)]
    pub struct Unfinished {
        /// The turn.
        key: TurnKey,
        /// Its generation, to claim it with.
        generation: u64 = generation.0 => Generation(generation),
        /// Who has it.
        owner: String,
        /// When something of it was last stored.
        updated_at: Timestamp,
    }

    /// A thread as a list of threads shows it.
    #[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
    #[mirror(stepwell_io::store::ThreadRecord, own, both)]
    pub struct ThreadRecord {
        /// Its name.
        key: ThreadKey,
        /// What it is about.
        title: Option<String>,
        /// When its first turn began.
        created_at: Timestamp,
        /// When something of a turn of it was last stored.
        updated_at: Timestamp,
        /// The turn that began last.
        latest: Option<RunId>,
        /// The turn that has not come to its end, if there is one.
        unfinished: Option<Unfinished>,
    }

    /// A place in the list of threads: the last thread of a page.
    #[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
    #[mirror(stepwell_io::store::ThreadCursor, own, both)]
    pub struct ThreadCursor {
        /// When the thread was last used: its `updated_at`.
        updated_at: Timestamp,
        /// The thread.
        key: ThreadKey,
    }

    /// Which threads to list.
    #[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
    #[mirror(stepwell_io::store::ThreadQuery, own, both)]
    pub struct ThreadQuery {
        /// Of this server alone.
        #[uniffi(default = None)]
        server: Option<String>,
        /// Of this room alone.
        #[uniffi(default = None)]
        room: Option<String>,
        /// From after this place on.
        #[uniffi(default = None)]
        after: Option<ThreadCursor>,
        /// How many at most.
        #[uniffi(default = 50)]
        limit: u32 = u32::try_from(limit).unwrap_or(u32::MAX)
            => usize::try_from(limit).unwrap_or(usize::MAX),
    }

    /// Something that the user was shown of a turn.
    #[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
    #[mirror(stepwell_io::store::LoggedEvent, own, both)]
    pub struct LoggedEvent {
        /// Its number in the turn: 0, 1, 2 … without a gap.
        index: u64,
        /// What was shown, in the words of whoever logged it.
        data: String,
    }

    /// The log of what the user was shown of a turn.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, uniffi::Record)]
    #[mirror(stepwell_io::store::EventLog, own, both)]
    pub struct EventLog {
        /// The index that the next event gets: as many events there are.
        next: u64,
        /// The last event that the user is known to have seen.
        acknowledged: Option<u64>,
    }
}

/// A turn as the app's store gave it.
pub(super) fn turn_of(record: TurnRecord) -> Result<session::Turn, store::StoreError> {
    session::Turn::try_from(record).map_err(|message| store::StoreError::Damaged { message })
}
