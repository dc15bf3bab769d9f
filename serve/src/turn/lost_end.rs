//! The log of a turn that is over, and whose host died before it could report all of it.

use crate::engine::DriverSetup;
use crate::turn::announce::{QuestionIds, RunHead, Stands, Statuses, announce};
use crate::turn::brought::Brought;
use crate::turn::call_labels::CallLabels;
use crate::turn::compactions::StoredCompactions;
use crate::turn::ending::{Ending, LIMIT_REACHED};
use crate::turn::event_writer;
use crate::turn::event_writer::{EventWriter, Log, Written};
use crate::turn::in_runs::input;
use crate::turn::rounds::Rounds;
use crate::turn::runs::{Open, Runs};
use crate::turn::stored::watched;
use std::sync::Arc;
use stepwell_core::Timestamp;
use stepwell_core::event::{Event, Message, RunOutcome};
use stepwell_core::run::{Block, BlockContent, Outcome, TurnStatus, cut_messages};
use stepwell_core::session::{MessageBuilder, Turn};
use stepwell_core::transcript::Transcript;
use stepwell_io::RunId;
use stepwell_io::store::{Generation, PersistBatch, Store, StoreError, TurnKey};
use stepwell_io::turn::StoredTurn;
use time::OffsetDateTime;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Returns whether the log of a turn has its end.
///
/// # Errors
/// The store cannot be read.
pub(crate) async fn is_told(store: &Arc<dyn Store>, key: &TurnKey) -> Result<bool, StoreError> {
    let Some(last) = store.event_log(key).await?.next.checked_sub(1) else {
        return Ok(false);
    };
    let events = store.events(key, last.checked_sub(1), 1).await?;
    let last = events.last();
    let event = last.and_then(|last| serde_json::from_str(&last.data).ok());
    Ok(event.as_ref().is_some_and(is_turn_end))
}

/// Adds to the log what is stored of the turn and not reported, and its end.
pub(crate) async fn tell(
    setup: &DriverSetup,
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
    // A write without an owner is refused, and the error names the turn's current generation.
    let nobody = store.append_events(key, Generation(0), 0, &[]).await;
    let Err(StoreError::Stale { current, .. }) = nobody else {
        return nobody;
    };
    let (_, stored) = watched(Arc::clone(store), key.clone(), &Brought::default(), None);
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
    if written.events.last().is_some_and(is_turn_end) {
        return writer.finish().await;
    }
    tracing::info!(target: "stepwell", turn = %key, "the end of a turn is told, which its host could not tell");
    let run = announce_last(setup, key, &path, &written, &mut writer).await?;
    let ending = Ending::of_turn(turn.status, turn.outcome.as_ref());
    if !written.events.iter().any(is_limit)
        && let Some(notice) = ending.notice()
    {
        writer.append(notice).await;
    }
    writer.end(ending.event(&input(key, &run), None)).await
}

/// Reports the state of a turn that is over. Returns the run that its end belongs to.
async fn announce_last(
    setup: &DriverSetup,
    key: &TurnKey,
    path: &[Turn],
    written: &Written,
    writer: &mut EventWriter,
) -> Result<RunId, StoreError> {
    let transcript = transcript(path)?;
    let mut rounds = Rounds::new(key.turn.to_string());
    let runs = Runs::of(&written.events, true);
    let run = match &runs.open {
        Open::None => key.turn.clone(),
        Open::Run(run) => run.clone(),
        Open::Between => format!("{}-end", key.turn).into(),
    };
    let head = RunHead {
        id: &run,
        terms: None,
        begins: !matches!(runs.open, Open::Run(_)),
    };
    let stands = Stands {
        key,
        ids: &QuestionIds::default(),
        head,
        runs: &runs,
        state: None,
        transcript: Some(&transcript),
        brought: &[],
        statuses: &Statuses::of_last(path)?,
        compactions: &StoredCompactions::of_last(path),
        asks: &[],
        written,
        tools: &setup.tools(),
    };
    announce(stands, writer, &mut rounds, &mut CallLabels::default()).await;
    Ok(run)
}

/// Ends a turn that cannot continue, with what is stored of it and the part of an answer that was shown.
pub(crate) async fn fail(
    setup: &DriverSetup,
    left: StoredTurn,
    is_cancelled: bool,
    shown: Vec<Message>,
    leave: CancellationToken,
) -> Result<(), StoreError> {
    let StoredTurn { key, generation } = left;
    let store = &setup.store;
    let path = store.path(&key).await?;
    let blocks = path.last().map_or(&[][..], |turn| &turn.blocks);
    let first = blocks.len() as u64;
    let hop = blocks.last().map_or(0, |stored| stored.block.hop);
    let cut = cut_messages(&transcript(&path)?, shown).into_iter();
    let cut = cut.zip(first..).map(|(message, sequence)| Block {
        sequence,
        hop,
        content: BlockContent::Message {
            message: Box::new(message),
        },
    });
    let batch = PersistBatch {
        first,
        blocks: cut.collect(),
        status: match is_cancelled {
            true => TurnStatus::Cancelled,
            false => TurnStatus::Failed,
        },
        outcome: is_cancelled.then_some(Outcome::Cancelled),
        checkpoint: String::new(),
        at: now(),
        first_event: 0,
        events: Vec::new(),
    };
    store.persist(&key, generation, &batch).await?;
    tell(setup, &key, leave).await
}

/// Ends a turn of this host that broke off by a fault of the program's: it would break off again.
pub(crate) async fn broke_off(
    setup: &DriverSetup,
    key: &TurnKey,
    leave: CancellationToken,
) -> Result<(), StoreError> {
    let thread = setup.store.thread(&key.thread).await?;
    let left = thread.and_then(|thread| thread.unfinished);
    let Some(left) = left.filter(|left| left.key == *key && left.owner == setup.owner) else {
        return Ok(());
    };
    let written = event_writer::read(&setup.store, key, &leave).await?;
    let turn = StoredTurn {
        key: left.key,
        generation: left.generation,
    };
    fail(setup, turn, false, written.messages(), leave).await
}

/// Returns the conversation of a path's turns.
fn transcript(path: &[Turn]) -> Result<Transcript, StoreError> {
    let transcript = MessageBuilder::new().transcript(path);
    transcript.map_err(|error| StoreError::Damaged {
        message: error.to_string(),
    })
}

fn now() -> Timestamp {
    let milliseconds = OffsetDateTime::now_utc().unix_timestamp_nanos() / 1_000_000;
    Timestamp(u64::try_from(milliseconds).unwrap_or_default())
}

fn is_limit(event: &Event) -> bool {
    matches!(event, Event::Custom(custom) if custom.name == LIMIT_REACHED)
}

/// Returns whether the log of a turn that is over ends with this event. The end of a run that waits for the user or the
/// client is not the turn's end.
fn is_turn_end(event: &Event) -> bool {
    match event {
        Event::RunError(_) => true,
        Event::RunFinished(finished) => match &finished.outcome {
            Some(RunOutcome::Interrupt { .. }) => false,
            Some(RunOutcome::Success {
                pending_tool_call_ids,
            }) => pending_tool_call_ids.is_none(),
            _ => true,
        },
        _ => false,
    }
}
