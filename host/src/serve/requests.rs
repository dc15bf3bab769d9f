//! What requests for sessions have in common: the ids in their paths, and how their bodies are read.

use super::Server;
use super::endpoint::{LONGEST_ID, check_content_type, read_body, understand};
use super::refusal::{Code, Refusal};
use crate::access::User;
use axum::extract::Request;
use serde::de::DeserializeOwned;
use stepwell_core::registry::ThreadKey;
use stepwell_io::store::TurnKey;

/// Reads the body.
pub(super) async fn read<T>(server: &Server, request: Request) -> Result<T, Refusal>
where
    T: DeserializeOwned + Send + 'static,
{
    read_with(server, request, Ok).await
}

/// Reads the body, and makes of it what may take as long.
pub(super) async fn read_with<T, U>(
    server: &Server,
    request: Request,
    make: impl FnOnce(T) -> Result<U, Refusal> + Send + 'static,
) -> Result<U, Refusal>
where
    T: DeserializeOwned,
    U: Send + 'static,
{
    let (head, body) = request.into_parts();
    check_content_type(&head.headers)?;
    let body = read_body(body, server.serving.limits.body).await?;
    let read = |body: &[u8]| {
        let read = serde_json::from_slice(body).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => invalid(format!("the body does not fit: {error}")),
            _ => Refusal::new(Code::InvalidJson, format!("the body is no JSON: {error}")),
        });
        make(read?)
    };
    understand(body, read).await
}

pub(super) fn thread_key(user: &User, thread: &str) -> Result<ThreadKey, Refusal> {
    check_id("thread", thread)?;
    Ok(user.thread(thread))
}

/// The user's turn of this name. One of another user goes by another key, and so is not there.
pub(super) fn turn_key(user: &User, thread: &str, turn: &str) -> Result<TurnKey, Refusal> {
    check_id("turn", turn)?;
    Ok(TurnKey::new(thread_key(user, thread)?, turn))
}

pub(super) fn check_id(name: &str, id: &str) -> Result<(), Refusal> {
    if (1..=LONGEST_ID).contains(&id.len()) && !id.chars().any(char::is_control) {
        return Ok(());
    }
    Err(invalid(format!(
        "the {name}'s id has 1 to {LONGEST_ID} bytes and no control characters"
    )))
}

pub(super) fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(Code::InvalidInput, message)
}
