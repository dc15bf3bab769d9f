//! The session of a chat.

use std::io;
use std::sync::Arc;
use stepwell_core::ThreadId;
use stepwell_core::conversation::ToolCallStatus;
use stepwell_core::registry::ThreadKey;
use stepwell_core::run::TextOptions;
use stepwell_core::session::{Role, SessionView, ViewOptions};
use stepwell_demo::Failure;
use stepwell_demo::terminal::Shown;
use stepwell_io::store::{Store, StoreError, ThreadQuery, ThreadRecord, TurnKey, Unfinished};
use stepwell_io::{Agent, Turn};
use uuid::Uuid;

/// A conversation that is kept in a store.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) store: Arc<dyn Store>,
    pub(super) thread: ThreadId,
    view: SessionView,
    /// The turn of it that has not come to its end.
    unfinished: Option<Unfinished>,
}

impl Session {
    /// Opens the store and the session: a new one, the one of the id, or the last one if the id is empty.
    pub(super) async fn open(address: &str, resumed: Option<&str>) -> Result<Self, Failure> {
        let store = crate::store::open(address).await?;
        let Some(id) = resumed else {
            return Ok(Self {
                store,
                thread: Uuid::new_v4().to_string().into(),
                view: SessionView::default(),
                unfinished: None,
            });
        };
        let found = find(&*store, id).await;
        let found = found.map_err(|error| Failure::failed(format!("the store: {error}")))?;
        let Some((record, view)) = found else {
            return Err(Failure::usage(if id.is_empty() {
                "the store has no session yet".to_owned()
            } else {
                format!("the store has no session `{id}`")
            }));
        };
        Ok(Self {
            store,
            thread: record.key.thread,
            view,
            unfinished: record.unfinished,
        })
    }

    /// Goes on with the turn that has not come to its end, if there is one: what it asked it asks again.
    pub(super) async fn go_on(&self, agent: &Agent) -> Result<Option<Turn>, Failure> {
        let Some(unfinished) = &self.unfinished else {
            return Ok(None);
        };
        let Unfinished {
            key,
            generation,
            owner,
            ..
        } = unfinished;
        let claimed = match self.store.claim(key, *generation, owner).await {
            // It ended, or another program has it, since the session was read.
            Err(error) if error.is_lost() => return Ok(None),
            claimed => claimed.map_err(|error| Failure::failed(format!("the store: {error}")))?,
        };
        let snapshot = claimed.snapshot.unwrap_or_default();
        let turn = agent.revive(&snapshot);
        turn.map(Some).map_err(|error| {
            Failure::failed(format!(
                "the session's last turn cannot go on: {error}; begin a new session"
            ))
        })
    }

    /// Shows what was said before.
    pub(super) fn show(&self, shown: &mut Shown) -> io::Result<()> {
        for message in &self.view.messages {
            let text = message.content.to_text();
            match message.role {
                Role::User => shown.question(&text)?,
                Role::Assistant => {
                    shown.said(&text)?;
                    for tool in &message.tool_executions {
                        let result = tool.result.as_ref().map(|result| result.to_text());
                        let is_done = tool.status == ToolCallStatus::Completed;
                        shown.done(&tool.label, is_done, result.as_deref().unwrap_or_default())?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

async fn find(
    store: &dyn Store,
    id: &str,
) -> Result<Option<(ThreadRecord, SessionView)>, StoreError> {
    let record = if id.is_empty() {
        let query = ThreadQuery {
            server: Some(String::new()),
            room: Some(String::new()),
            limit: 1,
            ..ThreadQuery::default()
        };
        store.threads(&query).await?.pop()
    } else {
        store.thread(&ThreadKey::from(ThreadId::from(id))).await?
    };
    let Some(record) = record else {
        return Ok(None);
    };
    let path = match record.latest.clone() {
        Some(turn) => store.path(&TurnKey::new(record.key.clone(), turn)).await?,
        None => Vec::new(),
    };
    let options = ViewOptions {
        text: TextOptions::AS_WRITTEN,
        ..ViewOptions::default()
    };
    let view = SessionView::of(&path, &options);
    let view = view.map_err(|error| StoreError::Damaged {
        message: error.to_string(),
    })?;
    Ok(Some((record, view)))
}
