//! Runs agents for AG-UI clients and for chats of the AI SDK.

use super::attach::Known;
use super::prepared::PreparedRun;
use crate::engine::{
    Command, Continued, Driver, DriverSetup, Engine, EngineError, LOOKS, LocalEngine, NewTurn,
    Origin, TELLING_TIME,
};
#[cfg(feature = "axum")]
use crate::follow::LogRead;
use crate::follow::{Follow, FollowError, Followers, Reading, RunStream, Scope};
use crate::request::{ClientTrust, Refused};
use crate::turn::agent::TurnAgent;
use crate::turn::answers::Unresumable;
use crate::turn::brought::{Brought, Given};
use crate::turn::ending::Ending;
use crate::turn::event_writer::{self, Written};
use crate::turn::in_runs::started;
use crate::turn::runs::{Open, Runs, Waits};
use crate::turn::session_turn::input;
use crate::ui_message::{ChatRequest, ChatStream};
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::ThreadId;
use stepwell_core::event::{Event, Interrupt, ResumeStatus, RunAgentInput};
use stepwell_core::registry::ThreadKey;
use stepwell_io::store::{MemoryStore, Store, StoreError, ThreadRecord, TurnKey};
use stepwell_io::{Agent, RunId};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// How long a stream may be silent before a comment is sent, if nothing else is said.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// How long a turn waits for a store that is full or out of reach.
const STORE_TIMEOUT: Duration = Duration::from_secs(60);

/// The most turns of one user that wait for them.
const MAX_WAITING_MESSAGES: usize = 10_000;

/// Runs agents for AG-UI clients and for chats of the AI SDK, whatever brings their requests. Each run is a turn that is
/// stored, in memory if nothing else is said: a client that has lost its connection comes back to it, and a turn that
/// waits for its user goes on with the run that brings the answer. Clones are the same server.
///
/// A run is given the agent's model, tools and settings; the client's conversation, tools, context and state; and asks the
/// client, by an interrupt, about tools that need an approval and what a running tool wants to know. It uses neither the
/// agent's thread nor its store.
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
pub struct AgUiServer(Arc<Inner>);

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
    /// How long a question to the user stands: an hour if not set.
    pub interrupt_time: Duration,
    /// How long a run goes on that nobody reads, so that its client may come back to it: 30 seconds if not set. A run whose
    /// `forwardedProps` have `background: true` goes on to its end.
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

/// Where a client comes back to a run.
#[derive(Clone, Debug, Default)]
pub struct Cursor(Option<String>);

