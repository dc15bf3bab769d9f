//! Commands between the hosts of a store.

use super::check;
use super::error::{StoreError, StoreFuture};
use super::record::SentCommand;
use super::wake::{Changes, Wakers};
use crate::base::lock;
use futures::FutureExt;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::future::ready;
use std::sync::{Arc, LazyLock, Mutex};
use stepwell_core::registry::ThreadKey;

/// The most commands that wait for one owner.
pub(super) const MAX_WAITING_COMMANDS: u64 = 10_000;

/// Commands to the owners of turns, kept until they are answered and fetched: an answer to a question, say, that
/// arrives at another host than the one that drives the turn.
///
/// The sender subscribes to the id of its command, sends it, waits for the reply, and removes the command. It also
/// removes a command for which it waits no longer; a store may delete a command that is older than an hour. An owner
/// may see a command again after its reply, if the reply was not stored.
pub trait Inbox: Debug + Send + Sync {
    /// Sends a command to its owner. Sent again, under the same id, it changes nothing.
    ///
    /// # Errors
    /// [`Unavailable`](StoreError::Unavailable) if 10,000 commands wait for the owner.
    fn send<'a>(&'a self, command: &'a SentCommand) -> StoreFuture<'a, ()>;

    /// Returns the ids of the commands to an owner that have no reply, in the order in which they were sent: `limit` at most.
    fn waiting<'a>(&'a self, owner: &'a str, limit: usize) -> StoreFuture<'a, Vec<String>>;

    /// Returns a command; `None` if it was removed.
    fn command<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<SentCommand>>;

    /// Replies to a command. The first reply counts. A command that was removed needs none.
    fn reply<'a>(&'a self, id: &'a str, reply: &'a str) -> StoreFuture<'a, ()>;

    /// Returns the reply to a command; `None` if there is none yet.
    fn reply_to<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<String>>;

    /// Removes a command, replied to or not.
    fn remove<'a>(&'a self, id: &'a str) -> StoreFuture<'a, ()>;

    /// Wakes when there may be a new command to the owner of this name, or a reply to the command of this id.
    fn subscribe<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Changes>;
}

/// Returns the key that wakes the followers of an owner's commands, or of a command's reply. It is no thread.
pub(super) fn followed(name: &str) -> ThreadKey {
    ThreadKey::new("~", "commands", name)
}

/// The commands of hosts in one process.
#[derive(Clone, Debug, Default)]
pub(super) struct LocalInbox {
    commands: Arc<Mutex<VecDeque<StoredCommand>>>,
    wakers: Wakers,
}

#[derive(Debug)]
struct StoredCommand {
    sent: SentCommand,
    reply: Option<String>,
}

impl LocalInbox {
    /// Returns the inbox of this process.
    pub(super) fn here() -> &'static Self {
        static HERE: LazyLock<LocalInbox> = LazyLock::new(LocalInbox::default);
        &HERE
    }

    fn add(&self, command: &SentCommand) -> Result<(), StoreError> {
        check::command(command)?;
        let mut commands = lock(&self.commands);
        if commands.iter().any(|kept| kept.sent.id == command.id) {
            return Ok(());
        }
        let waiting = commands.iter().filter(|kept| kept.is_for(&command.owner));
        check_waiting(waiting.count() as u64)?;
        commands.push_back(StoredCommand {
            sent: command.clone(),
            reply: None,
        });
        Ok(())
    }
}

impl StoredCommand {
    fn is_for(&self, owner: &str) -> bool {
        self.reply.is_none() && self.sent.owner == owner
    }
}

/// # Errors
/// Too many commands wait for an owner already.
pub(super) fn check_waiting(count: u64) -> Result<(), StoreError> {
    if count < MAX_WAITING_COMMANDS {
        return Ok(());
    }
    Err(StoreError::Unavailable {
        message: format!("{MAX_WAITING_COMMANDS} commands wait for the host of the turn"),
    })
}

impl Inbox for LocalInbox {
    fn send<'a>(&'a self, command: &'a SentCommand) -> StoreFuture<'a, ()> {
        let sent = self.add(command);
        self.wakers.wake(&followed(&command.owner));
        ready(sent).boxed()
    }

    fn waiting<'a>(&'a self, owner: &'a str, limit: usize) -> StoreFuture<'a, Vec<String>> {
        let commands = lock(&self.commands);
        let waiting = commands.iter().filter(|kept| kept.is_for(owner));
        let waiting = waiting.take(limit).map(|kept| kept.sent.id.clone());
        ready(Ok(waiting.collect())).boxed()
    }

    fn command<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<SentCommand>> {
        let commands = lock(&self.commands);
        let kept = commands.iter().find(|kept| kept.sent.id == id);
        ready(Ok(kept.map(|kept| kept.sent.clone()))).boxed()
    }

    fn reply<'a>(&'a self, id: &'a str, reply: &'a str) -> StoreFuture<'a, ()> {
        if let Err(refused) = check::reply(reply) {
            return ready(Err(refused)).boxed();
        }
        let mut commands = lock(&self.commands);
        if let Some(kept) = commands.iter_mut().find(|kept| kept.sent.id == id) {
            kept.reply.get_or_insert_with(|| reply.to_owned());
        }
        drop(commands);
        self.wakers.wake(&followed(id));
        ready(Ok(())).boxed()
    }

    fn reply_to<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<String>> {
        let commands = lock(&self.commands);
        let kept = commands.iter().find(|kept| kept.sent.id == id);
        ready(Ok(kept.and_then(|kept| kept.reply.clone()))).boxed()
    }

    fn remove<'a>(&'a self, id: &'a str) -> StoreFuture<'a, ()> {
        lock(&self.commands).retain(|kept| kept.sent.id != id);
        ready(Ok(())).boxed()
    }

    fn subscribe<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Changes> {
        ready(Ok(self.wakers.subscribe(&followed(name)))).boxed()
    }
}
