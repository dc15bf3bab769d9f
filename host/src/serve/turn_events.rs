//! `GET /threads/{thread}/turns/{turn}/events`: what a turn has said so far, and then what it says.

use super::Server;
use super::encoding::Encoding;
use super::ending::Ending;
use super::event_log::Entry;
use super::refusal::{Code, Refusal};
use super::reply::streamed;
use super::sessions::turn_key;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use futures::{Stream, stream};
use serde::Deserialize;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::event::{RunAgentInput, RunOutcome};
use stepwell_core::run::{Outcome, TurnStatus};
use stepwell_core::session::Turn;
use stepwell_io::store::{Changes, LoggedEvent, Store, StoreError, TurnKey};

/// How many events are read from the store at once.
const PAGE: usize = 256;

/// The header of a client that comes back:
/// <https://html.spec.whatwg.org/multipage/server-sent-events.html#the-last-event-id-header>.
pub(super) const LAST_EVENT_ID: &str = "last-event-id";

pub(super) async fn get(
    State(server): State<Arc<Server>>,
    Path((thread, turn)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let encoding = Encoding::accepted(&headers)?;
    let key = turn_key(&thread, &turn)?;
    let after = after(&headers, &key)?;
    let store = Arc::clone(server.sessions()?.store());
    // Before the first look: what comes in between is not missed.
    let changes = store.subscribe(&key.thread).await?;
    if store.turn(&key).await?.is_none() {
        return Err(StoreError::NoTurn { turn: key.turn }.into());
    }
    let is_over = match after {
        Some(last) => {
            let event = store.events(&key, last.checked_sub(1), 1).await?;
            let event = event.first().filter(|event| event.index == last);
            let event = event.ok_or_else(|| no_event(&key))?;
            is_end(&event.data)
        }
        None => false,
    };
    let follow = Follow {
        store,
        key,
        changes,
        after,
        page: VecDeque::new(),
        keep_alive: server.serving.keep_alive,
        encoding,
        is_over,
    };
    Ok(streamed(encoding, follow.frames()))
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
    let message = format!(
        "`Last-Event-ID` is no event of the turn: an id looks like `{}:7`",
        key.turn
    );
    Refusal::new(Code::InvalidInput, message)
}

/// One reader of a turn's events.
struct Follow {
    store: Arc<dyn Store>,
    key: TurnKey,
    changes: Changes,
    /// The event that was read last.
    after: Option<u64>,
    page: VecDeque<LoggedEvent>,
    keep_alive: Duration,
    encoding: Encoding,
    is_over: bool,
}

impl Follow {
    fn frames(self) -> impl Stream<Item = Result<Bytes, Infallible>> {
        stream::unfold(self, |mut follow| async move {
            let frame = follow.next().await?;
            Some((Ok(frame), follow))
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        let mut is_silent = false;
        loop {
            if let Some(event) = self.page.pop_front() {
                self.after = Some(event.index);
                self.is_over = self.page.is_empty() && is_end(&event.data);
                return Some(self.frame(event.index, event.data));
            }
            if self.is_over {
                return None;
            }
            match self.store.events(&self.key, self.after, PAGE).await {
                Ok(page) if !page.is_empty() => {
                    self.page = page.into();
                    continue;
                }
                Ok(_) if is_silent => {
                    if let Some(end) = self.lost_end().await {
                        self.is_over = true;
                        return Some(end);
                    }
                    if let Some(comment) = self.encoding.keep_alive() {
                        return Some(comment);
                    }
                }
                Ok(_) => {}
                // The turn is gone.
                Err(error) if error.is_lost() => return None,
                Err(error) => {
                    // The client comes back with the id of the last event.
                    tracing::warn!(target: "stepwell", turn = %self.key, %error, "the events cannot be read");
                    return None;
                }
            }
            let changed = tokio::time::timeout(self.keep_alive, self.changes.changed());
            is_silent = changed.await.is_err();
        }
    }

    /// The end of a turn whose owner died before it could tell it.
    async fn lost_end(&self) -> Option<Bytes> {
        let turn = self.store.turn(&self.key).await.ok().flatten()?;
        if turn.status == TurnStatus::Streaming {
            return None;
        }
        let index = self.after.map_or(0, |after| after + 1);
        let input = RunAgentInput {
            thread_id: self.key.thread.thread.clone(),
            run_id: self.key.turn.clone(),
            ..RunAgentInput::default()
        };
        let event = ending(&turn).event(&input, None);
        let json = serde_json::to_string(&event).ok()?;
        Some(self.frame(index, json))
    }

    fn frame(&self, index: u64, json: String) -> Bytes {
        let json = Bytes::from(json);
        self.encoding.event(&self.key.turn, &Entry { index, json })
    }
}

fn ending(turn: &Turn) -> Ending {
    match (&turn.outcome, turn.status) {
        (Some(Outcome::Cancelled), _) | (_, TurnStatus::Cancelled) => {
            Ending::Finished(RunOutcome::Cancelled)
        }
        (Some(Outcome::LimitReached { limit }), _) => {
            Ending::failed(limit.name(), limit.to_string())
        }
        (_, TurnStatus::Complete) => Ending::Finished(RunOutcome::Success {
            pending_tool_call_ids: None,
        }),
        _ => Ending::failed("turn_failed", "the turn failed: see the server's log"),
    }
}

/// Whether nothing follows.
fn is_end(json: &str) -> bool {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow)]
        r#type: std::borrow::Cow<'a, str>,
    }
    serde_json::from_str::<Kind<'_>>(json)
        .is_ok_and(|kind| matches!(&*kind.r#type, "RUN_FINISHED" | "RUN_ERROR"))
}
