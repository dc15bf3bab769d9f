//! Runs agents for AG-UI clients and for chats of the AI SDK.

mod begin;

use super::prepared::PreparedRun;
use crate::engine::{Driver, DriverSetup, Engine, EngineError, LocalEngine};
#[cfg(feature = "axum")]
use crate::follow::LogRead;
use crate::follow::{Follow, FollowError, Followers, Reading, RunStream, Scope};
use crate::request::{ClientTrust, Refused};
use crate::turn::agent::TurnAgent;
use crate::turn::event_writer::{self, Written};
use crate::turn::runs::{Open, Runs};
use crate::ui_message::{ChatRequest, ChatStream};
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::ThreadId;
use stepwell_core::event::RunAgentInput;
use stepwell_core::registry::ThreadKey;
use stepwell_io::store::{MemoryStore, Store, StoreError, TurnKey};
use stepwell_io::{Agent, RunId};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// The default time after which a comment is sent on a silent stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// How long a turn waits for a store that is full or out of reach.
const STORE_TIMEOUT: Duration = Duration::from_secs(60);

/// The most turns of one user that wait for them.
const MOST_WAITING: usize = 10_000;

/// Runs agents for AG-UI clients and for chats of the AI SDK, whatever brings their requests. Each run is a turn that is
/// stored, by default in memory: a client that has lost its connection resumes the run, and a turn that
/// waits for its user continues with the run that brings the answer. Clones are the same server.
///
/// A run is given the agent's model, tools and settings; the client's conversation, tools, context and state; and asks the
/// client, by an interrupt, about tools that need an approval and what a running tool wants to know. It does not use the
/// agent's store.
///
/// All clients of a server share its threads: a client that knows the id of a thread can resume its runs. A server with
/// users gives each user a [room](Self::in_room).
///
/// ```no_run
/// # async fn example(agent: &stepwell_io::Agent, body: &[u8]) -> Result<(), stepwell_serve::Refused> {
/// use stepwell_serve::{AgUiServer, read_input};
///
/// let server = AgUiServer::default();
/// let mut events = server.run(agent, read_input(body)?).await?;
/// while let Some(event) = events.next().await {
///     println!("{}", String::from_utf8_lossy(&event.json));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct AgUiServer(Arc<Inner>, Room);

/// The room of the server's threads.
#[derive(Clone, Debug, Default)]
struct Room {
    server: Arc<str>,
    room: Arc<str>,
}

#[derive(Debug)]
struct Inner {
    engine: Arc<dyn Engine>,
    trust: ClientTrust,
    keep_alive: Duration,
    store_timeout: Duration,
    followers: Followers,
    let_go: CancellationToken,
    is_open: OnceCell<()>,
}

/// How far the runs of an [`AgUiServer`] may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// The most runs at once: 256 if not set.
    pub runs: usize,
    /// How long a run may take, without the time that it waits for its user: 10 minutes if not set.
    pub run_time: Duration,
    /// How long a question to the user stays open: an hour if not set.
    pub interrupt_time: Duration,
    /// How long a run without readers continues, so that its client may resume it: 30 seconds if not set. A run whose
    /// `forwardedProps` have `background: true` continues to its end.
    pub resume_time: Duration,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            runs: 256,
            run_time: Duration::from_secs(600),
            interrupt_time: Duration::from_secs(3600),
            resume_time: Duration::from_secs(30),
        }
    }
}

impl Default for AgUiServer {
    fn default() -> Self {
        Self::new(RunLimits::default())
    }
}

/// Where a client resumes a run.
#[derive(Clone, Debug, Default)]
pub struct Cursor(Option<String>);

impl Cursor {
    /// Resumes after the event of this id, as `Last-Event-ID` has it; without one, for a client that has nothing of the run.
    #[must_use]
    pub fn new(last_event_id: Option<&str>) -> Self {
        Self(last_event_id.map(str::to_owned))
    }

    /// The event's place in the log, if it is one of the run.
    pub(super) fn of(&self, run: &RunId) -> Option<u64> {
        let (of, index) = self.0.as_deref()?.trim().rsplit_once(':')?;
        (of == run.as_str()).then(|| index.parse().ok())?
    }
}

impl AgUiServer {
    /// A server without runs, which keeps them in memory and takes no instructions from its clients.
    #[must_use]
    pub fn new(limits: RunLimits) -> Self {
        Self::with_trust(limits, ClientTrust::default())
    }

