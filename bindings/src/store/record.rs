//! The data that a store receives and returns.

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
        /// The key of the turn.
        key: TurnKey,
        /// The turn before it on its path; none for the first of a thread. Two turns with the same parent are branches.
        parent: Option<RunId>,
        /// What the user said, an AG-UI message in JSON; none where the turn continues from the history alone.
        message: Option<Message>,
        /// The conversation before the turn, where the turns on its path do not contain it: JSON, to be stored
        /// unchanged.
        history: Option<Box<TurnHistory>>,
        /// The checkpoint to revive the run from if its process dies before the first write.
        checkpoint: Option<String>,
        /// The owner, which writes the turn.
        owner: String,
        /// The thread's title, if it has none yet.
        title: Option<String>,
        /// The current time.
        at: Timestamp,
    }

    /// What is stored of a turn in one write.
    #[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
    #[mirror(stepwell_io::store::PersistBatch, own)]
    pub struct PersistBatch {
        /// The number of the first block, or of the block that would come next, if there are none.
        first: u64,
        /// The blocks, numbered from `first` without a gap. May be empty: for the end of a turn alone.
        blocks: Vec<Block>,
        /// The status of the turn after the blocks. Any status but streaming closes the turn.
        status: TurnStatus,
        /// How the turn ended, if it does: JSON, to be stored unchanged.
        outcome: Option<JsonValue> = outcome.as_ref().map(JsonValue::of),
        /// The checkpoint to revive the run from, made together with the blocks.
        checkpoint: String,
        /// The index of the first event, or of the event that would come next, if there are none.
        #[uniffi(default = 0)]
        first_event: u64,
        /// Events of the turn's log that are stored with the blocks, as by `append_events`. An agent's batches have
        /// none.
        #[uniffi(default = [])]
        events: Vec<String>,
        /// The current time.
        at: Timestamp,
    }

    /// A turn that the caller now owns.
    #[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
    #[mirror(stepwell_io::store::Claimed, own, both)]
    pub struct Claimed {
        /// The generation to write with.
        generation: u64 = generation.0 => Generation(generation),
        /// The newest checkpoint of the turn; none if the turn was begun without one and not written since.
        checkpoint: Option<String>,
    }

    /// An unfinished turn.
    #[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
    #[mirror(stepwell_io::store::Unfinished, own, both)]
    pub struct Unfinished {
        /// The turn.
        key: TurnKey,
        /// The turn's generation, to claim it with.
        generation: u64 = generation.0 => Generation(generation),
        /// The owner of the turn.
        owner: String,
        /// When something of the turn was last stored.
        updated_at: Timestamp,
    }

    /// A thread as a list of threads shows it.
    #[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
    #[mirror(stepwell_io::store::ThreadRecord, own, both)]
    pub struct ThreadRecord {
        /// The key of the thread.
        key: ThreadKey,
        /// The title of the thread.
        title: Option<String>,
        /// When the thread's first turn began.
        created_at: Timestamp,
        /// When something of one of its turns was last stored.
        updated_at: Timestamp,
        /// The turn that began last.
        latest: Option<RunId>,
        /// The unfinished turn, if there is one.
        unfinished: Option<Unfinished>,
    }

    /// A position in the list of threads: the last thread of a page.
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
        /// Only threads of this server.
        #[uniffi(default = None)]
        server: Option<String>,
        /// Only threads of this room.
        #[uniffi(default = None)]
        room: Option<String>,
        /// The position after which the list begins.
        #[uniffi(default = None)]
        after: Option<ThreadCursor>,
        /// The maximum number of threads.
        #[uniffi(default = 50)]
        limit: u32 = u32::try_from(limit).unwrap_or(u32::MAX)
            => usize::try_from(limit).unwrap_or(usize::MAX),
    }

    /// An event that the user was shown of a turn.
    #[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
    #[mirror(stepwell_io::store::LoggedEvent, own, both)]
    pub struct LoggedEvent {
        /// The event's number in the turn: 0, 1, 2 … without a gap.
        index: u64,
        /// What was shown, in the form in which it was logged.
        data: String,
    }

    /// The log of what the user was shown of a turn.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, uniffi::Record)]
    #[mirror(stepwell_io::store::EventLog, own, both)]
    pub struct EventLog {
        /// The index that the next event gets, which is the number of events.
        next: u64,
        /// The last event that the user is known to have seen.
        acknowledged: Option<u64>,
    }
}

/// Converts a turn as the app's store returned it.
pub(super) fn turn_of(record: TurnRecord) -> Result<session::Turn, store::StoreError> {
    session::Turn::try_from(record).map_err(|message| store::StoreError::Damaged { message })
}
