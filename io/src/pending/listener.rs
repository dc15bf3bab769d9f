//! Takes the replies that other processes send to the turns of this one, through the inbox of the store.

use super::reply::Reply;
use crate::base::lock;
use crate::durable::{StoreSetup, in_time};
use crate::error::Error;
use crate::store::{Changes, Lease, StoreError};
use crate::threads::Threads;
use crate::turn::handle::{TurnError, ask_for, reply_to};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Weak};
use std::time::Duration;
use stepwell_core::RunId;
use stepwell_core::registry::ThreadKey;

/// The most commands that are looked at in one go.
const MAX_COMMANDS: usize = 64;

/// How often the inbox is looked at without being woken.
const SEARCH_INTERVAL: Duration = Duration::from_secs(1);

/// A reply to a turn, as another process sends it to the turn's owner through the inbox of their store.
#[derive(Debug, Serialize, Deserialize)]
pub struct SentReply {
    /// The conversation.
    pub thread: ThreadKey,
    /// The turn.
    pub turn: RunId,
    /// The id of what waits, as [`pending`](crate::store::pending) lists it.
    pub id: String,
    /// The reply.
    pub reply: Reply,
}

impl SentReply {
    pub(super) fn to_text(&self) -> String {
        serde_json::json!({ "pending": self }).to_string()
    }

    /// Returns the reply of a command; `None` if it is a command of another kind.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Command {
            pending: SentReply,
        }
        let command: Result<Command, _> = serde_json::from_str(text);
        command.ok().map(|command| command.pending)
    }
}

/// The acknowledgement of a reply by the owner of the turn, or the reason of its refusal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::exhaustive_enums)]
pub enum Heard {
    /// The turn has taken the reply.
    Done,
    /// Nothing waits under the id.
    NotPending {
        /// The id.
        id: String,
    },
    /// No result of the call is awaited.
    NotAwaited {
        /// The provider's id for the call.
        id: String,
    },
    /// The arguments or the answer do not fit.
    Unfit {
        /// The reason.
        message: String,
    },
}

impl Heard {
    pub(super) fn from_text(text: &str) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(|error| {
            let message = format!("the reply of another process cannot be read: {error}");
            StoreError::Damaged { message }.into()
        })
    }

    /// Returns that nothing waits for such a reply.
    pub(super) fn not_pending(id: &str, reply: &Reply) -> Self {
        let id = id.to_owned();
        match reply {
            Reply::Result { .. } => Self::NotAwaited { id },
            _ => Self::NotPending { id },
        }
    }

    pub(super) fn into_result(self) -> Result<(), Error> {
        match self {
            Self::Done => Ok(()),
            Self::NotPending { id } => Err(TurnError::NotPending { id }.into()),
            Self::NotAwaited { id } => Err(TurnError::NotAwaited(id.into()).into()),
            Self::Unfit { message } => Err(Error::misuse(message)),
        }
    }

    /// Returns what to say of a reply; `None` if the turn is over: the sender looks where it is by then.
    fn of(replied: Result<(), TurnError>) -> Option<Self> {
        Some(match replied {
            Ok(()) => Self::Done,
            Err(TurnError::NotPending { id }) => Self::NotPending { id },
            Err(TurnError::NotAwaited(id)) => Self::NotAwaited {
                id: id.into_string(),
            },
            Err(TurnError::Over) => return None,
            Err(error) => Self::Unfit {
                message: error.to_string(),
            },
        })
    }
}

impl Threads {
    /// Listens to other processes for as long as this lease is held.
    pub(crate) fn listen(self: &Arc<Self>, lease: Option<&Arc<Lease>>) {
        let (Some(stored), Some(lease)) = (&self.stored, lease) else {
            return;
        };
        let mut listening = lock(&self.listening);
        if std::ptr::eq(listening.as_ptr(), Arc::as_ptr(lease)) {
            return;
        }
        *listening = Arc::downgrade(lease);
        let listener = Listener {
            threads: Arc::downgrade(self),
            lease: Arc::downgrade(lease),
            stored: stored.clone(),
        };
        tokio::spawn(listener.listen());
    }
}

struct Listener {
    threads: Weak<Threads>,
    lease: Weak<Lease>,
    stored: StoreSetup,
}

impl Listener {
    async fn listen(self) {
        let mut changes = None;
        while self.lease.strong_count() > 0 {
            if let Err(error) = self.take_all(&mut changes).await {
                tracing::debug!(target: "stepwell", %error, "the replies of other processes cannot be read; trying again");
            }
            let changed = async {
                match &mut changes {
                    Some(changes) => Changes::changed(changes).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = changed => {}
                () = tokio::time::sleep(SEARCH_INTERVAL) => {}
            }
        }
    }

    async fn take_all(&self, changes: &mut Option<Changes>) -> Result<(), StoreError> {
        let (inbox, owner) = (self.stored.store.inbox(), &self.stored.owner);
        if changes.is_none() {
            *changes = Some(in_time(inbox.subscribe(owner)).await?);
        }
        for id in in_time(inbox.waiting(owner, MAX_COMMANDS)).await? {
            let Some(sent) = in_time(inbox.command(&id)).await? else {
                continue;
            };
            let Some(command) = SentReply::from_text(&sent.command) else {
                continue;
            };
            let Some(heard) = self.take(command).await else {
                continue;
            };
            // A reply that is not stored is asked for again: what waited under the id has its reply by then.
            let text = serde_json::to_string(&heard).unwrap_or_default();
            in_time(inbox.reply(&id, &text)).await?;
        }
        Ok(())
    }

    /// Gives a turn the reply, if this process drives it.
    async fn take(&self, command: SentReply) -> Option<Heard> {
        let threads = self.threads.upgrade()?;
        let commands = threads.commands(&command.thread)?;
        let turn = ask_for(&commands, |machine| machine.turn().cloned()).await;
        if turn.ok()? != Some(command.turn) {
            return None;
        }
        Heard::of(reply_to(&commands, command.id, command.reply).await)
    }
}
