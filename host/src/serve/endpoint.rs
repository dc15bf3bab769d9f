//! `POST /agent`: a `RunAgentInput` comes in, the events of its run go out.

use super::Server;
use super::agent::agent;
use super::encoding::Encoding;
use super::engine::AgentRun;
use super::event_log::event_log;
use super::extract::Asker;
use super::refusal::{Code, Refusal};
use super::reply::reply;
use super::shared_state::SharedState;
use super::user_limits::Leave;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use serde_json::json;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::dialect::{RunInputError, read_run_input};
use stepwell_core::event::RunAgentInput;
use time::OffsetDateTime;
use tokio::sync::mpsc;

/// How long a body may take to come.
const BODY_TIME: Duration = Duration::from_secs(30);

/// The longest body that is read where it comes in, in bytes: about a millisecond's work.
const LONGEST_INLINE: usize = 256 << 10;

/// The most messages of a conversation. A few bytes of a body may become a hundred times as many in memory.
const MOST_MESSAGES: usize = 100_000;

/// The longest id, in bytes.
pub(super) const LONGEST_ID: usize = 512;

/// Takes a run.
pub(super) async fn run_agent(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    request: Request,
) -> Result<Response, Refusal> {
    let (head, body) = request.into_parts();
    let encoding = Encoding::accepted(&head.headers)?;
    check_content_type(&head.headers)?;
    // Before the body is read: bodies take memory too.
    let store = server.sessions.store();
    let leave = server.user_limits.start(&user, &**store, None).await?;
    let permit = server.threads.permit(leave.map(Leave::posted))?;
    let body = read_body(body, server.serving.limits.body).await?;
    let its_server = Arc::clone(&server);
    let read = move |body: &[u8]| {
        let input = read_input(body)?;
        let state = SharedState::new(input.state.clone().unwrap_or_else(|| json!({})));
        let (asking, asked) = mpsc::unbounded_channel();
        let agent = agent(&its_server, &input, &state, asking)?;
        Ok((input, state, asked, agent))
    };
    let (input, state, asked, agent) = understand(body, read).await?;
    let run_id = input.run_id.clone();
    let now = OffsetDateTime::now_utc();
    let (place, beginning) = server
        .threads
        .admit(&user, &input, permit, &server.tools, now)?;
    let (log, reader) = event_log();
    server.engine.run(AgentRun {
        input,
        agent,
        asked,
        state,
        place,
        log,
        beginning,
    });
    Ok(reply(&server, encoding, run_id, reader))
}

pub(super) fn check_content_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let value = headers.get(header::CONTENT_TYPE);
    let value = value
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let media_type = value.split(';').next().unwrap_or_default().trim();
    // A browser sends other types to any server without asking first: this check is a protection too.
    if media_type.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let message = "send the body as `Content-Type: application/json`";
    Err(Refusal::new(Code::UnsupportedMediaType, message))
}

pub(super) async fn read_body(body: Body, limit: usize) -> Result<Bytes, Refusal> {
    let read = tokio::time::timeout(BODY_TIME, axum::body::to_bytes(body, limit)).await;
    let Ok(read) = read else {
        let message = "the body did not come in time";
        return Err(Refusal::new(Code::BodyTimeout, message));
    };
    read.map_err(|error| {
        let cause = error.source();
        if cause.is_some_and(|cause| cause.is::<http_body_util::LengthLimitError>()) {
            let message = format!("the body is longer than {limit} bytes");
            return Refusal::new(Code::BodyTooLarge, message);
        }
        Refusal::new(Code::BodyIncomplete, "the body broke off")
    })
}

/// Reads a body that has come: where that takes long, on a thread that holds up nobody else.
pub(super) async fn understand<T: Send + 'static>(
    body: Bytes,
    read: impl FnOnce(&[u8]) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    if body.len() <= LONGEST_INLINE {
        return read(&body);
    }
    let read = tokio::task::spawn_blocking(move || read(&body)).await;
    read.unwrap_or_else(|error| {
        tracing::error!(target: "stepwell", %error, "a request could not be read");
        let message = "the server failed to read the request: see its log";
        Err(Refusal::new(Code::InternalError, message))
    })
}

fn read_input(body: &[u8]) -> Result<RunAgentInput, Refusal> {
    let (input, warnings) = read_run_input(body).map_err(|error| {
        let code = match &error {
            RunInputError::Json(_) => Code::InvalidJson,
            _ => Code::InvalidInput,
        };
        Refusal::new(code, error.to_string())
    })?;
    for warning in warnings {
        // It repeats the names of fields, which are the client's own words.
        tracing::debug!(target: "stepwell", warning, "a request was not wholly understood");
    }
    let count = input.messages.len();
    if count > MOST_MESSAGES {
        let message =
            format!("/messages has {count} entries, and may have {MOST_MESSAGES}: send fewer");
        return Err(Refusal::new(Code::InvalidInput, message));
    }
    for (name, id) in [
        ("threadId", input.thread_id.as_str()),
        ("runId", &input.run_id),
    ] {
        let is_well = (1..=LONGEST_ID).contains(&id.len()) && !id.chars().any(char::is_control);
        if !is_well {
            let message = format!(
                "the body is not a RunAgentInput: /{name} has 1 to {LONGEST_ID} bytes and no control characters"
            );
            return Err(Refusal::new(Code::InvalidInput, message));
        }
    }
    Ok(input)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::{ThreadId, current};

    async fn read_on(length: usize) -> ThreadId {
        let body = Bytes::from(vec![b' '; length]);
        let thread = understand(body, |_| Ok(current().id())).await;
        thread.expect("it is read")
    }

    #[tokio::test]
    async fn a_large_body_is_read_where_it_holds_up_nobody() {
        assert_eq!(read_on(LONGEST_INLINE).await, current().id());
        assert_ne!(read_on(LONGEST_INLINE + 1).await, current().id());
    }
}