impl Cursor {
    /// Comes back after the event of this id, as `Last-Event-ID` has it; without one, as who has nothing of the run.
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
            waiting: MAX_WAITING_MESSAGES,
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
        Self(Arc::new(Inner {
            engine,
            trust,
            keep_alive,
            store_timeout,
            followers: Followers::default(),
            let_go: CancellationToken::new(),
            is_open,
        }))
    }

    /// Runs the agent for an AG-UI client, and gives the run's events. The same run again gives what it has said and says.
    /// Another run of the thread that is under way is cancelled: its client has moved on. Whatever happens in it, the run
    /// ends with `RUN_FINISHED` or `RUN_ERROR`; one that nobody reads is stopped after a while.
    ///
    /// # Errors
    /// No run begins: there are too many, the input cannot be run, or the server stops.
    pub async fn run(&self, agent: &Agent, input: RunAgentInput) -> Result<RunStream, Refused> {
        self.run_from(agent, input, None).await
    }

    /// As [`run`](Self::run), for a client that comes back to the run with the id of the event that it had last, as
    /// [`LAST_EVENT_ID`](crate::LAST_EVENT_ID) has it.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub async fn run_from(
        &self,
        agent: &Agent,
        input: RunAgentInput,
        last_event_id: Option<&str>,
    ) -> Result<RunStream, Refused> {
        let _permit = self.driver().permit()?;
        let key = key_of(agent, &input.thread_id);
        let agent = Arc::new(TurnAgent::of(agent));
        let prepared = PreparedRun::new(&agent, input, self.0.trust)?;
        let (cursor, close) = (Cursor::new(last_event_id), CancellationToken::new());
        Ok(self.begin(key, prepared, &cursor, close).await?)
    }

    /// Runs the agent for a chat of the AI SDK, and gives the run's UI message stream. As [`run`](Self::run).
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub async fn chat(&self, agent: &Agent, request: ChatRequest) -> Result<ChatStream, Refused> {
        let _permit = self.driver().permit()?;
        let key = key_of(agent, &request.input.thread_id);
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
    pub async fn chat_stream(
        &self,
        agent: &Agent,
        chat: &ThreadId,
    ) -> Result<Option<ChatStream>, Refused> {
        let close = CancellationToken::new();
        Ok(self.latest_chat(&key_of(agent, chat), close).await?)
    }

    /// Stops the chat's run. Returns whether one was under way.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub async fn stop_chat(&self, agent: &Agent, chat: &ThreadId) -> Result<bool, Refused> {
        self.stop_run(agent, chat, None).await
    }

    /// Stops the thread's run, if it is this one or none is named. Returns whether one was under way.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub async fn stop_run(
        &self,
        agent: &Agent,
        thread: &ThreadId,
        run: Option<&RunId>,
    ) -> Result<bool, Refused> {
        Ok(self.end_run(&key_of(agent, thread), run).await?)
    }

    /// Takes no more runs, and gives those under way `grace` to end. Returns when none is.
    pub async fn stop(&self, grace: Duration) {
        self.0.engine.close(grace).await;
        self.0.let_go.cancel();
    }

    /// Takes no more runs.
    pub fn close(&self) {
        self.driver().close();
    }

    /// Whether it takes no more runs.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.driver().is_stopping()
    }

    pub(super) fn driver(&self) -> &Driver {
        self.0.engine.driver()
    }

    /// Reads the log of a turn. Whoever waits for what comes counts as a reader of its run.
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

    /// Cancelled when it drives no turn any more: who follows one is told, and let go of.
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

    /// Begins a run, goes on with a turn that waits for it, or comes back to it. `close` closes the client's connection.
    ///
    /// # Errors
    /// The store cannot be read or written, or no run is taken.
    #[doc(hidden)]
    pub async fn begin(
        &self,
        thread: ThreadKey,
        run: PreparedRun,
        cursor: &Cursor,
        close: CancellationToken,
    ) -> Result<RunStream, EngineError> {
        self.open().await?;
        if let Some(wanted) = &run.reattach {
            let latest = wanted.is_empty();
            let known = Known::of(&run);
            let attached = self.attach(&thread, (!latest).then_some(wanted), known, cursor, close);
            let no_run = || StoreError::NoTurn {
                turn: wanted.clone(),
            };
            return Ok(attached.await?.ok_or_else(no_run)?);
        }
        let mut turn = TurnKey::new(thread.clone(), run.run_id().clone());
        let mut is_new = false;
        let mut latest = None;
        for _ in 0..LOOKS {
            let record = self.store().thread(&thread).await?;
            latest = record.as_ref().and_then(|record| record.latest.clone());
            let Some(record) = record else {
                if let Some(error) = unknown(&run) {
                    return Ok(refused(&turn, &run, &error));
                }
                is_new = true;
                break;
            };
            match self.look(&record, &run, &mut turn).await? {
                Found::Nothing => {
                    is_new = true;
                    break;
                }
                Found::Run(turn, written) => {
                    let known = Known::of(&run);
                    return self.come_back(turn, known, written, cursor, close).await;
                }
                Found::Refused(error) => return Ok(refused(&turn, &run, &error)),
                Found::Waits(waiting, next) => {
                    let command = Command::Continue(Box::new(Continued {
                        brought: Brought {
                            given: Given {
                                answers: run.resume.clone(),
                                results: run.results.clone(),
                            },
                            ..run.brought()
                        },
                        agent: Some(Arc::clone(&run.agent)),
                        base: Some(run.base.clone()),
                    }));
                    match self.0.engine.tell(&waiting, command).await {
                        Ok(()) => {
                            let after = next.checked_sub(1);
                            return self.stream(waiting, &run, after, close).await;
                        }
                        // It is about to come to rest, or something else happened to it meanwhile.
                        Err(EngineError::Over | EngineError::Contended) => {
                            let told = self.0.engine.told(&waiting);
                            let _ = tokio::time::timeout(TELLING_TIME, told).await;
                        }
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        if !run.resume.is_empty() && !is_new {
            return Err(EngineError::Contended);
        }
        let latest = latest.map(|latest| TurnKey::new(thread.clone(), latest));
        self.driver().forget_ended(latest).await?;
        let new = NewTurn {
            thread,
            turn: turn.turn.clone(),
            origin: Origin::History(run.history.clone()),
            agent: Some(Arc::clone(&run.agent)),
            base: Some(run.base.clone()),
            brought: run.brought(),
        };
        let turn = self.0.engine.start(new).await?;
        self.stream(turn, &run, None, close).await
    }

    /// From the first run on, turns that nobody drives are gone on with.
    async fn open(&self) -> Result<(), EngineError> {
        let opened = self.0.is_open.get_or_try_init(|| self.0.engine.open());
        opened.await.copied()
    }

    /// What the thread has that a run may belong to. A run whose id is that of another turn is given an id of its own.
    async fn look(
        &self,
        record: &ThreadRecord,
        run: &PreparedRun,
        turn: &mut TurnKey,
    ) -> Result<Found, EngineError> {
        let unfinished = record.unfinished.as_ref().map(|open| &open.key.turn);
        let latest = unfinished.or(record.latest.as_ref());
        let latest = latest.map(|latest| TurnKey::new(record.key.clone(), latest.clone()));
        let is_latest = latest.as_ref() == Some(turn);
        // A run whose id another turn had, when it began.
        let is_alias = |latest: &&TurnKey| {
            let rest = latest.turn.strip_prefix(turn.turn.as_str());
            rest.is_some_and(|rest| rest.starts_with('-'))
        };
        if let Some(alias) = latest.as_ref().filter(is_alias)
            && self.is_same(alias, run).await?
        {
            let written = self.read(alias).await?;
            if written.has_run(run.run_id()) {
                return Ok(Found::Run(alias.clone(), written));
            }
        }
        let logs = std::slice::from_ref(&*turn);
        if is_latest || self.store().event_logs(logs).await? != [None] {
            if self.is_same(turn, run).await? {
                let written = self.read(turn).await?;
                return Ok(Found::Run(turn.clone(), written));
            }
            turn.turn = format!("{}-{}", turn.turn, Uuid::new_v4().simple()).into();
        }
        let Some(latest) = latest.filter(|_| run.goes_on() || unfinished.is_some()) else {
            return Ok(unknown(run).map_or(Found::Nothing, Found::Refused));
        };
        let written = self.read(&latest).await?;
        if !is_latest && run.goes_on() && written.has_run(run.run_id()) {
            return Ok(Found::Run(latest, written));
        }
        let waits = unfinished.and_then(|_| Waits::of(&written.events));
        let Some(waits) = waits else {
            return Ok(gone(&written, run));
        };
        let next = written.next;
        Ok(match (waits.questions.is_empty(), run.resume.is_empty()) {
            (false, false) => Found::Waits(latest, next),
            (false, true) if run.is_new || waits.questions.values().any(has_expired) => {
                Found::Nothing
            }
            (false, true) => {
                let open = waits.questions.into_keys().collect();
                Found::Refused(Unresumable::Open(open))
            }
            (true, false) => gone(&written, run),
            (true, true) => {
                let has_result = |call| run.results.iter().any(|(of, _)| of == call);
                match waits.calls.iter().all(has_result) {
                    true => Found::Waits(latest, next),
                    // The client goes on in another way.
                    false => Found::Nothing,
                }
            }
        })
    }

    /// Whether a turn was begun with the messages of this run. A client whose connection was cut sends what it has of the
    /// answer with them.
    async fn is_same(&self, turn: &TurnKey, run: &PreparedRun) -> Result<bool, StoreError> {
        let stored = self.store().turn(turn).await?;
        let history = stored.and_then(|stored| stored.history);
        let more = history.and_then(|history| run.beyond(&history.messages));
        match more {
            None => Ok(false),
            Some(more) if more.is_empty() => Ok(true),
            Some(more) => {
                let written = self.read(turn).await?;
                Ok(more.iter().all(|id| written.has_message(id)))
            }
        }
    }

    pub(super) async fn read(&self, turn: &TurnKey) -> Result<Written, StoreError> {
        event_writer::read(self.store(), turn, &self.0.let_go).await
    }

    async fn stream(
        &self,
        turn: TurnKey,
        run: &PreparedRun,
        after: Option<u64>,
        close: CancellationToken,
    ) -> Result<RunStream, EngineError> {
        let scope = Scope::Begins(run.run_id().clone());
        self.stream_in(turn, Known::of(run), scope, after, close)
            .await
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

/// What a thread has that a run may belong to.
enum Found {
    /// Nothing: a turn begins.
    Nothing,
    /// The run itself, in the log of this turn.
    Run(TurnKey, Written),
    /// This turn, which waits for it; and the number of the next event of its log.
    Waits(TurnKey, u64),
    /// What makes that it cannot be run.
    Refused(Unresumable),
}

fn key_of(agent: &Agent, thread: &ThreadId) -> ThreadKey {
    ThreadKey {
        thread: thread.clone(),
        ..agent.thread_key().clone()
    }
}

/// Answers that are to nothing.
fn unknown(run: &PreparedRun) -> Option<Unresumable> {
    let answer = run.resume.first()?;
    Some(Unresumable::Unknown(answer.interrupt_id.clone()))
}

/// What becomes of a run when nothing is asked any more. Answers that came too late can only wave the questions away.
fn gone(written: &Written, run: &PreparedRun) -> Found {
    let asked = |id: &String| {
        let mut asked = written.events.iter().filter_map(|event| match event {
            Event::Custom(custom) if custom.name == "interrupt" => {
                serde_json::from_value::<Interrupt>(custom.value.clone()).ok()
            }
            _ => None,
        });
        asked.any(|asked| asked.id == *id && has_expired(&asked))
    };
    for answer in &run.resume {
        let id = &answer.interrupt_id;
        if !asked(id) {
            return Found::Refused(Unresumable::Unknown(id.clone()));
        }
        if answer.status == ResumeStatus::Resolved {
            return Found::Refused(Unresumable::Expired(id.clone()));
        }
    }
    Found::Nothing
}

/// Whether the time for the answer is over.
fn has_expired(question: &Interrupt) -> bool {
    let expires = question.expires_at.as_deref();
    let expires = expires.and_then(|at| OffsetDateTime::parse(at, &Rfc3339).ok());
    expires.is_some_and(|expires| expires <= OffsetDateTime::now_utc())
}

/// A run that ends at once, and is not stored.
fn refused(turn: &TurnKey, run: &PreparedRun, error: &Unresumable) -> RunStream {
    let id = run.run_id();
    let ending = Ending::failed(error.code(), error.to_string());
    let events = vec![
        started(turn, id, Some(&run.terms)),
        ending.event(&input(turn, id), None),
    ];
    RunStream::told(events, id.clone(), run.version)
}
