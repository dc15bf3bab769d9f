//! One reader of a turn's events: what the turn has emitted so far, and then what it emits.

use super::followers::{Followers, HeldPage, MAX_PAGE_BYTES};
use super::prelude;
use crate::engine::{Engine, Reader, TELLING_TIME};
use crate::request::RefusedReason;
use crate::turn::ending::custom;
use crate::turn::store_trouble::StoreTrouble;
use serde::Deserialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::event::{Event, RunError};
use stepwell_core::run::TurnStatus;
use stepwell_core::session::Turn;
use stepwell_io::RunId;
use stepwell_io::store::{Changes, LoggedEvent, Store, StoreError, TurnKey};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How many events are read from the store at once.
const PAGE: usize = 256;

/// The message for a client whose run had emitted nothing when the server stopped.
const STOPPING: &str =
    "the server stopped before the run had emitted an event: post the run again with the same id";

/// The message for a client whose run had emitted nothing before the store could no longer be read.
const UNREAD: &str = "the server cannot read its store: post the run again later, with the same id";

/// Between two tries to read a store that cannot be reached.
const PAUSE: Duration = Duration::from_millis(500);

/// One reader of a turn's events.
#[derive(Debug)]
pub struct Follow {
    store: Arc<dyn Store>,
    engine: Arc<dyn Engine>,
    /// What keeps the turn from being stored, if this host drives it.
    trouble: Option<watch::Receiver<Option<StoreTrouble>>>,
    /// The trouble that was reported to the client.
    told: Option<StoreTrouble>,
    /// Since when the store cannot be read, and for how long that may be.
    unread_since: Option<Instant>,
    longest: Duration,
    key: TurnKey,
    scope: Scope,
    changes: Changes,
    /// The event that was read last.
    after: Option<u64>,
    page: VecDeque<LoggedEvent>,
    /// The events that the reader receives instead of those that were dropped.
    stands: VecDeque<Event>,
    /// The memory that the reader holds for events: the page, or the events for its last event.
    held: Option<HeldPage>,
    followers: Followers,
    close: CancellationToken,
    /// Whether the turn was over when the reader came: if its log has no end, its host may have died before it could
    /// report it.
    has_ended: bool,
    keep_alive: Duration,
    /// The server stops, and drives no turn any more.
    let_go: CancellationToken,
    is_over: bool,
    /// Counts as a reader of the turn's run.
    _reader: Option<Reader>,
}

/// The part of a turn that a reader follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All of it.
    Turn,
    /// This run, which has not been read yet.
    Begins(RunId),
    /// The run under way.
    Run,
}

/// How a reader follows a turn.
#[derive(Debug)]
pub(crate) struct Reading {
    /// The event that it had last.
    pub after: Option<u64>,
    /// How long the reader may receive nothing before a notice of that.
    pub keep_alive: Duration,
    /// How long the store may be unreadable.
    pub store_timeout: Duration,
    /// Closes its connection.
    pub close: CancellationToken,
    /// The server stops, and drives no turn any more.
    pub let_go: CancellationToken,
}

/// The items that a reader receives.
#[derive(Debug)]
pub(crate) enum Followed {
    /// The next event of the log.
    Event(LoggedEvent),
    /// Something that is no part of the log.
    Notice(Event),
    /// Nothing, for as long as it may be.
    Silence,
}

/// The step after a read that failed.
enum Unreadable {
    /// The reader receives this; `None` ends the stream.
    Notice(Option<Followed>),
    /// The store is read again.
    Again,
    /// The server stops.
    Stopping,
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
    pub(crate) async fn begin(
        engine: Arc<dyn Engine>,
        followers: Followers,
        key: TurnKey,
        scope: Scope,
        reading: Reading,
    ) -> Result<Self, FollowError> {
        let reader = engine.driver().reader(&key);
        let store = Arc::clone(engine.driver().store());
        // Before the first look: what comes in between is not missed.
        let changes = store.subscribe(&key.thread).await?;
        let Some(turn) = store.turn(&key).await? else {
            return Err(StoreError::NoTurn { turn: key.turn }.into());
        };
        let Reading {
            after,
            keep_alive,
            store_timeout,
            close,
            let_go,
        } = reading;
        let mut follow = Self {
            store,
            engine,
            trouble: None,
            told: None,
            unread_since: None,
            longest: store_timeout,
            key,
            scope,
            changes,
            after,
            page: VecDeque::new(),
            stands: VecDeque::new(),
            held: None,
            followers,
            close,
            has_ended: turn.status != TurnStatus::Streaming,
            keep_alive,
            let_go,
            is_over: false,
            _reader: reader,
        };
        if let Some(last) = after.filter(|_| !matches!(follow.scope, Scope::Begins(_))) {
            let (store, key) = (&follow.store, &follow.key);
            let event = store.events(key, last.checked_sub(1), 1).await?;
            let event = event.first().ok_or_else(|| FollowError::NoEvent {
                turn: key.turn.clone(),
            })?;
            // The event may have been dropped, with others after it.
            follow.is_over =
                event.index == last && follow.is_end(last, &Head::of(&event.data)).await;
        }
        Ok(follow)
    }

