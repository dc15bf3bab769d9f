//! The log of a turn that is over, and whose host died before it could tell all of it.

use super::super::ending::{Ending, LIMIT_REACHED};
use super::super::rounds::Rounds;
use super::announce::{Stands, Statuses, announce};
use super::call_labels::CallLabels;
use super::event_writer::{self, EventWriter, Log};
use super::local::LocalSetup;
use super::session_turn::{SessionTurn, input};
use super::stored::watched;
use std::sync::Arc;
use stepwell_core::Timestamp;
use stepwell_core::event::Event;
use stepwell_core::run::{Outcome, TurnStatus};
use stepwell_core::session::MessageBuilder;
use stepwell_io::StoredTurn;
use stepwell_io::store::{Generation, PersistBatch, StoreError, TurnKey};
use time::OffsetDateTime;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Adds to the log what is stored of the turn and not told, and its end.
pub(super) async fn tell(
    setup: &LocalSetup,
    key: &TurnKey,
    leave: CancellationToken,
) -> Result<(), StoreError> {
    let store = &setup.store;
    let path = store.path(key).await?;
    let Some(turn) = path.last() else {
        return Ok(());
    };
    if turn.status == TurnStatus::Streaming {
        return Ok(());
    }
    // A write of nobody's is refused, and told whose turn it is.
    let nobody = store.append_events(key, Generation(0), 0, &[]).await;
    let Err(StoreError::Stale { current, .. }) = nobody else {
        return nobody;
    };
    let (_, stored) = watched(Arc::clone(store), None);
    let written = event_writer::read(store, key, &leave).await?;
    let log = Log {
        store: Arc::clone(store),
        turn: StoredTurn {
            key: key.clone(),
            generation: current,
        },
        stored,
        leave,
        trouble: watch::Sender::default(),
    };
    let mut writer = EventWriter::stored(log, &written);
    if written.events.last().is_some_and(is_end) {
        return writer.finish().await;
    }
    tracing::info!(target: "stepwell", turn = %key, "the end of a turn is told, which its host could not tell");
    let conversation = MessageBuilder::new().conversation(&path);
    let conversation = conversation.map_err(|error| StoreError::Damaged {
        message: error.to_string(),
    })?;
    let mut rounds = Rounds::new(key.turn.to_string());
    let stands = Stands {
        key,
        conversation: Some(&conversation),
        statuses: &Statuses::of_last(&path)?,
        asks: &[],
        written: &written,
        tools: &setup.tools,
    };
    announce(stands, &mut writer, &mut rounds, &mut CallLabels::default()).await;
    let ending = Ending::of_turn(turn.status, turn.outcome.as_ref());
    if !written.events.iter().any(is_limit)
        && let Some(notice) = ending.notice()
    {
        writer.append(notice).await;
    }
    writer.end(ending.event(&input(key), None)).await
}

/// Ends a turn that cannot go on, with what is stored of it.
pub(super) async fn fail(turn: &SessionTurn, generation: Generation) -> Result<(), StoreError> {
    let store = &turn.setup.store;
    let stored = store.turn(&turn.key).await?;
    let is_cancelled = turn.cancel.is_cancelled();
    let batch = PersistBatch {
        first: stored.map_or(0, |stored| stored.blocks.len() as u64),
        blocks: Vec::new(),
        status: match is_cancelled {
            true => TurnStatus::Cancelled,
            false => TurnStatus::Failed,
        },
        outcome: is_cancelled.then_some(Outcome::Cancelled),
        snapshot: String::new(),
        at: now(),
    };
    store.persist(&turn.key, generation, &batch).await?;
    tell(&turn.setup, &turn.key, turn.leave.clone()).await
}

fn now() -> Timestamp {
    let milliseconds = OffsetDateTime::now_utc().unix_timestamp_nanos() / 1_000_000;
    Timestamp(u64::try_from(milliseconds).unwrap_or_default())
}

fn is_limit(event: &Event) -> bool {
    matches!(event, Event::Custom(custom) if custom.name == LIMIT_REACHED)
}

fn is_end(event: &Event) -> bool {
    matches!(event, Event::RunFinished(_) | Event::RunError(_))
}
