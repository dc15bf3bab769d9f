//! One reader of a turn's events: what the turn has said so far, and then what it says.

use super::followers::{Followers, HeldPage, MAX_PAGE_BYTES};
use crate::engine::{Engine, TELLING_TIME};
use crate::turn::ending::custom;
use crate::turn::store_trouble::StoreTrouble;
use crate::wire::Encoding;
use bytes::Bytes;
use futures::{Stream, stream};
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::dialect::ClientVersion;
use stepwell_core::event::Event;
use stepwell_core::run::TurnStatus;
use stepwell_io::RunId;
use stepwell_io::store::{Changes, LoggedEvent, Store, StoreError, TurnKey};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How many events are read from the store at once.
const PAGE: usize = 256;

/// Between two tries to read a store that cannot be reached.
const PAUSE: Duration = Duration::from_millis(500);

/// One reader of a turn's events.
#[derive(Debug)]
pub struct Follow {
    store: Arc<dyn Store>,
    engine: Arc<dyn Engine>,
    /// What keeps the turn from being stored, if this host drives it.
    trouble: Option<watch::Receiver<Option<StoreTrouble>>>,
    /// What the client was told of that.
    told: Option<StoreTrouble>,
    /// Since when the store cannot be read, and for how long that may be.
    unread_since: Option<Instant>,
    longest: Duration,
    key: TurnKey,
    changes: Changes,
    /// The event that was read last.
    after: Option<u64>,
    page: VecDeque<LoggedEvent>,
    /// What it holds of events: the page, or the frame that was made of its last event.
    held: Option<HeldPage>,
    followers: Followers,
    close: CancellationToken,
    /// The turn was over when it came: if its log has no end, its host may have died before it could tell it.
    has_ended: bool,
    keep_alive: Duration,
    /// The server stops, and drives no turn any more.
    let_go: CancellationToken,
    encoding: Encoding,
    version: ClientVersion,
    is_over: bool,
}

/// How a reader follows a turn.
#[derive(Debug)]
pub struct Reading {
    /// The event that it had last.
    pub after: Option<u64>,
    /// How the events are written.
    pub encoding: Encoding,
    /// The version of the protocol that it speaks.
    pub version: ClientVersion,
    /// How long it may hear nothing before a comment is sent.
    pub keep_alive: Duration,
    /// How long the store may be unreadable.
    pub store_timeout: Duration,
    /// Closes its connection.
    pub close: CancellationToken,
    /// The server stops, and drives no turn any more.
    pub let_go: CancellationToken,
}

/// Why a turn cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// The store has no such turn, or cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The reader has had no such event.
    #[error("`Last-Event-ID` is no event of the turn: an id looks like `{turn}:7`")]
    NoEvent {
        /// The turn.
        turn: RunId,
    },
}

impl Follow {
    /// Begins to follow a turn.
    ///
    /// # Errors
    /// There is no such turn or event, or the store cannot be read.
    pub async fn begin(
        engine: Arc<dyn Engine>,
        followers: Followers,
        key: TurnKey,
        reading: Reading,
    ) -> Result<Self, FollowError> {
        let store = Arc::clone(engine.driver().store());
        // Before the first look: what comes in between is not missed.
        let changes = store.subscribe(&key.thread).await?;
        let Some(turn) = store.turn(&key).await? else {
            return Err(StoreError::NoTurn { turn: key.turn }.into());
        };
        let Reading {
            after,
            encoding,
            version,
            keep_alive,
            store_timeout,
            close,
            let_go,
        } = reading;
        let is_over = match after {
            Some(last) => {
                let event = store.events(&key, last.checked_sub(1), 1).await?;
                let event = event.first().filter(|event| event.index == last);
                let event = event.ok_or_else(|| FollowError::NoEvent {
                    turn: key.turn.clone(),
                })?;
                is_end(&event.data)
            }
            None => false,
        };
        Ok(Self {
            store,
            engine,
            trouble: None,
            told: None,
            unread_since: None,
            longest: store_timeout,
            key,
            changes,
            after,
            page: VecDeque::new(),
            held: None,
            followers,
            close,
            has_ended: turn.status != TurnStatus::Streaming,
            keep_alive,
            let_go,
            encoding,
            version,
            is_over,
        })
    }