    /// Creates a server without runs, whose clients may give the model instructions if they are trusted.
    #[must_use]
    pub fn with_trust(limits: RunLimits, trust: ClientTrust) -> Self {
        let setup = DriverSetup {
            store: Arc::new(MemoryStore::new()),
            is_durable: false,
            owner: Uuid::new_v4().to_string(),
            agent: None,
            offered: Vec::new(),
            observer: None,
            journals: None,
            most: limits.runs,
            waiting: MOST_WAITING,
            run_time: limits.run_time,
            interrupt_time: limits.interrupt_time,
            linger: Some(limits.resume_time),
            store_timeout: STORE_TIMEOUT,
            elsewhere: None,
        };
        let engine = Arc::new(LocalEngine::new(setup));
        Self::over(engine, trust, KEEP_ALIVE, STORE_TIMEOUT, OnceCell::new())
    }

    /// Serves the runs of an engine, which is open.
    #[doc(hidden)]
    #[must_use]
    pub fn of_engine(
        engine: Arc<dyn Engine>,
        trust: ClientTrust,
        keep_alive: Duration,
        store_timeout: Duration,
    ) -> Self {
        let is_open = OnceCell::new_with(Some(()));
        Self::over(engine, trust, keep_alive, store_timeout, is_open)
    }

    fn over(
        engine: Arc<dyn Engine>,
        trust: ClientTrust,
        keep_alive: Duration,
        store_timeout: Duration,
        is_open: OnceCell<()>,
    ) -> Self {
        let inner = Arc::new(Inner {
            engine,
            trust,
            keep_alive,
            store_timeout,
            followers: Followers::default(),
            let_go: CancellationToken::new(),
            is_open,
        });
        Self(inner, Room::default())
    }

