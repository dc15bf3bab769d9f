//! A thread as clients are shown it, with how far its user has read.

use serde::Serialize;
use stepwell_core::{ThreadId, Timestamp};
use stepwell_io::RunId;
use stepwell_io::store::{EventLog, Store, StoreError, ThreadRecord, TurnKey};
use stepwell_serve::parts::Engine;

/// A thread in a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThreadView {
    thread_id: ThreadId,
    title: String,
    created_at: Timestamp,
    updated_at: Timestamp,
    latest_turn: Option<RunId>,
    unfinished_turn: Option<RunId>,
    /// Whether that turn waits for the user, as far as this host knows.
    needs_user: bool,
    /// The log of the latest turn. The turns before have ended, and another one began after that: new events are in the
    /// latest.
    log: Option<LogView>,
}

/// How much of a turn there is to read, and how much of it its user has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct LogView {
    next: u64,
    acknowledged: Option<u64>,
}

impl From<EventLog> for LogView {
    fn from(log: EventLog) -> Self {
        Self {
            next: log.next,
            acknowledged: log.acknowledged,
        }
    }
}

impl ThreadView {
    pub(super) fn new(record: ThreadRecord, log: Option<LogView>, engine: &dyn Engine) -> Self {
        let unfinished = record.unfinished.as_ref();
        Self {
            needs_user: unfinished.is_some_and(|unfinished| engine.asks(unfinished)),
            thread_id: record.key.thread,
            title: record.title.unwrap_or_default(),
            created_at: record.created_at,
            updated_at: record.updated_at,
            latest_turn: record.latest,
            unfinished_turn: record.unfinished.map(|unfinished| unfinished.key.turn),
            log,
        }
    }

    /// The threads of a list.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(super) async fn list(
        store: &dyn Store,
        engine: &dyn Engine,
        records: Vec<ThreadRecord>,
    ) -> Result<Vec<Self>, StoreError> {
        let latest = |record: &ThreadRecord| {
            let turn = record.latest.clone()?;
            Some(TurnKey::new(record.key.clone(), turn))
        };
        let turns: Vec<_> = records.iter().filter_map(latest).collect();
        let mut logs = logs(store, &turns).await?.into_iter();
        let views = records.into_iter().map(|record| {
            let log = record.latest.as_ref().and_then(|_| logs.next().flatten());
            Self::new(record, log, engine)
        });
        Ok(views.collect())
    }
}

/// The logs of these turns. One that was deleted meanwhile has none.
///
/// # Errors
/// The store cannot be read.
pub(super) async fn logs(
    store: &dyn Store,
    turns: &[TurnKey],
) -> Result<Vec<Option<LogView>>, StoreError> {
    let logs = store.event_logs(turns).await?.into_iter();
    Ok(logs.map(|log| log.map(LogView::from)).collect())
}
