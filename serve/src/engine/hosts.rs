//! Commands for a turn that reach a host which does not drive it. The host sends a command to the turn's owner through
//! the store that they share, and waits for the reply.

use crate::engine::done::is_done;
use crate::engine::reply::Reply;
use crate::engine::times::LOOKED_EVERY;
use crate::engine::{Command, Driver, EngineError, LONGEST_REQUEST};
use crate::turn::answers::Unresumable;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stepwell_core::registry::ThreadKey;
use stepwell_io::RunId;
use stepwell_io::store::{
    Changes, Heard, RESTING, SentCommand, SentReply, StoreError, TurnKey, Unfinished,
};
use tokio::time::Instant;
use uuid::Uuid;

/// The most commands of other hosts that are handled at once.
const MAX_HEARD: usize = 256;

/// A message to a turn, as it is sent.
#[derive(Debug, Serialize, Deserialize)]
struct ForTurn {
    thread: ThreadKey,
    turn: RunId,
    says: TurnMessage,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TurnMessage {
    /// Somebody reads it. No reply is waited for.
    IsRead,
    Command {
        command: Command,
        /// An owner before was sent it too, and did not reply.
        is_again: bool,
    },
}

/// The commands of other hosts that are being handled, by their ids, with the replies that wait to be stored.
#[derive(Clone, Debug, Default)]
struct ReceivedCommands(Arc<Mutex<HashMap<String, CommandState>>>);

#[derive(Clone, Debug)]
enum CommandState {
    Waiting,
    Replied(String),
}

impl ReceivedCommands {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, CommandState>> {
        // Nothing is left half-done under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the error for a caller that has waited for another host for too long.
pub(crate) fn late() -> EngineError {
    let message = "the host that drives the turn has not replied in time".to_owned();
    StoreError::Unavailable { message }.into()
}

fn no_answer() -> StoreError {
    let message = "it does not answer".to_owned();
    StoreError::Unavailable { message }
}

fn unreadable(error: &serde_json::Error) -> EngineError {
    tracing::error!(target: "stepwell", %error, "a command between hosts cannot be read: they may be of different versions");
    EngineError::Internal
}

fn for_owner(turn: &Unfinished, says: TurnMessage) -> Result<SentCommand, EngineError> {
    let command = ForTurn {
        thread: turn.key.thread.clone(),
        turn: turn.key.turn.clone(),
        says,
    };
    Ok(SentCommand {
        id: Uuid::new_v4().simple().to_string(),
        owner: turn.owner.clone(),
        command: serde_json::to_string(&command).map_err(|error| unreadable(&error))?,
    })
}

impl Driver {
    /// Sends a command to the owner of a turn, and returns the reply; `None` if the turn has another owner before, or has
    /// ended.
    pub(crate) async fn ask_owner(
        &self,
        turn: &Unfinished,
        command: &Command,
        is_again: bool,
        until: Instant,
    ) -> Result<Option<Reply>, EngineError> {
        let says = TurnMessage::Command {
            command: command.clone(),
            is_again,
        };
        let sent = for_owner(turn, says)?;
        let reply = tokio::time::timeout_at(until, self.send(turn, &sent)).await;
        let (store, key) = (Arc::clone(self.store()), turn.key.clone());
        tokio::spawn(async move {
            if let Err(error) = store.inbox().remove(&sent.id).await {
                tracing::debug!(target: "stepwell", turn = %key, %error, "a command stays that nobody waits for");
            }
        });
        reply.unwrap_or_else(|_| Err(late()))
    }

    /// Notifies the host that drives a turn, if it is another one, of a reader here. Returns whether the turn continues.
    pub(crate) async fn say_read(&self, turn: &TurnKey) -> Result<bool, EngineError> {
        let Some(turn) = self.unfinished(turn).await? else {
            return Ok(false);
        };
        let is_driven = turn.owner != RESTING && Some(&*turn.owner) != self.setup().elsewhere;
        if is_driven && turn.owner != self.setup().owner {
            let sent = for_owner(&turn, TurnMessage::IsRead)?;
            self.store().inbox().send(&sent).await?;
        }
        Ok(true)
    }

    async fn send(
        &self,
        turn: &Unfinished,
        sent: &SentCommand,
    ) -> Result<Option<Reply>, EngineError> {
        let inbox = self.store().inbox();
        let mut replied = inbox.subscribe(&sent.id).await?;
        let mut changes = self.store().subscribe(&turn.key.thread).await?;
        inbox.send(sent).await?;
        loop {
            if let Some(reply) = inbox.reply_to(&sent.id).await? {
                let reply = serde_json::from_str(&reply).map_err(|error| unreadable(&error))?;
                return Ok(Some(reply));
            }
            match self.unfinished(&turn.key).await? {
                Some(stands) if stands.owner == sent.owner => {}
                _ => return Ok(None),
            }
            tokio::select! {
                biased;
                () = replied.changed() => {}
                () = changes.changed() => {}
                // The owner may have died without a reply.
                () = tokio::time::sleep(LOOKED_EVERY) => {}
            }
        }
    }

