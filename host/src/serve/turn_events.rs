//! `GET /threads/{thread}/turns/{turn}/events`: the events of a turn, past ones and those to come.

use super::connections::CloseConnection;
use super::extract::{Asker, Path, Query};
use super::refusal::Refusal;
use super::requests::turn_key;
use super::server::Server;
use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use std::sync::Arc;
use stepwell_core::dialect::ClientVersion;
use stepwell_io::store::TurnKey;
use stepwell_serve::axum::response;
use stepwell_serve::parts::FollowError;
use stepwell_serve::{Encoding, LAST_EVENT_ID};
use tokio_util::sync::CancellationToken;

/// The reader of the events.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Follower {
    /// The version of the protocol that it speaks; absent before 1.0.
    protocol_version: Option<String>,
}

pub(super) async fn get(
    State(server): State<Arc<Server>>,
    Asker(user): Asker,
    Path((thread, turn)): Path<(String, String)>,
    Query(follower): Query<Follower>,
    close: Option<Extension<CloseConnection>>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let encoding = Encoding::accepted(&headers)?;
    let open = server.user_limits.stream(&user)?;
    let key = turn_key(&user, &thread, &turn)?;
    let after = after(&headers, &key)?;
    let close = close.map_or_else(CancellationToken::new, |Extension(close)| close.0);
    let follow = server.runs.follow(key, after, close).await?;
    let version = ClientVersion::declared(follower.protocol_version.as_deref());
    let frames = follow.frames(encoding, version);
    Ok(response(encoding, open.around(frames)))
}

/// The event that the client had last.
fn after(headers: &HeaderMap, key: &TurnKey) -> Result<Option<u64>, Refusal> {
    let Some(value) = headers.get(LAST_EVENT_ID) else {
        return Ok(None);
    };
    let index = value.to_str().ok().and_then(|value| {
        let (turn, index) = value.trim().rsplit_once(':')?;
        (turn == key.turn.as_str()).then(|| index.parse().ok())?
    });
    index.map(Some).ok_or_else(|| no_event(key))
}

fn no_event(key: &TurnKey) -> Refusal {
    let turn = key.turn.clone();
    FollowError::NoEvent { turn }.into()
}
