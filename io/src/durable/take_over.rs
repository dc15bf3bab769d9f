//! Ends an unfinished turn of a thread for a new turn: its host died, or is another one.

use super::beginning::Beginning;
use super::history::revive_stored;
use crate::store::{Claimed, PersistBatch, StoreError, TurnKey, Unfinished};
use std::sync::Arc;
use stepwell_core::Timestamp;
use stepwell_core::run::{
    Effect, EffectId, Input, KilledPolicy, Outcome, Output, RunMachine, TurnStatus,
};
use stepwell_core::transcript::Transcript;

/// Claims the turn, so that its owner can write no more, and ends it as cancelled. Returns the conversation after it,
/// if its run could be read.
pub(crate) async fn take_over(
    beginning: &Beginning<'_>,
    unfinished: &Unfinished,
    now: Timestamp,
) -> Result<Option<Transcript>, StoreError> {
    let turn = &unfinished.key;
    // The turn may have ended in the meantime.
    let Some(claimed) = beginning.claim(turn).await? else {
        return Ok(None);
    };
    tracing::info!(target: "stepwell", turn = %turn.turn, owner = unfinished.owner, "an unfinished turn is stopped: the user has moved on");
    let mut config = (**beginning.config).clone();
    config.device.killed = KilledPolicy::Cancel;
    let checkpoint = claimed.checkpoint.as_deref().unwrap_or_default();
    let path = beginning.path(turn).await?;
    match revive_stored(checkpoint, &path, &Arc::new(config), now) {
        Ok(mut machine) => {
            let ended = write_all(beginning, turn, &claimed, &mut machine, now).await?;
            Ok(ended.then(|| machine.transcript().clone()))
        }
        Err(error) => {
            tracing::warn!(target: "stepwell", turn = %turn.turn, %error, "its run cannot be read: what is stored of it stands");
            close(beginning, turn, &claimed, now).await?;
            Ok(None)
        }
    }
}

/// Carries out the last writes of a run that is over. Returns whether its end is stored.
async fn write_all(
    beginning: &Beginning<'_>,
    turn: &TurnKey,
    claimed: &Claimed,
    machine: &mut RunMachine,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let mut is_closed = false;
    loop {
        let mut write = None;
        while let Some(output) = machine.poll_output() {
            if let Output::Effect(id @ EffectId::Persist { .. }, effect) = output {
                write = Some((id, effect));
            }
        }
        let Some((id, effect)) = write else { break };
        let (
            EffectId::Persist { sequence },
            Effect::Persist {
                status,
                outcome,
                blocks,
                checkpoint,
                ..
            },
        ) = (id, effect)
        else {
            break;
        };
        let batch = PersistBatch {
            first: sequence,
            blocks,
            status,
            outcome,
            checkpoint,
            first_event: 0,
            events: Vec::new(),
            at: now,
        };
        persist(beginning, turn, claimed, &batch).await?;
        is_closed |= batch.status != TurnStatus::Streaming;
        if machine
            .handle(Input::Persisted { effect: id }, now)
            .is_err()
        {
            break;
        }
    }
    if !is_closed {
        close(beginning, turn, claimed, now).await?;
    }
    Ok(is_closed)
}

/// Ends a turn with the blocks that are stored.
async fn close(
    beginning: &Beginning<'_>,
    turn: &TurnKey,
    claimed: &Claimed,
    now: Timestamp,
) -> Result<(), StoreError> {
    let store = &beginning.stored.store;
    let stored = beginning.call(|| store.turn(turn)).await?;
    let batch = PersistBatch {
        first: stored.map_or(0, |stored| stored.blocks.len() as u64),
        blocks: Vec::new(),
        status: TurnStatus::Cancelled,
        outcome: Some(Outcome::Cancelled),
        checkpoint: String::new(),
        first_event: 0,
        events: Vec::new(),
        at: now,
    };
    persist(beginning, turn, claimed, &batch).await
}

async fn persist(
    beginning: &Beginning<'_>,
    turn: &TurnKey,
    claimed: &Claimed,
    batch: &PersistBatch,
) -> Result<(), StoreError> {
    let store = &beginning.stored.store;
    beginning
        .call(|| store.persist(turn, claimed.generation, batch))
        .await
}
