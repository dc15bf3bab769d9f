//! The sessions of the store over HTTP: threads, what is in them, and turns to start, answer and cancel.

use super::Server;
use super::ending::Ending;
use super::endpoint::{LONGEST_ID, check_content_type, read_body, understand};
use super::engine::{Engine, EngineError, NewTurn, Parent};
use super::extract::{Asker, Path, Query};
use super::refusal::{Code, Refusal};
use super::thread_view::{ThreadView, logs};
use crate::access::User;
use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use stepwell_core::Timestamp;
use stepwell_core::event::{Message, ResumeEntry};
use stepwell_core::registry::ThreadKey;
use stepwell_core::run::{Outcome, TurnStatus};
use stepwell_core::session::{SessionView, TurnView, ViewOptions};
use stepwell_io::store::{Store, StoreError, ThreadCursor, ThreadQuery, TurnKey};
use uuid::Uuid;

/// The most threads of one page.
const MOST_THREADS: usize = 200;

/// The longest title, in bytes.
const LONGEST_TITLE: usize = 1024;

/// The stored sessions, and who drives their turns.
#[derive(Debug)]
pub(super) struct Sessions {
    store: Arc<dyn Store>,
    engine: Arc<dyn Engine>,
    view: ViewOptions,
    /// Whether they are there after a restart.
    is_durable: bool,
}

impl Sessions {
    pub(super) fn new(
        store: Arc<dyn Store>,
        engine: Arc<dyn Engine>,
        view: ViewOptions,
        is_durable: bool,
    ) -> Self {
        Self {
            store,
            engine,
            view,
            is_durable,
        }
    }

