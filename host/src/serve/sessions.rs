//! The sessions of the store over HTTP: threads, and what is in them.

use super::extract::{Asker, Path, Query};
use super::refusal::{Code, Refusal};
use super::requests::{invalid, read, thread_key, turn_key};
use super::server::Server;
use super::stored_sessions::StoredSessions;
use super::thread_view::{ThreadView, logs};
use crate::access::User;
use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use stepwell_core::run::{Outcome, TurnStatus};
use stepwell_core::session::{SessionView, Turn, TurnView};
use stepwell_core::transcript::Compaction;
use stepwell_core::{MessageId, Timestamp};
use stepwell_io::store::{StoreError, ThreadCursor, ThreadQuery, TurnKey};
use stepwell_serve::parts::{Ending, ShownCompaction, compactions_in};

/// The most threads of one page.
const MOST_THREADS: usize = 200;

/// The longest title, in bytes.
const LONGEST_TITLE: usize = 1024;

#[derive(Debug, Deserialize)]
pub(super) struct PageQuery {
    limit: Option<usize>,
    after: Option<String>,
}

/// `GET /threads`.
pub(super) async fn list(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    Query(page): Query<PageQuery>,
) -> Result<Json<Value>, Refusal> {
    let sessions = &server.sessions;
    let limit = page.limit.unwrap_or(50).clamp(1, MOST_THREADS);
    let query = ThreadQuery {
        server: Some(String::new()),
        room: Some(user.room().to_owned()),
        after: page
            .after
            .as_deref()
            .map(|text| cursor(&user, text))
            .transpose()?,
        limit,
    };
    let threads = sessions.store().threads(&query).await?;
    let last = threads.last().filter(|_| threads.len() == limit);
    let next = last.map(|last| format!("{}:{}", last.updated_at.0, last.key.thread));
    let threads = ThreadView::list(&**sessions.store(), &**sessions.engine(), threads).await?;
    Ok(Json(
        json!({ "threads": threads, "next": next, "durable": sessions.is_durable() }),
    ))
}

fn cursor(user: &User, text: &str) -> Result<ThreadCursor, Refusal> {
    let parts = text.split_once(':').and_then(|(time, thread)| {
        let updated_at = Timestamp(time.parse().ok()?);
        let key = user.thread(thread);
        Some(ThreadCursor { updated_at, key })
    });
    parts.ok_or_else(|| invalid("`after` is the `next` of the page before"))
}

#[derive(Debug, Deserialize)]
pub(super) struct ViewQuery {
    /// The turn whose path is shown.
    turn: Option<String>,
    /// The number of turns at the end of the path; all if absent.
    limit: Option<usize>,
}

/// `GET /threads/{thread}`: the path to a turn, or to the last one.
pub(super) async fn view(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    Path(thread): Path<String>,
    Query(query): Query<ViewQuery>,
) -> Result<Json<Value>, Refusal> {
    let sessions = &server.sessions;
    let key = thread_key(&user, &thread)?;
    let record = sessions.store().thread(&key).await?;
    let record = record.ok_or_else(|| StoreError::NoThread {
        thread: key.clone(),
    })?;
    let turn = match &query.turn {
        Some(turn) => Some(turn_key(&user, &thread, turn)?.turn),
        None => record.latest.clone(),
    };
    let path = match turn {
        Some(turn) => path_to(sessions, &TurnKey::new(key.clone(), turn), query.limit).await?,
        None => Vec::new(),
    };
    let turns = sessions.store().outline(&key).await?;
    let keys = turns
        .iter()
        .map(|turn| TurnKey::new(key.clone(), turn.id.clone()));
    let logs = logs(&**sessions.store(), &keys.collect::<Vec<_>>()).await?;
    let mut log = None;
    let branches = turns.iter().zip(logs).map(|(turn, its)| {
        if record.latest.as_ref() == Some(&turn.id) {
            log = its;
        }
        json!({ "id": turn.id, "parent": turn.parent, "createdAt": turn.created_at, "log": its })
    });
    let branches: Vec<_> = branches.collect();
    // The end of the page before.
    let before = path.first().and_then(|turn| turn.parent.clone());
    let view = SessionView::of(&path, sessions.view()).map_err(|error| {
        tracing::error!(target: "stepwell", %thread, %error, "a session cannot be shown");
        Refusal::new(
            Code::InternalError,
            "the session cannot be shown: see the server's log",
        )
    })?;
    let thread = ThreadView::new(record, log, &**sessions.engine());
    let mut compaction = Compaction::default();
    let shown = path.iter().zip(&view.turns);
    let shown = shown.map(|(turn, view)| {
        let compactions = compactions_in(turn, &mut compaction).into_iter();
        shown_turn(view.clone(), compactions.map(Placed::from).collect())
    });
    let shown: Vec<_> = shown.collect();
    let mut session = json!(view);
    session["turns"] = json!(shown);
    Ok(Json(
        json!({ "thread": thread, "turns": branches, "session": session, "before": before }),
    ))
}

