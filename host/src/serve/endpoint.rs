//! `POST /agent`: a `RunAgentInput` comes in, the events of its run go out. `POST /api/chat`: the same for a chat of the AI
//! SDK, whose client may come back to the stream.

use super::Server;
use super::extract::{Asker, Path};
use super::refusal::Refusal;
use super::requests::check_id;
use super::user_limits::Leave;
use crate::access::User;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use std::any::Any;
use std::sync::Arc;
use stepwell_serve::axum::{check_content_type, read_body, response};
use stepwell_serve::{ChatRequest, Encoding, Format, Permit, Prepared, read_input, understand};

/// Takes a run.
pub(super) async fn run_agent(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    request: Request,
) -> Result<Response, Refusal> {
    let (head, body) = request.into_parts();
    let encoding = Encoding::accepted(&head.headers)?;
    let open = server.user_limits.stream(&user)?;
    let permit = permit(&server, &user, &head.headers).await?;
    let body = read_body(body, server.serving.limits.body).await?;
    let its_server = Arc::clone(&server);
    let read = move |body: &[u8]| -> Result<_, Refusal> {
        let trust = its_server.serving.trust;
        let input = read_input(body)?;
        let run_id = input.run_id.clone();
        let key = user.thread(input.thread_id.clone());
        let base = its_server.run_base.clone();
        let prepared = Prepared::new(base, its_server.tools.clone(), input, true, trust)?;
        Ok((prepared, key, run_id))
    };
    let (prepared, key, run_id) = understand(body, read).await?;
    let (run, events) = server.runs.admit(key, prepared, permit, Format::AgUi)?;
    server.driver.run(run);
    let metrics = server.metrics.clone();
    let keep_alive = server.serving.keep_alive;
    let sent = move |waited| metrics.event_sent(waited);
    Ok(response(
        encoding,
        open.around(events.frames(encoding, run_id, keep_alive, sent)),
    ))
}

/// Takes what a chat of the AI SDK posts.
pub(super) async fn run_chat(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    request: Request,
) -> Result<Response, Refusal> {
    let (head, body) = request.into_parts();
    let open = server.user_limits.stream(&user)?;
    let permit = permit(&server, &user, &head.headers).await?;
    let body = read_body(body, server.serving.limits.body).await?;
    let its_server = Arc::clone(&server);
    let read = move |body: &[u8]| -> Result<_, Refusal> {
        let trust = its_server.serving.trust;
        let chat = ChatRequest::read(body)?;
        let key = user.thread(chat.input.thread_id.clone());
        let base = its_server.chat_base.clone();
        let prepared = Prepared::new(base, its_server.tools.clone(), chat.input, false, trust)?;
        Ok((prepared, key, chat.message_id, chat.is_new))
    };
    let (prepared, key, message_id, is_new) = understand(body, read).await?;
    let (run, stream) = server
        .runs
        .admit_chat(key, prepared, permit, message_id, is_new)?;
    server.driver.run(run);
    let frames = stream.frames(server.serving.keep_alive);
    Ok(response(Encoding::UiMessages, open.around(frames)))
}

/// Gives the stream of a chat's run that is under way, or that ended while no client read it, from its beginning.
pub(super) async fn resume_chat(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    Path(chat): Path<String>,
) -> Result<Response, Refusal> {
    check_id("chat", &chat)?;
    let open = server.user_limits.stream(&user)?;
    Ok(match server.runs.chats().get(&user.thread(chat)) {
        Some(stream) => response(
            Encoding::UiMessages,
            open.around(stream.frames(server.serving.keep_alive)),
        ),
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
    server.runs.chats().stop(&user.thread(chat));
    Ok(StatusCode::NO_CONTENT)
}

/// Leave to take one more run of the user's, before its body is read: bodies take memory too.
async fn permit(server: &Server, user: &User, headers: &HeaderMap) -> Result<Permit, Refusal> {
    check_content_type(headers)?;
    let store = server.sessions.store();
    let leave = server.user_limits.start(user, &**store, None).await?;
    let posted = leave.map(|leave| Box::new(Leave::posted(leave)) as Box<dyn Any + Send + Sync>);
    Ok(server.runs.permit(posted)?)
}
