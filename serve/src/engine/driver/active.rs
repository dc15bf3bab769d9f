//! A turn that this process drives, for those that reach it.

use crate::engine::{Command, CommandReply, Continued, EngineError, LONGEST_REQUEST};
use crate::turn::store_trouble::StoreTrouble;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use stepwell_io::store::StoreError;
use stepwell_io::turn::StoredTurn;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// Commands that may wait for a turn.
const MAX_WAITING_COMMANDS: usize = 8;

/// A turn under way.
#[derive(Clone, Debug)]
pub(crate) struct Active {
    commands: mpsc::Sender<(Command, CommandReply)>,
    pub(crate) cancel: CancellationToken,
    /// Releases this turn.
    pub(crate) leave: CancellationToken,
    pub(crate) ended: CancellationToken,
    pub(crate) trouble: watch::Receiver<Option<StoreTrouble>>,
    /// Whether the turn waits for the user.
    pub(crate) asks: watch::Receiver<bool>,
    /// Whether the turn waits for the user, or for a tool of the client's.
    pub(super) is_waiting: Arc<AtomicBool>,
    /// Whether the end of the turn is being reported: a client that receives the end finds room for another turn.
    pub(super) is_over: Arc<AtomicBool>,
    /// The turn as it is stored, once it is.
    pub(crate) stands: Arc<OnceLock<StoredTurn>>,
    /// The number of readers on this host.
    pub(crate) readers: watch::Sender<usize>,
}

/// The ends of an [`Active`] turn's channels that its task holds.
pub(super) struct TaskEnds {
    pub(super) commands: mpsc::Receiver<(Command, CommandReply)>,
    pub(super) trouble: watch::Sender<Option<StoreTrouble>>,
    pub(super) asks: watch::Sender<bool>,
}

/// Why an unfinished turn continues: because its host has died, if nothing else is set.
#[derive(Debug, Default)]
pub(crate) struct GoesOn {
    /// The turn must end as cancelled.
    pub(crate) cancelled: bool,
    /// Whether the turn has waited for as long as it may.
    pub(crate) has_lapsed: bool,
    /// The command that the turn begins with.
    pub(crate) command: Option<(Command, CommandReply)>,
}

impl GoesOn {
    pub(crate) fn cancelled() -> Self {
        Self {
            cancelled: true,
            ..Self::default()
        }
    }
}

impl Active {
    /// Creates a turn that is released when `leave` is cancelled.
    pub(super) fn new(leave: &CancellationToken) -> (Self, TaskEnds) {
        let (commands, receiver) = mpsc::channel(MAX_WAITING_COMMANDS);
        let (trouble, troubles) = watch::channel(None);
        let (asks, asked) = watch::channel(false);
        let active = Self {
            commands,
            cancel: CancellationToken::new(),
            leave: leave.child_token(),
            ended: CancellationToken::new(),
            trouble: troubles,
            asks: asked,
            is_waiting: Arc::default(),
            is_over: Arc::default(),
            stands: Arc::default(),
            readers: watch::Sender::default(),
        };
        let ends = TaskEnds {
            commands: receiver,
            trouble,
            asks,
        };
        (active, ends)
    }

    /// Sends a new turn its first command. Returns the command if the turn begins with it, as with a new run.
    pub(super) fn send_first(
        &self,
        command: (Command, CommandReply),
    ) -> Option<(Box<Continued>, CommandReply)> {
        match command {
            (Command::Continue(continued), reply) => Some((continued, reply)),
            command => {
                // The channel is new, and has room.
                let _ = self.commands.try_send(command);
                None
            }
        }
    }

    /// Returns whether the turn waits neither for its user nor for a tool of the client's.
    pub(super) fn is_working(&self) -> bool {
        !self.is_waiting() && !self.is_over.load(Ordering::Relaxed)
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.is_waiting.load(Ordering::Relaxed)
    }

    /// Somebody reads the turn, at another host.
    pub(crate) fn note_reader(&self) {
        self.readers.send_modify(|_| {});
    }

    /// Sends the turn a command, and waits until it is handled and its effects are stored.
    pub(crate) async fn tell(&self, command: Command) -> Result<(), EngineError> {
        let (reply, replied) = oneshot::channel();
        let answered = async {
            if self.commands.send((command, reply)).await.is_err() {
                return Err(EngineError::Over);
            }
            replied.await.map_err(|_| EngineError::Over)?
        };
        let answered = tokio::time::timeout(LONGEST_REQUEST, answered).await;
        answered.unwrap_or_else(|_| {
            let message = "what the turn was told waits to be stored".to_owned();
            Err(StoreError::Unavailable { message }.into())
        })
    }
}