    pub(super) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    pub(super) fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Page {
    limit: Option<usize>,
    after: Option<String>,
}

/// `GET /threads`.
pub(super) async fn list(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    Query(page): Query<Page>,
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
    let threads = sessions.store.threads(&query).await?;
    let last = threads.last().filter(|_| threads.len() == limit);
    let next = last.map(|last| format!("{}:{}", last.updated_at.0, last.key.thread));
    let threads = ThreadView::list(&*sessions.store, threads).await?;
    Ok(Json(
        json!({ "threads": threads, "next": next, "durable": sessions.is_durable }),
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
pub(super) struct Shown {
    turn: Option<String>,
}

/// `GET /threads/{thread}`: the path to a turn, or to the last one.
pub(super) async fn view(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    Path(thread): Path<String>,
    Query(shown): Query<Shown>,
) -> Result<Json<Value>, Refusal> {
    let sessions = &server.sessions;
    let key = thread_key(&user, &thread)?;
    let record = sessions.store.thread(&key).await?;
    let record = record.ok_or_else(|| StoreError::NoThread {
        thread: key.clone(),
    })?;
    let turns = sessions.store.turns(&key).await?;
    let keys = turns
        .iter()
        .map(|turn| TurnKey::new(key.clone(), turn.id.clone()));
    let logs = logs(&*sessions.store, &keys.collect::<Vec<_>>()).await?;
    let mut log = None;
    let branches = turns.iter().zip(logs).map(|(turn, its)| {
        if record.latest.as_ref() == Some(&turn.id) {
            log = its;
        }
        json!({ "id": turn.id, "parent": turn.parent, "createdAt": turn.created_at, "log": its })
    });
    let branches: Vec<_> = branches.collect();
    let turn = match &shown.turn {
        Some(turn) => Some(turn_key(&user, &thread, turn)?.turn),
        None => record.latest.clone(),
    };
    let path = match turn {
        Some(turn) => sessions.store.path(&TurnKey::new(key, turn)).await?,
        None => Vec::new(),
    };
    let view = SessionView::of(&path, &sessions.view).map_err(|error| {
        tracing::error!(target: "stepwell", %thread, %error, "a session cannot be shown");
        Refusal::new(
            Code::InternalError,
            "the session cannot be shown: see the server's log",
        )
    })?;
    let thread = ThreadView::new(record, log);
    let shown = view.turns.iter().cloned();
    let shown: Vec<_> = shown.map(shown_turn).collect();
    let mut session = json!(view);
    session["turns"] = json!(shown);
    Ok(Json(
        json!({ "thread": thread, "turns": branches, "session": session }),
    ))
}

/// A turn as clients are shown it.
#[derive(Debug, Serialize)]
struct ShownTurn {
    #[serde(flatten)]
    turn: TurnView,
    /// What `RUN_ERROR` said, where the turn did not end well.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
    /// The limit that was reached, where the turn was complete there.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<Value>,
}

fn shown_turn(mut turn: TurnView) -> ShownTurn {
    let is_over = turn.status != TurnStatus::Streaming;
    let ending = is_over.then(|| Ending::of_turn(turn.status, turn.outcome.as_ref()));
    let (error, limit) = match ending {
        Some(Ending::Failed { code, message }) => {
            (Some(json!({ "code": code, "message": message })), None)
        }
        Some(Ending::Limited { code, message }) => {
            (None, Some(json!({ "code": code, "message": message })))
        }
        _ => (None, None),
    };
    if matches!(turn.outcome, Some(Outcome::Failed { .. })) {
        // It may name addresses and keys.
        turn.outcome = None;
    }
    ShownTurn { turn, error, limit }
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
    sessions.store.rename_thread(&key, &title).await?;
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
    // Nothing is to run on for a thread that is gone.
    if let Some(record) = sessions.store.thread(&key).await?
        && let Some(unfinished) = record.unfinished
    {
        sessions.engine.cancel(&unfinished.key).await?;
    }
    if sessions.store.delete_thread(&key).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(StoreError::NoThread { thread: key }.into())
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Start {
    turn_id: Option<String>,
    /// Absent: the turn that began last. `null`: none.
    #[serde(default, deserialize_with = "present")]
    parent: Option<Option<String>>,
    message: Option<Said>,
}

/// What the person says: a text, or a message of the protocol's.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Said {
    Text(String),
    Message(Box<Message>),
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// `POST /threads/{thread}/turns`.
pub(super) async fn start(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    Path(thread): Path<String>,
    request: Request,
) -> Result<Response, Refusal> {
    let sessions = &server.sessions;
    let Start {
        turn_id,
        parent,
        message,
    } = read(&server, request).await?;
    let turn = turn_id.unwrap_or_else(|| Uuid::new_v4().to_string());
    let TurnKey { thread, turn } = turn_key(&user, &thread, &turn)?;
    let message = match message {
        None => None,
        Some(Said::Text(text)) => Some(Message::user(format!("{turn}-user"), text)),
        Some(Said::Message(message)) if matches!(*message, Message::User(_)) => Some(*message),
        Some(Said::Message(_)) => return Err(invalid("`message` is a text or a user message")),
    };
    let parent = match parent {
        None => Parent::Latest,
        Some(None) => Parent::Root,
        Some(Some(turn)) => Parent::Turn(turn.into()),
    };
    let limits = &server.user_limits;
    // Until the store has the turn: from then on it counts there.
    let _leave = limits.start(&user, &*sessions.store, Some(&thread)).await?;
    let key = sessions
        .engine
        .start(NewTurn {
            thread,
            turn,
            parent,
            message,
        })
        .await?;
    let body = json!({ "threadId": key.thread.thread, "turnId": key.turn });
    Ok((StatusCode::CREATED, Json(body)).into_response())
}

/// `POST /threads/{thread}/turns/{turn}/cancel`.
pub(super) async fn cancel(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    Path((thread, turn)): Path<(String, String)>,
    request: Request,
) -> Result<StatusCode, Refusal> {
    let sessions = &server.sessions;
    // Of this type alone: no web page can ask for it unasked.
    check_content_type(request.headers())?;
    sessions
        .engine
        .cancel(&turn_key(&user, &thread, &turn)?)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /threads/{thread}/turns/{turn}/calls/{call}/cancel`: stops one call; the others go on.
pub(super) async fn cancel_call(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    Path((thread, turn, call)): Path<(String, String, String)>,
    request: Request,
) -> Result<StatusCode, Refusal> {
    let sessions = &server.sessions;
    check_content_type(request.headers())?;
    check_id("call", &call)?;
    let key = turn_key(&user, &thread, &turn)?;
    sessions.engine.cancel_call(&key, call.into()).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Resume {
    resume: Vec<ResumeEntry>,
}

/// `POST /threads/{thread}/turns/{turn}/resume`: answers what the turn asks.
pub(super) async fn resume(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    Path((thread, turn)): Path<(String, String)>,
    request: Request,
) -> Result<StatusCode, Refusal> {
    let sessions = &server.sessions;
    let key = turn_key(&user, &thread, &turn)?;
    let Resume { resume } = read(&server, request).await?;
    if resume.is_empty() {
        return Err(invalid("`resume` has no answer"));
    }
    sessions.engine.answer(&key, resume).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Acknowledge {
    index: u64,
}

/// `POST /threads/{thread}/turns/{turn}/acknowledge`: the person has seen what came up to here.
pub(super) async fn acknowledge(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    Path((thread, turn)): Path<(String, String)>,
    request: Request,
) -> Result<StatusCode, Refusal> {
    let sessions = &server.sessions;
    let key = turn_key(&user, &thread, &turn)?;
    let Acknowledge { index } = read(&server, request).await?;
    sessions.store.acknowledge(&key, index).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn read<T>(server: &Server, request: Request) -> Result<T, Refusal>
where
    T: DeserializeOwned + Send + 'static,
{
    let (head, body) = request.into_parts();
    check_content_type(&head.headers)?;
    let body = read_body(body, server.serving.limits.body).await?;
    let read = |body: &[u8]| {
        serde_json::from_slice(body).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => invalid(format!("the body does not fit: {error}")),
            _ => Refusal::new(Code::InvalidJson, format!("the body is no JSON: {error}")),
        })
    };
    understand(body, read).await
}

fn thread_key(user: &User, thread: &str) -> Result<ThreadKey, Refusal> {
    check_id("thread", thread)?;
    Ok(user.thread(thread))
}

/// The user's turn of this name. One of another user goes by another key, and so is not there.
pub(super) fn turn_key(user: &User, thread: &str, turn: &str) -> Result<TurnKey, Refusal> {
    check_id("turn", turn)?;
    Ok(TurnKey::new(thread_key(user, thread)?, turn))
}

fn check_id(name: &str, id: &str) -> Result<(), Refusal> {
    if (1..=LONGEST_ID).contains(&id.len()) && !id.chars().any(char::is_control) {
        return Ok(());
    }
    Err(invalid(format!(
        "the {name}'s id has 1 to {LONGEST_ID} bytes and no control characters"
    )))
}

fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(Code::InvalidInput, message)
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::NoThread { .. } => Code::NoThread,
            StoreError::NoTurn { .. } => Code::NoTurn,
            StoreError::Exists { .. } | StoreError::Busy { .. } | StoreError::Stale { .. } => {
                Code::TurnExists
            }
            StoreError::Closed { .. } => Code::TurnOver,
            StoreError::Refused { .. } | StoreError::Gap { .. } => Code::InvalidInput,
            StoreError::Damaged { .. } => {
                tracing::error!(target: "stepwell", %error, "the store is damaged");
                return Self::store_damaged();
            }
            _ => {
                // Its words may name addresses and files.
                tracing::error!(target: "stepwell", %error, "the store failed");
                let message =
                    "the server cannot reach its store, or not write there: try again in a while";
                return Self::new(Code::StoreUnavailable, message);
            }
        };
        Self::new(code, error.to_string())
    }
}

impl From<EngineError> for Refusal {
    fn from(error: EngineError) -> Self {
        let code = match &error {
            EngineError::Store(_) => match error {
                EngineError::Store(error) => return error.into(),
                _ => Code::InternalError,
            },
            EngineError::Over => Code::TurnOver,
            EngineError::Elsewhere { .. } => Code::TurnElsewhere,
            EngineError::Answers(_) => Code::AnswerInvalid,
            EngineError::NoCall { .. } => Code::NoCall,
            EngineError::TooMany { .. } => Code::TooManyRuns,
            EngineError::Stopping => return Self::stopping(),
            EngineError::Internal => Code::InternalError,
        };
        Self::new(code, error.to_string())
    }
}
