//! `GET /threads/{thread}/turns/{turn}/journal`: the inputs and outputs of a turn, for the inspection of a run.

use super::extract::{Asker, Path, Query};
use super::refusal::{Code, Refusal};
use super::requests::turn_key;
use super::server::Server;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use std::sync::Arc;
use stepwell_io::store::StoreError;

#[derive(Debug, Deserialize)]
pub(super) struct JournalQuery {
    /// With its texts hidden.
    #[serde(default)]
    redacted: bool,
}

pub(super) async fn get(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    Path((thread, turn)): Path<(String, String)>,
    Query(wanted): Query<JournalQuery>,
) -> Result<Response, Refusal> {
    let key = turn_key(&user, &thread, &turn)?;
    if server.sessions.store().turn(&key).await?.is_none() {
        return Err(StoreError::NoTurn { turn: key.turn }.into());
    }
    let Some(recorder) = &server.recorder else {
        let message = "the server keeps no journals: start it with `--record full`";
        return Err(Refusal::new(Code::NoJournal, message));
    };
    let recorded = recorder.journal(&key).ok_or_else(|| {
        let message =
            "no journal of the turn is kept here: the latest turns of this process have one";
        Refusal::new(Code::NoJournal, message)
    })?;
    let text = tokio::task::spawn_blocking(move || recorded.text(wanted.redacted)).await;
    let text = match text {
        Ok(text) => text.map_err(|error| {
            let message = format!("the journal of the turn cannot be shown: {error}");
            Refusal::new(Code::NoJournal, message)
        })?,
        Err(error) => {
            tracing::error!(target: "stepwell", turn = %key, %error, "a journal cannot be shown");
            let message = "the journal of the turn cannot be shown: see the server's log";
            return Err(Refusal::new(Code::InternalError, message));
        }
    };
    let headers = [
        (header::CONTENT_TYPE, "application/jsonl; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, text).into_response())
}