    /// Handles the commands that other hosts send for this host's turns, until the engine is stopped.
    pub(crate) async fn keep_hearing(self) {
        let over = self.own_lease().over.clone();
        let heard = ReceivedCommands::default();
        let mut changes = None;
        loop {
            let looked = self.hear_waiting(&mut changes, &heard);
            let looked = tokio::time::timeout(LONGEST_REQUEST, looked).await;
            if let Err(error) = looked.unwrap_or_else(|_| Err(no_answer())) {
                tracing::warn!(target: "stepwell", %error, "the commands of other hosts cannot be read; trying again");
            }
            let changed = async {
                match &mut changes {
                    Some(changes) => changes.changed().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = over.cancelled() => return,
                () = changed => {}
                () = tokio::time::sleep(LOOKED_EVERY) => {}
            }
        }
    }

    async fn hear_waiting(
        &self,
        changes: &mut Option<Changes>,
        heard: &ReceivedCommands,
    ) -> Result<(), StoreError> {
        let (inbox, owner) = (self.store().inbox(), &self.setup().owner);
        if changes.is_none() {
            *changes = Some(inbox.subscribe(owner).await?);
        }
        let waiting = inbox.waiting(owner, MAX_HEARD).await?;
        // Their senders wait no longer.
        let mut known = heard.lock();
        known.retain(|id, at| matches!(at, CommandState::Waiting) || waiting.contains(id));
        drop(known);
        for id in waiting {
            let before = heard.lock().insert(id.clone(), CommandState::Waiting);
            let reply = match before {
                Some(CommandState::Waiting) => continue,
                Some(CommandState::Replied(reply)) => Some(reply),
                None => None,
            };
            let (driver, heard) = (self.clone(), heard.clone());
            tokio::spawn(async move {
                if let Err(error) = driver.hear(&id, reply, &heard).await {
                    tracing::warn!(target: "stepwell", %error, "another host waits for a reply; trying again");
                }
            });
        }
        Ok(())
    }

    /// Tells a turn what another host has sent, and replies. A turn that is not driven here, or ends meanwhile, gives no
    /// reply: the other host looks where it is by then.
    async fn hear(
        &self,
        id: &str,
        replied: Option<String>,
        heard: &ReceivedCommands,
    ) -> Result<(), EngineError> {
        let reply = match replied {
            Some(reply) => Ok(Some(reply)),
            None => self.reply_to(id).await,
        };
        let Ok(Some(reply)) = reply else {
            heard.lock().remove(id);
            return reply.map(drop);
        };
        let stored = self.store().inbox().reply(id, &reply);
        let stored = tokio::time::timeout(LONGEST_REQUEST, stored).await;
        let stored = stored.unwrap_or_else(|_| Err(no_answer()));
        let mut heard = heard.lock();
        match stored {
            Ok(()) => heard.remove(id),
            // A command that was handled is not handled again.
            Err(_) => heard.insert(id.to_owned(), CommandState::Replied(reply)),
        };
        Ok(stored?)
    }

    async fn reply_to(&self, id: &str) -> Result<Option<String>, EngineError> {
        let command = self.store().inbox().command(id);
        let command = tokio::time::timeout(LONGEST_REQUEST, command).await;
        let Some(sent) = command.unwrap_or_else(|_| Err(no_answer()))? else {
            return Ok(None);
        };
        if let Some(sent) = SentReply::from_text(&sent.command) {
            return self.hear_reply(sent).await;
        }
        let told: ForTurn =
            serde_json::from_str(&sent.command).map_err(|error| unreadable(&error))?;
        let key = TurnKey::new(told.thread, told.turn);
        let active = self.find(&key);
        let (command, is_again) = match told.says {
            TurnMessage::Command { command, is_again } => (command, is_again),
            TurnMessage::IsRead => {
                if let Some(active) = active {
                    active.note_reader();
                }
                self.store().inbox().remove(id).await?;
                return Ok(None);
            }
        };
        let Some(active) = active else {
            return Ok(None);
        };
        let reply = match active.tell(command.clone()).await {
            Err(EngineError::Over) => return Ok(None),
            // The owner before may have done it.
            Err(
                EngineError::NoCall { .. }
                | EngineError::NotWaiting { .. }
                | EngineError::Answers(_),
            ) if is_again && is_done(self.store(), &key, &command).await? => Reply::Done,
            heard => heard.into(),
        };
        let reply = serde_json::to_string(&reply).map_err(|error| unreadable(&error))?;
        Ok(Some(reply))
    }

    /// Gives a turn the reply of a conversation in a process that is no host, and returns the acknowledgement.
    async fn hear_reply(&self, sent: SentReply) -> Result<Option<String>, EngineError> {
        let SentReply {
            thread,
            turn,
            id,
            reply,
        } = sent;
        let Some(active) = self.find(&TurnKey::new(thread, turn)) else {
            return Ok(None);
        };
        let heard = match active.tell(Command::Reply(id.clone(), reply)).await {
            Ok(()) => Heard::Done,
            Err(EngineError::NoCall { .. } | EngineError::NotWaiting { .. }) => {
                Heard::NotAwaited { id }
            }
            Err(EngineError::Answers(Unresumable::Unknown(_))) => Heard::NotPending { id },
            Err(EngineError::Answers(error)) => Heard::Unfit {
                message: error.to_string(),
            },
            Err(EngineError::Over) => return Ok(None),
            Err(error) => return Err(error),
        };
        let heard = serde_json::to_string(&heard).map_err(|error| unreadable(&error))?;
        Ok(Some(heard))
    }
}
