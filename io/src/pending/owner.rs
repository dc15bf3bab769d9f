//! A reply to a turn that this process does not drive.

use super::listener::{Heard, SentReply};
use super::reply::Reply;
use crate::agent::recover::claim;
use crate::durable::{StoreSetup, in_time};
use crate::error::Error;
use crate::start::runner::Runner;
use crate::start::when_busy::WhenBusy;
use crate::store::{RESTING, SentCommand, StoreError, Unfinished};
use crate::turn::events::TurnEvents;
use crate::turn::handle::TurnError;
use futures::{FutureExt, StreamExt};
use std::time::Duration;
use stepwell_core::run::RunEvent;
use uuid::Uuid;

/// How long a reply may take, with the time until the lease of a dead process has expired.
const MAX_WAIT: Duration = Duration::from_secs(20);

/// How often the turn is looked for at another owner.
const SEARCH_INTERVAL: Duration = Duration::from_millis(500);

/// Sends the reply to the process that drives the conversation's turn. If no process drives it, the turn continues here.
pub(super) async fn reply(runner: &Runner, id: &str, reply: Reply) -> Result<(), Error> {
    let Some(stored) = runner.stored() else {
        return Err(TurnError::Over.into());
    };
    let replied = tokio::time::timeout(MAX_WAIT, async {
        loop {
            let record = in_time(stored.store.thread(&runner.thread.key)).await?;
            let Some(turn) = record.and_then(|record| record.unfinished) else {
                return Err(TurnError::Over.into());
            };
            let heard = if is_driven(&stored, &turn).await? {
                ask(&stored, &turn, id, &reply).await?
            } else {
                continue_here(runner, &stored, &turn, id, &reply).await?
            };
            if let Some(heard) = heard {
                return heard.into_result();
            }
        }
    });
    replied.await.unwrap_or_else(|_| {
        let message = "the process that drives the turn has not answered in time".to_owned();
        Err(StoreError::Unavailable { message }.into())
    })
}

/// Returns whether another process, or another agent, drives the turn.
async fn is_driven(stored: &StoreSetup, turn: &Unfinished) -> Result<bool, StoreError> {
    if turn.owner == RESTING || turn.owner == stored.owner {
        return Ok(false);
    }
    let orphans = in_time(stored.store.orphans()).await?;
    Ok(!orphans.iter().any(|orphan| orphan.key == turn.key))
}

/// Sends the reply to the turn's owner, and returns what the owner says; `None` if the turn has another owner by now.
async fn ask(
    stored: &StoreSetup,
    turn: &Unfinished,
    id: &str,
    reply: &Reply,
) -> Result<Option<Heard>, Error> {
    let command = SentReply {
        thread: turn.key.thread.clone(),
        turn: turn.key.turn.clone(),
        id: id.to_owned(),
        reply: reply.clone(),
    };
    let sent = SentCommand {
        id: Uuid::new_v4().simple().to_string(),
        owner: turn.owner.clone(),
        command: command.to_text(),
    };
    let heard = wait_for(stored, turn, &sent).await;
    let (store, id) = (stored.store.clone(), sent.id);
    tokio::spawn(async move {
        if let Err(error) = in_time(store.inbox().remove(&id)).await {
            tracing::debug!(target: "stepwell", %error, "a command stays that nobody waits for");
        }
    });
    heard
}

async fn wait_for(
    stored: &StoreSetup,
    turn: &Unfinished,
    sent: &SentCommand,
) -> Result<Option<Heard>, Error> {
    let inbox = stored.store.inbox();
    let mut changes = in_time(inbox.subscribe(&sent.id)).await?;
    in_time(inbox.send(sent)).await?;
    loop {
        if let Some(reply) = in_time(inbox.reply_to(&sent.id)).await? {
            return Ok(Some(Heard::from_text(&reply)?));
        }
        let record = in_time(stored.store.thread(&turn.key.thread)).await?;
        let now = record.and_then(|record| record.unfinished);
        let is_same = now.is_some_and(|now| now.key == turn.key && now.owner == turn.owner);
        if !is_same || !is_driven(stored, turn).await? {
            return Ok(None);
        }
        tokio::select! {
            biased;
            () = changes.changed() => {}
            () = tokio::time::sleep(SEARCH_INTERVAL) => {}
        }
    }
}

/// A turn that continues here, and goes on by itself when this is dropped: also if the caller waits no longer.
struct LeftAlone(Option<TurnEvents>);

impl LeftAlone {
    async fn next(&mut self) -> Option<RunEvent> {
        self.0.as_mut()?.next().await
    }

    async fn reply(&self, id: &str, reply: &Reply) -> Result<(), TurnError> {
        let turn = self.0.as_ref().ok_or(TurnError::Over)?;
        turn.handle().reply(id, reply.clone()).await
    }
}

impl Drop for LeftAlone {
    fn drop(&mut self) {
        if let Some(turn) = self.0.take() {
            turn.detach();
        }
    }
}

/// Continues the turn in this process, and gives it the reply; `None` if another process was quicker.
async fn continue_here(
    runner: &Runner,
    stored: &StoreSetup,
    turn: &Unfinished,
    id: &str,
    reply: &Reply,
) -> Result<Option<Heard>, Error> {
    let waits = super::pending(&*stored.store, turn.key.thread.clone()).await?;
    if !waits.iter().any(|waits| waits.id == *id) {
        return Ok(Some(Heard::not_pending(id, reply)));
    }
    let setup = runner.agent.turn_setup(true);
    let lease = in_time(stored.lease().boxed()).await?;
    let begin = match claim(&setup, stored, &lease, turn).await? {
        Some(begin) => begin?,
        None => return Ok(None),
    };
    let mut turn = LeftAlone(Some(runner.begin_if_free(begin, WhenBusy::Fail)));
    // A turn that continues reports first what waits.
    while let Some(event) = turn.next().await {
        if let RunEvent::Pending { pending } = &event
            && pending.iter().any(|waits| waits.id == *id)
        {
            break;
        }
    }
    match turn.reply(id, reply).await {
        Ok(()) => Ok(Some(Heard::Done)),
        Err(error) => Err(error.into()),
    }
}
