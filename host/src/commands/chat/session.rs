//! The session of a chat: a thread of the store.

use std::io;
use std::sync::Arc;
use stepwell_core::event::Message;
use stepwell_core::registry::ThreadKey;
use stepwell_core::run::TextOptions;
use stepwell_core::session::{Role, SessionView, Turn as StoredTurn, ViewOptions};
use stepwell_core::transcript::ToolCallStatus;
use stepwell_core::{RunId, ThreadId, Timestamp};
use stepwell_demo::Failure;
use stepwell_demo::terminal::Shown;
use stepwell_io::store::{Store, StoreError, ThreadQuery, ThreadRecord, TurnKey, Unfinished};
use stepwell_io::turn::TurnEvents;
use stepwell_io::{Agent, WhenBusy};
use time::OffsetDateTime;
use uuid::Uuid;

/// A conversation that is kept in a store.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) store: Arc<dyn Store>,
    pub(super) thread: ThreadId,
    /// The messages from before it was resumed.
    earlier: SessionView,
    /// Its unfinished turn.
    unfinished: Option<Unfinished>,
    /// The parent of the next turn, if that is not the last one: another turn, or none.
    after: Option<Option<RunId>>,
    /// Whether the next turn undoes the compactions before it.
    pub(super) is_whole: bool,
}

/// A session in a list.
pub(super) struct Listed {
    pub(super) thread: ThreadId,
    pub(super) title: String,
    pub(super) updated: String,
}

impl Session {
    /// Creates a session.
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            thread: Uuid::new_v4().to_string().into(),
            earlier: SessionView::default(),
            unfinished: None,
            after: None,
            is_whole: false,
        }
    }

    /// Loads the session with this id, or the last one if the id is empty.
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

    /// Sends a message to the model, instead of the one that was taken back. The message stops a turn that was left open
    /// elsewhere.
    pub(super) fn send(&mut self, agent: &Agent, text: &str) -> TurnEvents {
        let run = agent.conversation(self.thread.clone()).send(text);
        let run = match self.after.take() {
            None => run,
            Some(parent) => run.after(parent),
        };
        let run = match std::mem::take(&mut self.is_whole) {
            true => run.whole_history(),
            false => run,
        };
        run.when_busy(WhenBusy::Cancel).stream().into_events()
    }

    /// Takes the last turn back: the next message replaces it. The store keeps it as another branch. Returns the user's
    /// message; `None` if there is no turn.
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

    /// Returns the messages so far, without those that were taken back.
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

    /// Returns the sessions of the store, the last used first.
    pub(super) async fn list(&self) -> Result<Vec<Listed>, Failure> {
        let threads = self
            .store
            .threads(&query(MAX_LISTED))
            .await
            .map_err(unusable)?;
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

    /// Resumes the unfinished turn, if there is one: it repeats its questions.
    pub(super) async fn resume_turn(&self, agent: &Agent) -> Result<Option<TurnEvents>, Failure> {
        let Some(unfinished) = &self.unfinished else {
            return Ok(None);
        };
        // Since the session was read it may have ended, or another program may own it.
        let recovered = agent.recover_turn(unfinished).await;
        let recovered =
            recovered.map_err(|error| Failure::failed(format!("the store: {error}")))?;
        let Some(recovered) = recovered else {
            return Ok(None);
        };
        let turn = recovered.turn;
        turn.map(|turn| Some(turn.into_events())).map_err(|error| {
            Failure::failed(format!(
                "the session's last turn cannot go on: {error}; begin a new session"
            ))
        })
    }

    /// Shows the earlier messages.
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

/// The maximum number of sessions in a list.
const MAX_LISTED: usize = 20;

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

/// Formats a moment to the minute, in UTC.
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
    fn moment_is_formatted_to_the_minute() {
        assert_eq!(minute(Timestamp(1_764_091_380_000)), "2025-11-25 17:23 UTC");
        assert_eq!(minute(Timestamp(u64::MAX)), "1970-01-01 00:00 UTC");
    }
}
