//! `POST /agent`: a `RunAgentInput` comes in, the events of its run go out. `POST /api/chat`: the same for a chat of the AI
//! SDK. Clients resume either.

use super::connections::CloseConnection;
use super::extract::{Asker, Path, Query};
use super::refusal::Refusal;
use super::requests::check_id;
use super::server::Server;
use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use std::sync::Arc;
use stepwell_serve::axum::{chat_response, check_content_type, read_body, response};
use stepwell_serve::parts::{Cursor, PreparedRun};
use stepwell_serve::{
    ChatRequest, ChatStream, Encoding, LAST_EVENT_ID, StopRequest, read_input, understand,
};
use tokio_util::sync::CancellationToken;

/// Begins or resumes a run.
pub(super) async fn run_agent(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    close: Option<Extension<CloseConnection>>,
    request: Request,
) -> Result<Response, Refusal> {
    let (head, body) = request.into_parts();
    let encoding = Encoding::accepted(&head.headers)?;
    let open = server.user_limits.stream(&user)?;
    check_content_type(&head.headers)?;
    let _permit = server.sessions.engine().driver().permit()?;
    let body = read_body(body, server.serving.limits.body).await?;
    let (its_server, asker) = (Arc::clone(&server), user.clone());
    let read = move |body: &[u8]| -> Result<_, Refusal> {
        let input = read_input(body)?;
        let key = asker.thread(input.thread_id.clone());
        let run = PreparedRun::new(&its_server.agent, input, its_server.serving.trust)?;
        Ok((run, key))
    };
    let (run, key) = understand(body, read).await?;
    let store = server.sessions.store();
    let limits = &server.user_limits;
    let _leave = limits.start(&user, &**store, Some(&key)).await?;
    let cursor = Cursor::new(last_event(&head.headers));
    let stream = server.runs.begin(key, run, &cursor, closed_by(close));
    let frames = stream.await?.frames(encoding);
    Ok(response(encoding, open.around(frames)))
}

/// Stops a run, if it is under way.
pub(super) async fn stop_agent(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    request: Request,
) -> Result<StatusCode, Refusal> {
    let (head, body) = request.into_parts();
    check_content_type(&head.headers)?;
    let body = read_body(body, server.serving.limits.body).await?;
    let StopRequest { thread_id, run_id } = StopRequest::read(body.as_ref())?;
    let thread = user.thread(thread_id);
    server.runs.end_run(&thread, run_id.as_ref()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Begins a run of a chat of the AI SDK.
pub(super) async fn run_chat(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    close: Option<Extension<CloseConnection>>,
    request: Request,
) -> Result<Response, Refusal> {
    let (head, body) = request.into_parts();
    let open = server.user_limits.stream(&user)?;
    check_content_type(&head.headers)?;
    let _permit = server.sessions.engine().driver().permit()?;
    let body = read_body(body, server.serving.limits.body).await?;
    let (its_server, asker) = (Arc::clone(&server), user.clone());
    let read = move |body: &[u8]| -> Result<_, Refusal> {
        let chat = ChatRequest::read(body)?;
        let key = asker.thread(chat.input.thread_id.clone());
        let message = chat.message_id.clone();
        let run = PreparedRun::chat(&its_server.agent, chat, its_server.serving.trust)?;
        Ok((run, key, message))
    };
    let (run, key, message) = understand(body, read).await?;
    let store = server.sessions.store();
    let limits = &server.user_limits;
    let _leave = limits.start(&user, &**store, Some(&key)).await?;
    let (cursor, chat) = (Cursor::default(), key.thread.clone());
    let stream = server.runs.begin(key, run, &cursor, closed_by(close));
    let stream = ChatStream::new(stream.await?, message);
    Ok(chat_response(chat.as_str(), open.around(stream.frames())))
}

/// The place at which a client resumes the stream of a chat.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StreamStart {
    /// The number of parts that the client has.
    start_index: Option<usize>,
}

/// Streams a chat's run that is under way, or that ended while no client read it, from its beginning.
pub(super) async fn resume_chat(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    Path(chat): Path<String>,
    Query(place): Query<StreamStart>,
    close: Option<Extension<CloseConnection>>,
) -> Result<Response, Refusal> {
    check_id("chat", &chat)?;
    let open = server.user_limits.stream(&user)?;
    let chat = user.thread(chat);
    let stream = server.runs.latest_chat(&chat, closed_by(close));
    Ok(match stream.await? {
        Some(stream) => {
            let stream = stream.starting_at(place.start_index.unwrap_or(0));
            chat_response(chat.thread.as_str(), open.around(stream.frames()))
        }
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

/// Stops the run of a chat, if one is under way.
pub(super) async fn stop_chat(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    Path(chat): Path<String>,
) -> Result<StatusCode, Refusal> {
    check_id("chat", &chat)?;
    server.runs.end_run(&user.thread(chat), None).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn last_event(headers: &HeaderMap) -> Option<&str> {
    headers.get(LAST_EVENT_ID)?.to_str().ok()
}

pub(super) fn closed_by(close: Option<Extension<CloseConnection>>) -> CancellationToken {
    close.map_or_else(CancellationToken::new, |Extension(close)| close.0)
}
