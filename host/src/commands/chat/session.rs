//! The session of a chat: a thread of the store.

use std::io;
use std::sync::Arc;
use stepwell_core::conversation::ToolCallStatus;
use stepwell_core::event::Message;
use stepwell_core::registry::ThreadKey;
use stepwell_core::run::{Start, TextOptions};
use stepwell_core::session::{Role, SessionView, Turn as StoredTurn, ViewOptions};
use stepwell_core::{RunId, ThreadId, Timestamp};
use stepwell_demo::Failure;
use stepwell_demo::terminal::Shown;
use stepwell_io::store::{Store, StoreError, ThreadQuery, ThreadRecord, TurnKey, Unfinished};
use stepwell_io::{Agent, Turn};
use time::OffsetDateTime;
use uuid::Uuid;

/// A conversation that is kept in a store.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) store: Arc<dyn Store>,
    pub(super) thread: ThreadId,
    /// What was said before it was resumed.
    earlier: SessionView,
    /// The turn of it that has not come to its end.
    unfinished: Option<Unfinished>,
    /// What the next turn comes after, if not after the last one: a turn, or nothing at all.
    after: Option<Option<RunId>>,
}

/// A session in a list.
pub(super) struct Listed {
    pub(super) thread: ThreadId,
    pub(super) title: String,
    pub(super) updated: String,
}

impl Session {
    /// A new one.
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            thread: Uuid::new_v4().to_string().into(),
            earlier: SessionView::default(),
            unfinished: None,
            after: None,
        }
    }

    /// The one of the id, or the last one if that is empty.
    pub(super) async fn resumed(store: Arc<dyn Store>, id: &str) -> Result<Self, Failure> {
        let Some(record) = find(&*store, id).await.map_err(unusable)? else {
            return Err(Failure::usage(if id.is_empty() {
                "the store has no session yet".to_owned()
            } else {
                format!("the store has no session `{id}`")
            }));
        };
        let mut session = Self {
            thread: record.key.thread,
            unfinished: record.unfinished,
            ..Self::new(store)
        };
        session.earlier = session.view().await?;
        Ok(session)
    }

    /// Says something to the model, in the place of what was taken back.
    pub(super) fn send(&mut self, agent: &Agent, text: &str) -> Turn {
        match self.after.take() {
            None => agent.send(text),
            Some(parent) => {
                let run_id = Uuid::new_v4().to_string();
                let message = Message::user(format!("{run_id}-user"), text);
                agent.branch(parent, Start::new(run_id, message))
            }
        }
    }

    /// Takes the last turn back: what is said next is said in its place. The store keeps it as another branch. Gives
    /// what the user had said; `None` if nothing is left.
    pub(super) async fn undo(&mut self) -> Result<Option<String>, Failure> {
        let mut path = self.path().await?;
        let Some(last) = path.pop() else {
            return Ok(None);
        };
        self.after = Some(path.last().map(|turn| turn.id.clone()));
        let said = last.message.as_ref().map(|message| match message {
            Message::User(message) => message.content.to_text(),
            _ => String::new(),
        });
        Ok(Some(said.unwrap_or_default()))
    }

    /// What was said by now, without what was taken back.
    pub(super) async fn view(&self) -> Result<SessionView, Failure> {
        let path = self.path().await?;
        let options = ViewOptions {
            text: TextOptions::AS_WRITTEN,
            ..ViewOptions::default()
        };
        SessionView::of(&path, &options).map_err(|error| {
            unusable(StoreError::Damaged {
                message: error.to_string(),
            })
        })
    }

    /// The sessions of the store, the last used first.
    pub(super) async fn list(&self) -> Result<Vec<Listed>, Failure> {
        let threads = self.store.threads(&query(LISTED)).await.map_err(unusable)?;
        let listed = threads.into_iter().map(|record| Listed {
            title: record
                .title
                .unwrap_or_else(|| record.key.thread.to_string()),
            updated: minute(record.updated_at),
            thread: record.key.thread,
        });
        Ok(listed.collect())
    }

    async fn path(&self) -> Result<Vec<StoredTurn>, Failure> {
        let key = ThreadKey::from(self.thread.clone());
        let last = match &self.after {
            Some(parent) => parent.clone(),
            None => {
                let record = self.store.thread(&key).await.map_err(unusable)?;
                record.and_then(|record| record.latest)
            }
        };
        match last {
            Some(turn) => {
                let path = self.store.path(&TurnKey::new(key, turn)).await;
                path.map_err(unusable)
            }
            None => Ok(Vec::new()),
        }
    }

    /// Goes on with the turn that has not come to its end, if there is one: what it asked it asks again.
    pub(super) async fn go_on(&self, agent: &Agent) -> Result<Option<Turn>, Failure> {
        let Some(unfinished) = &self.unfinished else {
            return Ok(None);
        };
        // It may have ended, or another program has it, since the session was read.
        let recovered = agent.recover_turn(unfinished).await.map_err(unusable)?;
        let Some(recovered) = recovered else {
            return Ok(None);
        };
        let turn = recovered.turn;
        turn.map(Some).map_err(|error| {
            Failure::failed(format!(
                "the session's last turn cannot go on: {error}; begin a new session"
            ))
        })
    }

    /// Shows what was said before.
    pub(super) fn show(&self, shown: &mut Shown) -> io::Result<()> {
        for message in &self.earlier.messages {
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

/// The most sessions in a list.
const LISTED: usize = 20;

fn query(limit: usize) -> ThreadQuery {
    ThreadQuery {
        server: Some(String::new()),
        room: Some(String::new()),
        limit,
        ..ThreadQuery::default()
    }
}

async fn find(store: &dyn Store, id: &str) -> Result<Option<ThreadRecord>, StoreError> {
    if id.is_empty() {
        Ok(store.threads(&query(1)).await?.pop())
    } else {
        store.thread(&ThreadKey::from(ThreadId::from(id))).await
    }
}

#[allow(clippy::needless_pass_by_value)] // as `map_err` gives it
fn unusable(error: StoreError) -> Failure {
    Failure::failed(format!("the store: {error}"))
}

/// A moment to the minute, in UTC.
fn minute(at: Timestamp) -> String {
    let seconds = i64::try_from(at.0 / 1000).unwrap_or_default();
    let time = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (hour, minute, _) = time.to_hms();
    format!("{} {hour:02}:{minute:02} UTC", time.date())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_told_to_the_minute() {
        assert_eq!(minute(Timestamp(1_764_091_380_000)), "2025-11-25 17:23 UTC");
        assert_eq!(minute(Timestamp(u64::MAX)), "1970-01-01 00:00 UTC");
    }
}