    /// Returns the same server for the threads of one room, which no other room has: for the threads of one user, say.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     server: stepwell_serve::AgUiServer, agent: &stepwell_io::Agent, user: &str,
    /// #     input: stepwell_io::core::event::RunAgentInput,
    /// # ) -> Result<(), stepwell_serve::Refused> {
    /// let events = server.in_room("", user).run(agent, input).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn in_room(&self, server: &str, room: &str) -> Self {
        let room = Room {
            server: server.into(),
            room: room.into(),
        };
        Self(Arc::clone(&self.0), room)
    }

    fn key(&self, thread: &ThreadId) -> ThreadKey {
        let Room { server, room } = &self.1;
        ThreadKey::new(&**server, &**room, thread.clone())
    }

    /// Runs the agent for an AG-UI client, and returns the run's events. A run that is posted again is resumed.
    /// Another run of the thread that is under way is cancelled: its client has moved on. Whatever happens in it, the run
    /// ends with `RUN_FINISHED` or `RUN_ERROR`; one without readers is stopped after a while.
    ///
    /// # Errors
    /// No run begins: there are too many, the input cannot be run, or the server stops.
    pub async fn run<T>(
        &self,
        agent: &Agent<(), T>,
        input: RunAgentInput,
    ) -> Result<RunStream, Refused> {
        self.run_from(agent, input, None).await
    }

    /// Runs the agent, as [`run`](Self::run), for a client that resumes the run with the id of the last event that it
    /// has, as [`LAST_EVENT_ID`](crate::LAST_EVENT_ID) has it.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub async fn run_from<T>(
        &self,
        agent: &Agent<(), T>,
        input: RunAgentInput,
        last_event_id: Option<&str>,
    ) -> Result<RunStream, Refused> {
        let _permit = self.driver().permit()?;
        let key = self.key(&input.thread_id);
        let agent = Arc::new(TurnAgent::of(agent));
        let prepared = PreparedRun::new(&agent, input, self.0.trust)?;
        let (cursor, close) = (Cursor::new(last_event_id), CancellationToken::new());
        Ok(self.begin(key, prepared, &cursor, close).await?)
    }

    /// Runs the agent for a chat of the AI SDK, as [`run`](Self::run) does, and returns the run's UI message stream.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub async fn chat<T>(
        &self,
        agent: &Agent<(), T>,
        request: ChatRequest,
    ) -> Result<ChatStream, Refused> {
        let _permit = self.driver().permit()?;
        let key = self.key(&request.input.thread_id);
        let message = request.message_id.clone();
        let agent = Arc::new(TurnAgent::of(agent));
        let prepared = PreparedRun::chat(&agent, request, self.0.trust)?;
        let (cursor, close) = (Cursor::default(), CancellationToken::new());
        let stream = self.begin(key, prepared, &cursor, close).await?;
        Ok(ChatStream::new(stream, message))
    }

    /// Returns the stream of the chat's run that is under way, or that ended while no client read it, from its beginning;
    /// nothing if there is none.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn chat_stream(&self, chat: &ThreadId) -> Result<Option<ChatStream>, Refused> {
        let close = CancellationToken::new();
        Ok(self.latest_chat(&self.key(chat), close).await?)
    }

    /// Stops the chat's run. Returns whether one was under way.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub async fn stop_chat(&self, chat: &ThreadId) -> Result<bool, Refused> {
        self.stop_run(chat, None).await
    }

    /// Stops the thread's run, if it is this one or none is named. Returns whether one was under way.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub async fn stop_run(&self, thread: &ThreadId, run: Option<&RunId>) -> Result<bool, Refused> {
        Ok(self.end_run(&self.key(thread), run).await?)
    }

    /// Takes no more runs, and gives those under way `grace` to end. Returns when no run is under way.
    pub async fn stop(&self, grace: Duration) {
        self.0.engine.close(grace).await;
        self.0.let_go.cancel();
    }

    /// Takes no more runs.
    pub fn close(&self) {
        self.driver().close();
    }

    /// Returns whether the server takes no more runs.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.driver().is_stopping()
    }

    pub(super) fn driver(&self) -> &Driver {
        self.0.engine.driver()
    }

    /// Reads the log of a turn. A live read counts as a reader of the turn's run.
    #[cfg(feature = "axum")]
    pub(crate) fn log(&self, turn: TurnKey, is_live: bool) -> LogRead {
        LogRead {
            _reader: is_live.then(|| self.driver().reader(&turn)).flatten(),
            store: Arc::clone(self.store()),
            turn,
            followers: self.0.followers.clone(),
            let_go: self.0.let_go.clone(),
        }
    }

    pub(super) fn store(&self) -> &Arc<dyn Store> {
        self.driver().store()
    }

    /// Returns the token that is cancelled when the server drives no turn any more: readers are notified, and released.
    #[doc(hidden)]
    #[must_use]
    pub fn let_go(&self) -> &CancellationToken {
        &self.0.let_go
    }

    /// Follows a turn of a thread.
    ///
    /// # Errors
    /// There is no such turn or event, or the store cannot be read.
    #[doc(hidden)]
    pub async fn follow(
        &self,
        turn: TurnKey,
        after: Option<u64>,
        close: CancellationToken,
    ) -> Result<Follow, FollowError> {
        self.follow_in(turn, Scope::Turn, after, close).await
    }

    pub(super) async fn follow_in(
        &self,
        turn: TurnKey,
        scope: Scope,
        after: Option<u64>,
        close: CancellationToken,
    ) -> Result<Follow, FollowError> {
        let reading = Reading {
            after,
            keep_alive: self.0.keep_alive,
            store_timeout: self.0.store_timeout,
            close,
            let_go: self.0.let_go.clone(),
        };
        let engine = Arc::clone(&self.0.engine);
        Follow::begin(engine, self.0.followers.clone(), turn, scope, reading).await
    }

    pub(super) async fn read(&self, turn: &TurnKey) -> Result<Written, StoreError> {
        event_writer::read(self.store(), turn, &self.0.let_go).await
    }

    /// Stops the thread's run, if it is this one or none is named. Returns whether one was under way.
    ///
    /// # Errors
    /// The store cannot be read or written.
    #[doc(hidden)]
    pub async fn end_run(
        &self,
        thread: &ThreadKey,
        run: Option<&RunId>,
    ) -> Result<bool, EngineError> {
        let record = self.store().thread(thread).await?;
        let Some(unfinished) = record.and_then(|record| record.unfinished) else {
            return Ok(false);
        };
        if let Some(run) = run {
            let written = self.read(&unfinished.key).await?;
            if Runs::of(&written.events, true).open != Open::Run(run.clone()) {
                return Ok(false);
            }
        }
        self.0.engine.cancel(&unfinished.key).await?;
        Ok(true)
    }
}
