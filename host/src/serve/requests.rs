//! What requests for sessions have in common: the ids in their paths, and how their bodies are read.

use super::refusal::{Code, Refusal};
use super::server::Server;
use crate::access::User;
use axum::extract::Request;
use serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};
use stepwell_core::registry::ThreadKey;
use stepwell_io::store::TurnKey;
use stepwell_serve::axum::{check_content_type, read_body};
use stepwell_serve::parts::LONGEST_ID;
use stepwell_serve::understand;

/// Reads the body.
pub(super) async fn read<T>(server: &Server, request: Request) -> Result<T, Refusal>
where
    T: DeserializeOwned + Send + 'static,
{
    read_with(server, request, Ok).await
}

/// Reads the body, and converts it on the same thread, since both may take long.
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
    let read = |body: &[u8]| make(from_json(body)?);
    understand(body, read).await
}

/// Reads a body. The error names the place of the fault.
fn from_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    let no_json = |error| Refusal::new(Code::InvalidJson, format!("the body is no JSON: {error}"));
    let mut json = serde_json::Deserializer::from_slice(body);
    let read = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = pointer(error.path());
        let error = error.into_inner();
        match error.classify() {
            serde_json::error::Category::Data => {
                invalid(format!("the body does not fit: {path}: {error}"))
            }
            _ => no_json(error),
        }
    })?;
    json.end().map_err(no_json)?;
    Ok(read)
}

/// Returns a path as a JSON Pointer; the complete body is `/`.
fn pointer(path: &Path) -> String {
    let steps = path.iter().filter_map(|step| match step {
        Segment::Seq { index } => Some(index.to_string()),
        Segment::Map { key } => Some(key.replace('~', "~0").replace('/', "~1")),
        _ => None,
    });
    let steps: Vec<_> = steps.collect();
    format!("/{}", steps.join("/"))
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
