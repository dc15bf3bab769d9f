//! The turns of sessions over HTTP: to start, answer and stop.

use super::extract::{Asker, Path};
use super::refusal::Refusal;
use super::requests::{check_id, invalid, read, read_with, turn_key};
use super::server::Server;
use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Deserializer};
use serde_json::json;
use std::sync::Arc;
use stepwell_core::event::{Message, MessageContent, ResumeEntry, ToolDefinition};
use stepwell_io::RunId;
use stepwell_io::store::TurnKey;
use stepwell_io::tool::{ToolFailure, ToolOutput};
use stepwell_serve::axum::check_content_type;
use stepwell_serve::parts::models;
use stepwell_serve::parts::{Brought, NewTurn, Origin, Parent};
use uuid::Uuid;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Start {
    turn_id: Option<String>,
    /// Absent: the turn that began last. `null`: none.
    #[serde(default, deserialize_with = "present")]
    parent: Option<Option<String>>,
    message: Option<UserInput>,
    /// The model that must answer, of those that the server offers.
    model: Option<String>,
    /// The client's tools.
    #[serde(default)]
    tools: Vec<ToolDefinition>,
    /// Whether the model is sent the complete conversation again: a compaction by an earlier turn is undone.
    #[serde(default)]
    whole_history: bool,
}

/// The user's message: a text, or a message of the protocol.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "`message` is a text or a user message")]
enum UserInput {
    Text(String),
    Message(Box<Message>),
}

impl UserInput {
    /// Returns the message that the turn begins with.
    fn message(self, turn: &RunId) -> Result<Message, Refusal> {
        match self {
            Self::Text(text) => Ok(Message::user(format!("{turn}-user"), text)),
            Self::Message(message) if matches!(*message, Message::User(_)) => Ok(*message),
            Self::Message(_) => Err(invalid("`message` is a text or a user message")),
        }
    }
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
    let its_server = Arc::clone(&server);
    let read = read_with(&server, request, move |start: Start| {
        let base = its_server.agent.with_tools(true, &start.tools)?;
        Ok((start, base))
    });
    let (start, base) = read.await?;
    let Start {
        turn_id,
        parent,
        message,
        model,
        tools,
        whole_history,
    } = start;
    let backend = &server.backend;
    if let Some(wanted) = &model
        && models::find(&backend.endpoint, &backend.offered, wanted).is_none()
    {
        return Err(invalid(format!(
            "`model` is none that the server offers: `{wanted}`; GET /capabilities names them"
        )));
    }
    let turn = turn_id.unwrap_or_else(|| Uuid::new_v4().to_string());
    let TurnKey { thread, turn } = turn_key(&user, &thread, &turn)?;
    let message = message.map(|input| input.message(&turn)).transpose()?;
    let parent = match parent {
        None => Parent::Latest,
        Some(None) => Parent::Root,
        Some(Some(turn)) => Parent::Turn(turn.into()),
    };
    let limits = &server.user_limits;
    // Until the store has the turn: from then on it counts there.
    let _leave = limits
        .start(&user, &**sessions.store(), Some(&thread))
        .await?;
    let key = sessions
        .engine()
        .start(NewTurn {
            thread,
            turn,
            origin: Origin::Stored(parent, message.map(Box::new)),
            agent: None,
            base: Some(base),
            brought: Brought {
                client_tools: tools,
                chosen_model: model,
                ..Brought::default()
            },
            whole_history,
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
        .engine()
        .cancel(&turn_key(&user, &thread, &turn)?)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /threads/{thread}/turns/{turn}/calls/{call}/cancel`: stops one call; the others continue.
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
    sessions.engine().cancel_call(&key, call.into()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The result of a call of a client's tool.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallResult {
    content: Option<MessageContent>,
    /// Why it gave nothing.
    error: Option<String>,
}

/// `POST /threads/{thread}/turns/{turn}/calls/{call}/result`: brings the result of a client's tool.
pub(super) async fn bring_result(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    Path((thread, turn, call)): Path<(String, String, String)>,
    request: Request,
) -> Result<StatusCode, Refusal> {
    let sessions = &server.sessions;
    check_id("call", &call)?;
    let key = turn_key(&user, &thread, &turn)?;
    let result = match read(&server, request).await? {
        CallResult {
            content: Some(content),
            error: None,
        } => Ok(ToolOutput { content }),
        CallResult {
            content: None,
            error: Some(error),
        } => Err(ToolFailure::error(error)),
        _ => return Err(invalid("a result has either `content` or `error`")),
    };
    let engine = sessions.engine();
    engine.bring_result(&key, call.into(), result).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Resume {
    resume: Vec<ResumeEntry>,
}

/// `POST /threads/{thread}/turns/{turn}/resume`: answers the turn's questions.
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
    sessions.engine().answer(&key, resume).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Acknowledge {
    index: u64,
}

/// `POST /threads/{thread}/turns/{turn}/acknowledge`: the user has seen the events up to this one.
pub(super) async fn acknowledge(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    Path((thread, turn)): Path<(String, String)>,
    request: Request,
) -> Result<StatusCode, Refusal> {
    let sessions = &server.sessions;
    let key = turn_key(&user, &thread, &turn)?;
    let Acknowledge { index } = read(&server, request).await?;
    sessions.store().acknowledge(&key, index).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use super::Start;

    #[test]
    fn a_message_that_is_none_is_refused_in_words_of_the_interface() {
        let refused = serde_json::from_str::<Start>(r#"{"message": 7}"#);
        let why = refused.expect_err("it is refused").to_string();
        assert!(
            why.starts_with("`message` is a text or a user message"),
            "{why}"
        );
    }
}