    /// Sets how long the reader may receive nothing before a notice of that.
    pub(crate) fn set_keep_alive(&mut self, keep_alive: Duration) {
        self.keep_alive = keep_alive;
    }

    /// The turn that is followed.
    pub(crate) fn key(&self) -> &TurnKey {
        &self.key
    }

    /// Returns the turn's store.
    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Returns the next event if it was read already.
    pub(crate) async fn next_read(&mut self) -> Option<LoggedEvent> {
        // Events after a run belong to another run.
        while !self.is_over
            && let Some(event) = self.page.pop_front()
        {
            self.after = Some(event.index);
            let head = Head::of(&event.data);
            if let Scope::Begins(run) = &self.scope {
                if !head.begins(run) {
                    continue;
                }
                self.scope = Scope::Run;
            }
            self.is_over = self.is_end(event.index, &head).await;
            return Some(event);
        }
        None
    }

    /// Waits for the next item for the reader; `None` after the last one. The future can be dropped and made again:
    /// nothing is lost.
    pub(crate) async fn next(&mut self) -> Option<Followed> {
        let mut is_silent = false;
        loop {
            if self.is_over {
                return None;
            }
            if let Some(event) = self.stands.pop_front() {
                return Some(Followed::Notice(event));
            }
            if let Some(event) = self.next_read().await {
                return Some(Followed::Event(event));
            }
            // The reader's frames have been sent.
            self.held = None;
            match self.read().await {
                Ok(page) if !page.is_empty() => {
                    self.unread_since = None;
                    if let Err(error) = self.bridge(&page).await {
                        tracing::error!(target: "stepwell", turn = %self.key, %error, "a turn whose log was dropped cannot be shown");
                        return None;
                    }
                    self.page = page.into();
                    continue;
                }
                Ok(_) if is_silent => {
                    self.tell_end().await;
                    return Some(Followed::Silence);
                }
                Ok(_) => self.unread_since = None,
                // The turn was deleted.
                Err(error) if error.is_lost() => return None,
                Err(error) => match self.unreadable(&error).await {
                    Unreadable::Notice(notice) => return notice,
                    Unreadable::Again => continue,
                    Unreadable::Stopping => {}
                },
            }
            if self.let_go.is_cancelled() {
                self.is_over = true;
                return match self.has_begun() {
                    true => Some(Followed::Notice(stopping())),
                    false => self.unbegun(RefusedReason::Stopping, STOPPING),
                };
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

    /// Reports the end of the turn, whose owner may have died before it could.
    async fn tell_end(&self) {
        if let Err(error) = self.engine.tell_end(&self.key).await {
            tracing::warn!(target: "stepwell", turn = %self.key, %error, "the end of a turn cannot be told");
        }
    }

    /// Waits for a store that cannot be read, up to the store timeout.
    async fn unreadable(&mut self, error: &StoreError) -> Unreadable {
        tracing::warn!(target: "stepwell", turn = %self.key, %error, "the events cannot be read");
        let since = *self.unread_since.get_or_insert_with(Instant::now);
        if !error.is_transient() || since.elapsed() >= self.longest {
            // The client resumes after the last event, if it has one.
            self.is_over = true;
            return Unreadable::Notice(self.unbegun(RefusedReason::StoreUnavailable, UNREAD));
        }
        if let Some(notice) = self.tell(Some(StoreTrouble::from(error))) {
            return Unreadable::Notice(Some(notice));
        }
        tokio::select! {
            biased;
            () = tokio::time::sleep(PAUSE) => Unreadable::Again,
            () = self.let_go.cancelled() => Unreadable::Stopping,
        }
    }

    /// Reports the turn's state where the next events were dropped: of such a log only the last event is left.
    async fn bridge(&mut self, page: &[LoggedEvent]) -> Result<(), StoreError> {
        let expected = self.after.map_or(0, |after| after + 1);
        let Some(last) = page.first().filter(|event| event.index > expected) else {
            return Ok(());
        };
        let head = Head::of(&last.data);
        if let Scope::Begins(run) = &self.scope {
            // An error does not name its run.
            if !head.run_id.is_empty() && head.run_id != run.as_str() {
                self.is_over = true;
                return Ok(());
            }
            self.scope = Scope::Run;
        }
        let run = match head.run_id.is_empty() {
            true => self.key.turn.clone(),
            false => RunId::from(&*head.run_id),
        };
        let path = self.store.path(&self.key).await?;
        let stands = prelude::dropped(&self.key, &run, &path);
        let stands = stands.map_err(|error| StoreError::Damaged {
            message: error.to_string(),
        })?;
        self.stands = stands.into();
        Ok(())
    }

    /// Reads the next page, and counts it.
    async fn read(&mut self) -> Result<Vec<LoggedEvent>, StoreError> {
        // The semaphore is never closed.
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

    /// Returns whether no event follows this one.
    async fn is_end(&self, index: u64, head: &Head<'_>) -> bool {
        if !head.ends_run() {
            return false;
        }
        if self.scope != Scope::Turn {
            return true;
        }
        if head.r#type == "RUN_FINISHED" {
            // A turn that is reported in runs continues after a run that waits for the user or the client.
            return head.is_success();
        }
        // The turn also continues after a run whose answers did not fit.
        let turn = self.store.turn(&self.key).await;
        let is_closed = |turn: &Turn| turn.status != TurnStatus::Streaming;
        if !turn.is_ok_and(|turn| turn.as_ref().is_none_or(is_closed)) {
            return false;
        }
        let log = self.store.event_log(&self.key).await;
        log.is_ok_and(|log| log.next == index + 1)
    }

    /// Returns what keeps the turn from being stored, as far as it is known here.
    fn trouble(&mut self) -> Option<StoreTrouble> {
        if self.trouble.is_none() {
            self.trouble = self.engine.trouble(&self.key);
        }
        *self.trouble.as_mut()?.borrow_and_update()
    }

    /// Returns whether the client has the first event of the turn or run: no other event may come before that one.
    fn has_begun(&self) -> bool {
        match self.scope {
            Scope::Turn => self.after.is_some(),
            Scope::Begins(_) => false,
            Scope::Run => true,
        }
    }

    /// Returns the error that ends a stream in which a run has not begun: an empty stream would look like a run without
    /// events. A client that follows a turn opens the stream again by itself, and gets nothing.
    fn unbegun(&self, reason: RefusedReason, message: &str) -> Option<Followed> {
        if !matches!(self.scope, Scope::Begins(_)) {
            return None;
        }
        Some(Followed::Notice(Event::from(RunError {
            message: message.to_owned(),
            code: Some(reason.code().to_owned()),
            ..RunError::default()
        })))
    }

    /// Tells the client, if it does not know yet and has the first event.
    fn tell(&mut self, trouble: Option<StoreTrouble>) -> Option<Followed> {
        if self.told == trouble || !self.has_begun() {
            return None;
        }
        self.told = trouble;
        Some(Followed::Notice(trouble?.waiting()))
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
}

/// Why the stream of a turn comes to its end before the turn does.
fn stopping() -> Event {
    let message = "the server stops: come back in a while, with the id of the last event";
    custom(
        "server_stopping",
        json!({ "code": "stopping", "message": message }),
    )
}

/// The fields of an event that decide how it is followed.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Head<'a> {
    #[serde(borrow, default)]
    r#type: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) run_id: Cow<'a, str>,
    outcome: Option<Value>,
}

impl<'a> Head<'a> {
    pub(crate) fn of(json: &'a str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    fn begins(&self, run: &RunId) -> bool {
        self.r#type == "RUN_STARTED" && self.run_id == run.as_str()
    }

    pub(crate) fn ends_run(&self) -> bool {
        matches!(&*self.r#type, "RUN_FINISHED" | "RUN_ERROR")
    }

    /// Returns whether the turn has ended well with the run.
    fn is_success(&self) -> bool {
        let waits = self.outcome.as_ref().is_some_and(|outcome| {
            outcome["type"] == "interrupt" || outcome.get("pendingToolCallIds").is_some()
        });
        self.r#type == "RUN_FINISHED" && !waits
    }

    /// Returns whether the event is only for clients that follow a turn of a thread.
    pub(crate) fn is_of_turn(&self) -> bool {
        let names = ["tool_status", "interrupt", "interrupt_answered"];
        self.r#type == "CUSTOM" && names.contains(&&*self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tests::engine_on;
    use stepwell_core::Timestamp;
    use stepwell_io::store::{MemoryStore, NewTurn, TurnStore};

    /// A reader of a turn that has begun and emitted nothing, on a server that stops.
    async fn stopped(scope: Scope) -> Follow {
        let store = Arc::new(MemoryStore::new());
        let key = TurnKey::new("thread", "r");
        let new = NewTurn::new(key.clone(), "host", Timestamp(1));
        store.begin_turn(&new).await.unwrap();
        let (_model, engine) = engine_on(store, Duration::ZERO).await;
        let reading = Reading {
            after: None,
            keep_alive: Duration::from_secs(15),
            store_timeout: Duration::ZERO,
            close: CancellationToken::new(),
            let_go: CancellationToken::new(),
        };
        reading.let_go.cancel();
        let followers = Followers::default();
        Follow::begin(Arc::new(engine), followers, key, scope, reading)
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn a_run_that_has_said_nothing_when_the_server_stops_ends_in_an_error() {
        let mut follow = stopped(Scope::Begins("r".into())).await;
        let Some(Followed::Notice(Event::RunError(error))) = follow.next().await else {
            panic!("an empty stream would look like a run that said nothing");
        };
        assert_eq!(error.code.as_deref(), Some("stopping"));
        assert!(follow.next().await.is_none());
    }

    #[tokio::test]
    async fn who_follows_a_turn_that_has_said_nothing_is_told_nothing() {
        let mut follow = stopped(Scope::Turn).await;
        assert!(follow.next().await.is_none());
    }
}