/// Reads the path to a turn, or the end of the path.
async fn path_to(
    sessions: &StoredSessions,
    turn: &TurnKey,
    limit: Option<usize>,
) -> Result<Vec<Turn>, Refusal> {
    let path = match limit {
        Some(limit) => sessions.store().path_end(turn, limit).await?,
        None => sessions.store().path(turn).await?,
    };
    let last = path.last();
    if last.is_some_and(|turn| turn.status != TurnStatus::Streaming) {
        // A client that sees the end of a turn has its complete log, and can acknowledge it.
        sessions.engine().told(turn).await;
    }
    Ok(path)
}

/// A turn as clients are shown it.
#[derive(Debug, Serialize)]
struct ShownTurn<'a> {
    #[serde(flatten)]
    turn: TurnView,
    /// The error of `RUN_ERROR`, if the turn failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
    /// The limit that was reached, where the turn was complete there.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<Value>,
    /// The compactions of the conversation, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    compactions: Vec<Placed<'a>>,
}

/// A compaction at its place in the conversation.
#[derive(Debug, Serialize)]
struct Placed<'a> {
    /// The message before it; absent if it comes before all of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<&'a MessageId>,
    #[serde(flatten)]
    compaction: ShownCompaction<'a>,
}

impl<'a> From<(Option<&'a MessageId>, &'a Compaction)> for Placed<'a> {
    fn from((after, compaction): (Option<&'a MessageId>, &'a Compaction)) -> Self {
        Self {
            after,
            compaction: compaction.into(),
        }
    }
}

fn shown_turn<'a>(mut turn: TurnView, compactions: Vec<Placed<'a>>) -> ShownTurn<'a> {
    let is_over = turn.status != TurnStatus::Streaming;
    let ending = is_over.then(|| Ending::of_turn(turn.status, turn.outcome.as_ref()));
    let (error, limit) = match ending {
        Some(Ending::Failed { code, message }) => {
            (Some(json!({ "code": code, "message": message })), None)
        }
        Some(Ending::Limited { code, message, .. }) => {
            (None, Some(json!({ "code": code, "message": message })))
        }
        _ => (None, None),
    };
    if matches!(turn.outcome, Some(Outcome::Failed { .. })) {
        // The failure may name addresses and keys.
        turn.outcome = None;
    }
    ShownTurn {
        turn,
        error,
        limit,
        compactions,
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rename {
    title: String,
}

/// `PATCH /threads/{thread}`.
pub(super) async fn rename(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    Path(thread): Path<String>,
    request: Request,
) -> Result<StatusCode, Refusal> {
    let sessions = &server.sessions;
    let key = thread_key(&user, &thread)?;
    let Rename { title } = read(&server, request).await?;
    if title.len() > LONGEST_TITLE {
        return Err(invalid(format!(
            "a title has {LONGEST_TITLE} bytes at most"
        )));
    }
    sessions.store().rename_thread(&key, &title).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `DELETE /threads/{thread}`.
pub(super) async fn delete(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    Path(thread): Path<String>,
) -> Result<StatusCode, Refusal> {
    let sessions = &server.sessions;
    let key = thread_key(&user, &thread)?;
    // No turn may continue for a thread that is deleted.
    if let Some(record) = sessions.store().thread(&key).await?
        && let Some(unfinished) = record.unfinished
    {
        sessions.engine().cancel(&unfinished.key).await?;
    }
    if let Some(recorder) = &server.recorder {
        recorder.forget(&key);
    }
    if sessions.store().delete_thread(&key).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(StoreError::NoThread { thread: key }.into())
    }
}

#[cfg(test)]
mod tests;
