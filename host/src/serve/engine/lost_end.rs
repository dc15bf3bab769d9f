//! The log of a turn that is over, and whose host died before it could tell all of it.

use super::super::ending::{Ending, LIMIT_REACHED};
use super::super::rounds::Rounds;
use super::announce::{Stands, announce};
use super::call_labels::CallLabels;
use super::event_writer::{EventWriter, Log};
use super::local::LocalSetup;
use super::stored_results::watched;
use std::sync::Arc;
use stepwell_core::event::{Event, RunAgentInput};
use stepwell_core::run::{Outcome, TurnStatus};
use stepwell_core::session::{MessageBuilder, Turn};
use stepwell_io::StoredTurn;
use stepwell_io::store::{Generation, StoreError, TurnKey};
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
    let (_, results) = watched(Arc::clone(store));
    let log = Log {
        store: Arc::clone(store),
        turn: StoredTurn {
            key: key.clone(),
            generation: current,
        },
        results,
        leave,
        trouble: watch::Sender::default(),
    };
    let (mut writer, written) = EventWriter::open(log).await?;
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
        written: &written,
        tools: &setup.tools,
    };
    announce(stands, &mut writer, &mut rounds, &mut CallLabels::default()).await;
    let input = RunAgentInput {
        thread_id: key.thread.thread.clone(),
        run_id: key.turn.clone(),
        ..RunAgentInput::default()
    };
    let ending = ending(turn);
    if !written.events.iter().any(is_limit)
        && let Some(notice) = ending.notice()
    {
        writer.append(notice).await;
    }
    writer.end(ending.event(&input, None)).await
}

fn is_limit(event: &Event) -> bool {
    matches!(event, Event::Custom(custom) if custom.name == LIMIT_REACHED)
}

fn is_end(event: &Event) -> bool {
    matches!(event, Event::RunFinished(_) | Event::RunError(_))
}

fn ending(turn: &Turn) -> Ending {
    let outcome = match (&turn.outcome, turn.status) {
        (Some(outcome), _) => outcome,
        (None, TurnStatus::Cancelled) => &Outcome::Cancelled,
        (None, TurnStatus::Complete) => &Outcome::Success,
        (None, _) => {
            return Ending::failed("turn_failed", "the turn failed: see the server's log");
        }
    };
    Ending::stored(outcome)
}