    /// Returns the frames of an HTTP body.
    pub fn frames(self) -> impl Stream<Item = Bytes> {
        stream::unfold(self, |mut follow| async move {
            let frame = follow.next().await?;
            Some((frame, follow))
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        let mut is_silent = false;
        loop {
            if let Some(event) = self.page.pop_front() {
                self.after = Some(event.index);
                self.is_over = self.page.is_empty() && is_end(&event.data);
                match self.frame(event.index, &event.data) {
                    Some(frame) => return Some(frame),
                    // The client's version has no place for it.
                    None => continue,
                }
            }
            // What it had is sent.
            self.held = None;
            if self.is_over {
                return None;
            }
            match self.read().await {
                Ok(page) if !page.is_empty() => {
                    self.unread_since = None;
                    self.page = page.into();
                    continue;
                }
                Ok(_) if is_silent => {
                    // Its owner may have died before it could tell the end.
                    if let Err(error) = self.engine.tell_end(&self.key).await {
                        tracing::warn!(target: "stepwell", turn = %self.key, %error, "the end of a turn cannot be told");
                    }
                    if let Some(comment) = self.encoding.keep_alive() {
                        return Some(comment);
                    }
                }
                Ok(_) => self.unread_since = None,
                // The turn is gone.
                Err(error) if error.is_lost() => return None,
                Err(error) => {
                    tracing::warn!(target: "stepwell", turn = %self.key, %error, "the events cannot be read");
                    let since = *self.unread_since.get_or_insert_with(Instant::now);
                    if !error.is_transient() || since.elapsed() >= self.longest {
                        // The client comes back with the id of the last event.
                        return None;
                    }
                    if let Some(notice) = self.tell(Some(StoreTrouble::from(&error))) {
                        return Some(notice);
                    }
                    tokio::select! {
                        biased;
                        () = tokio::time::sleep(PAUSE) => continue,
                        () = self.let_go.cancelled() => {}
                    }
                }
            }
            if self.let_go.is_cancelled() {
                self.is_over = true;
                // A turn begins with its first event: one that has nothing of it is told nothing.
                return self.after.map(|_| self.encoding.notice(&stopping()));
            }
            let trouble = self.trouble();
            if let Some(notice) = self.tell(trouble) {
                return Some(notice);
            }
            let silence = match self.has_ended {
                true => self.keep_alive.min(TELLING_TIME),
                false => self.keep_alive,
            };
            is_silent = tokio::time::timeout(silence, self.moved()).await.is_err();
        }
    }

    /// Reads the next page, and counts it.
    async fn read(&mut self) -> Result<Vec<LoggedEvent>, StoreError> {
        // It is never closed.
        let _reads = self.followers.reads().await.ok();
        let read = self
            .store
            .events_within(&self.key, self.after, PAGE, MAX_PAGE_BYTES);
        let page = read.await?;
        if !page.is_empty() {
            let bytes = page.iter().map(|event| event.data.len()).sum();
            self.held = Some(self.followers.hold(bytes, &self.close));
        }
        Ok(page)
    }

    /// What keeps the turn from being stored, as far as it is known here.
    fn trouble(&mut self) -> Option<StoreTrouble> {
        if self.trouble.is_none() {
            self.trouble = self.engine.trouble(&self.key);
        }
        *self.trouble.as_mut()?.borrow_and_update()
    }

    /// Tells the client, if it does not know yet. One that has nothing of the turn is told nothing: a turn begins with
    /// its first event.
    fn tell(&mut self, trouble: Option<StoreTrouble>) -> Option<Bytes> {
        if self.told == trouble || self.after.is_none() {
            return None;
        }
        self.told = trouble;
        Some(self.encoding.notice(&trouble?.waiting()))
    }

    /// Waits until there may be something new.
    async fn moved(&mut self) {
        let trouble = async {
            let is_told = match &mut self.trouble {
                Some(trouble) => trouble.changed().await.is_ok(),
                None => false,
            };
            if !is_told {
                // The turn is over, or driven elsewhere.
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            () = self.changes.changed() => {}
            () = trouble => {}
            () = self.let_go.cancelled() => {}
        }
    }

    /// A logged event, unless the client's version has no place for it.
    fn frame(&self, index: u64, json: &str) -> Option<Bytes> {
        let adapted = match self.version {
            ClientVersion::Before1_0 => adapted(json, self.version)?,
            // What is logged is of 1.0.
            _ => Cow::Borrowed(json),
        };
        let mut frame = Vec::new();
        self.encoding
            .write(&self.key.turn, index, adapted.as_bytes(), &mut frame);
        Some(frame.into())
    }
}

fn adapted(json: &str, version: ClientVersion) -> Option<Cow<'_, str>> {
    let Ok(event) = serde_json::from_str::<Event>(json) else {
        return Some(Cow::Borrowed(json));
    };
    Some(match version.adapt(&event)? {
        Cow::Borrowed(_) => Cow::Borrowed(json),
        Cow::Owned(event) => Cow::Owned(serde_json::to_string(&event).ok()?),
    })
}

/// Why the stream of a turn comes to its end before the turn does.
fn stopping() -> Event {
    let message = "the server stops: come back in a while, with the id of the last event";
    custom(
        "server_stopping",
        json!({ "code": "stopping", "message": message }),
    )
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
