//! The engine of one process: a task for each turn, one turn a thread.

use super::super::recording::Recorder;
use super::super::store_trouble::StoreTrouble;
use super::commands::{Command, Told};
use super::session_turn::{Begin, SessionTurn};
use super::take_over::TakeOver;
use super::{Engine, EngineError, NewTurn, Parent, lost_end};
use crate::metrics::Metrics;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use stepwell_core::ToolCallId;
use stepwell_core::event::ResumeEntry;
use stepwell_core::run::TurnStatus;
use stepwell_core::session::title;
use stepwell_io::serve::AgUiRun;
use stepwell_io::store::{Store, StoreError, TurnKey, Unfinished};
use stepwell_io::{AgentBuilder, Endpoint, RetryPolicy, StoredTurn, ToolRegistry, ToolResult};
use time::OffsetDateTime;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Commands that may wait for a turn.
const COMMANDS: usize = 8;

/// How often a turn is looked for that may be about to begin, or another that may have begun before it.
const LOOKS: usize = 3;

/// How long somebody waits for the store who wants to begin a turn, to stop one, or to tell it something.
pub(super) const LONGEST_REQUEST: Duration = Duration::from_secs(15);

/// What the engine drives its turns with.
#[derive(Debug)]
pub(in crate::serve) struct LocalSetup {
    pub(in crate::serve) store: Arc<dyn Store>,
    /// The name of this life of the host among those on the store.
    pub(in crate::serve) owner: String,
    /// What the agents of all turns begin with.
    pub(in crate::serve) base: AgentBuilder,
    pub(in crate::serve) instructions: Option<String>,
    /// The definitions of the tools.
    pub(in crate::serve) tools: ToolRegistry,
    pub(in crate::serve) endpoint: Endpoint,
    /// The models that a turn may ask for in its place.
    pub(in crate::serve) offered: Vec<Endpoint>,
    pub(in crate::serve) metrics: Metrics,
    /// What keeps the journals of turns, if they are kept.
    pub(in crate::serve) recorder: Option<Recorder>,
    /// The most turns at once.
    pub(in crate::serve) most: usize,
    /// How long a turn may take, and how long a question stands.
    pub(in crate::serve) run_time: Duration,
    pub(in crate::serve) interrupt_time: Duration,
    /// How long a turn waits for a store that is full or out of reach.
    pub(in crate::serve) store_timeout: Duration,
}

impl LocalSetup {
    /// When a question that is asked now lapses.
    pub(super) fn expires(&self) -> Option<OffsetDateTime> {
        let time = time::Duration::try_from(self.interrupt_time).ok()?;
        let now = OffsetDateTime::now_utc();
        now.replace_nanosecond(0).ok()?.checked_add(time)
    }

    /// How often the store is asked to take a new turn: so often that the pauses come to the time that it may take.
    pub(super) fn attempts(&self) -> u32 {
        let RetryPolicy {
            first_delay,
            max_delay,
            ..
        } = RetryPolicy::default();
        let longest = self.store_timeout.min(LONGEST_REQUEST);
        let (mut attempts, mut waited, mut pause) = (1, Duration::ZERO, first_delay);
        while waited < longest && attempts < 20 {
            waited += pause;
            pause = (pause * 2).min(max_delay);
            attempts += 1;
        }
        attempts
    }
}

/// Drives turns in tasks of this process. Clones are the same engine.
#[derive(Clone, Debug)]
pub(in crate::serve) struct LocalEngine(pub(super) Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) setup: Arc<LocalSetup>,
    active: Mutex<HashMap<TurnKey, Active>>,
    pub(super) tasks: TaskTracker,
    pub(super) take_over: TakeOver,
    /// Lets go of all turns: they stay unfinished, for the next start.
    leave: CancellationToken,
}

/// A turn under way.
#[derive(Clone, Debug)]
pub(super) struct Active {
    commands: mpsc::Sender<Command>,
    cancel: CancellationToken,
    /// Lets go of this turn.
    pub(super) leave: CancellationToken,
    ended: CancellationToken,
    trouble: watch::Receiver<Option<StoreTrouble>>,
    /// Whether it waits for the user.
    asks: watch::Receiver<bool>,
    /// As it stands in the store, once it does.
    pub(super) stands: Arc<OnceLock<StoredTurn>>,
}

impl LocalEngine {
    pub(in crate::serve) fn new(setup: LocalSetup) -> Self {
        Self(Arc::new(Inner {
            setup: Arc::new(setup),
            active: Mutex::default(),
            tasks: TaskTracker::new(),
            take_over: TakeOver::default(),
            leave: CancellationToken::new(),
        }))
    }

    /// Where its turns are kept.
    pub(in crate::serve) fn store(&self) -> &Arc<dyn Store> {
        &self.0.setup.store
    }

    /// Takes no more turns, and gives those under way time to end. Those that have not are let go of: another host, or the
    /// next start, goes on with them.
    pub(in crate::serve) async fn stop(&self, grace: Duration) {
        self.0.tasks.close();
        if tokio::time::timeout(grace, self.0.tasks.wait())
            .await
            .is_err()
        {
            self.0.leave.cancel();
            self.0.tasks.wait().await;
        }
        self.0.take_over.leave().await;
    }

    /// Drives a run of a client that waits for it.
    pub(in crate::serve) fn run(&self, run: AgUiRun) {
        let meter = self.0.setup.metrics.run();
        let leave = self.0.leave.clone();
        let run = run.run(leave, move |end| meter.end(end));
        self.0.tasks.spawn(run);
    }

    /// Makes an unfinished turn this host's own, and goes on with it.
    pub(super) async fn adopt(
        &self,
        turn: Unfinished,
        cancelled: bool,
    ) -> Result<Active, EngineError> {
        let setup = &self.0.setup;
        self.0.take_over.there(setup).await?;
        let claim = setup.store.claim(&turn.key, turn.generation, &setup.owner);
        let claimed = claim.await?;
        tracing::info!(target: "stepwell", turn = %turn.key, "an unfinished turn goes on");
        Ok(self.spawn(turn.key, Begin::Revived(claimed), cancelled))
    }

    fn spawn(&self, key: TurnKey, begin: Begin, cancelled: bool) -> Active {
        let setup = Arc::clone(&self.0.setup);
        let (commands, receiver) = mpsc::channel(COMMANDS);
        let (trouble, troubles) = watch::channel(None);
        let (asks, asked) = watch::channel(false);
        let active = Active {
            commands,
            cancel: CancellationToken::new(),
            leave: self.0.leave.child_token(),
            ended: CancellationToken::new(),
            trouble: troubles,
            asks: asked,
            stands: Arc::default(),
        };
        if cancelled {
            active.cancel.cancel();
        }
        self.lock().insert(key.clone(), active.clone());
        let driven = SessionTurn {
            setup,
            key: key.clone(),
            commands: receiver,
            cancel: active.cancel.clone(),
            leave: active.leave.clone(),
            trouble,
            asks,
            stands: Arc::clone(&active.stands),
        };
        let inner = Arc::clone(&self.0);
        let ended = active.ended.clone().drop_guard();
        self.0.tasks.spawn(async move {
            let work = AssertUnwindSafe(driven.run(begin)).catch_unwind();
            if work.await.is_err() {
                tracing::error!(target: "stepwell", turn = %key, "a turn broke off, and ends");
                let end = lost_end::broke_off(&inner.setup, &key, inner.leave.clone());
                if let Ok(Err(error)) = AssertUnwindSafe(end).catch_unwind().await {
                    tracing::error!(target: "stepwell", turn = %key, %error, "its end cannot be stored");
                }
            }
            inner.lock().remove(&key);
            drop(ended);
        });
        active
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TurnKey, Active>> {
        self.0.lock()
    }

    /// Whether as many turns are under way as may be.
    pub(super) fn is_full(&self) -> bool {
        self.lock().len() >= self.0.setup.most
    }

    pub(super) fn find(&self, turn: &TurnKey) -> Option<Active> {
        self.lock().get(turn).cloned()
    }

    /// The turns under way.
    pub(super) fn active(&self) -> Vec<Active> {
        self.lock().values().cloned().collect()
    }

    async fn begin(&self, new: NewTurn) -> Result<TurnKey, EngineError> {
        let setup = &self.0.setup;
        if self.0.tasks.is_closed() {
            return Err(EngineError::Stopping);
        }
        if self.is_full() {
            return Err(EngineError::TooMany { most: setup.most });
        }
        self.0.take_over.there(setup).await?;
        let key = TurnKey::new(new.thread.clone(), new.turn.clone());
        if setup.store.turn(&key).await?.is_some() {
            let turn = key.turn;
            return Err(StoreError::Exists { turn }.into());
        }
        if let Parent::Turn(parent) = &new.parent {
            let parent = TurnKey::new(key.thread.clone(), parent.clone());
            if setup.store.turn(&parent).await?.is_none() {
                let turn = parent.turn;
                return Err(StoreError::NoTurn { turn }.into());
            }
        }
        let mut looks = 0;
        let is_titled = loop {
            looks += 1;
            let thread = setup.store.thread(&key.thread).await?;
            let is_titled = thread.as_ref().is_some_and(|thread| thread.title.is_some());
            if let Some(unfinished) = thread.and_then(|thread| thread.unfinished) {
                self.stop_turn(unfinished).await?;
            }
            match self.start_turn(&key, new.clone()).await {
                Ok(()) => break is_titled,
                // Another turn of the thread began in between.
                Err(EngineError::Store(StoreError::Busy { .. })) if looks < LOOKS => {}
                Err(error) => return Err(error),
            }
        };
        let title = new.message.as_ref().map(|message| title([message]));
        if let Some(title) = title.filter(|title| !is_titled && !title.is_empty())
            && let Err(error) = setup.store.rename_thread(&key.thread, &title).await
        {
            tracing::warn!(target: "stepwell", turn = %key, %error, "a thread has no title");
        }
        Ok(key)
    }

    /// Starts a turn, and waits until it is stored that it has begun.
    async fn start_turn(&self, key: &TurnKey, new: NewTurn) -> Result<(), EngineError> {
        let (begun, has_begun) = oneshot::channel();
        let begin = Begin::Started {
            parent: new.parent,
            message: new.message.map(Box::new),
            model: new.model,
            tools: new.tools.map(Box::new),
            begun,
        };
        let active = self.spawn(key.clone(), begin, false);
        let begun = has_begun.await.unwrap_or(Err(EngineError::Internal));
        if begun.is_err() {
            // It may be tried again under the same key.
            active.ended.cancelled().await;
        }
        begun
    }

    /// Brings a turn to its end as cancelled. One of another host is taken away from it: whatever that host still
    /// writes is refused.
    async fn stop_turn(&self, mut turn: Unfinished) -> Result<(), EngineError> {
        let key = turn.key.clone();
        for _ in 0..LOOKS {
            let active = match self.find(&key) {
                Some(active) => active,
                None => match self.adopt(turn, true).await {
                    Ok(active) => active,
                    Err(EngineError::Store(error)) if error.is_lost() => {
                        // It ended, or somebody else took it, in the meantime.
                        match self.unfinished(&key).await? {
                            Some(taken) => turn = taken,
                            None => return Ok(()),
                        }
                        continue;
                    }
                    Err(error) => return Err(error),
                },
            };
            active.cancel.cancel();
            let ended = tokio::time::timeout(LONGEST_REQUEST, active.ended.cancelled()).await;
            // It may have been let go of before its end.
            match self.unfinished(&key).await? {
                None => return Ok(()),
                Some(left) => turn = left,
            }
            if ended.is_err() {
                break;
            }
        }
        // A store that is damaged says so.
        self.0.setup.store.path(&key).await?;
        let message = "the turn is stopped, and its end waits to be stored".to_owned();
        Err(StoreError::Unavailable { message }.into())
    }

    /// Tells a turn under way something, and waits until it has heard it, and stored what it promises.
    async fn tell(
        &self,
        turn: &TurnKey,
        command: impl FnOnce(Told) -> Command,
    ) -> Result<(), EngineError> {
        let Some(active) = self.find(turn) else {
            return Err(match self.unfinished(turn).await? {
                Some(Unfinished { owner, .. }) => EngineError::Elsewhere { owner },
                None => EngineError::Over,
            });
        };
        let (told, heard) = oneshot::channel();
        let answered = async {
            if active.commands.send(command(told)).await.is_err() {
                return Err(EngineError::Over);
            }
            heard.await.map_err(|_| EngineError::Over)?
        };
        let answered = tokio::time::timeout(LONGEST_REQUEST, answered).await;
        answered.unwrap_or_else(|_| {
            let message = "what the turn was told waits to be stored".to_owned();
            Err(StoreError::Unavailable { message }.into())
        })
    }

    async fn unfinished(&self, turn: &TurnKey) -> Result<Option<Unfinished>, EngineError> {
        let store = &self.0.setup.store;
        let no_turn = || StoreError::NoTurn {
            turn: turn.turn.clone(),
        };
        for _ in 0..LOOKS {
            let thread = store.thread(&turn.thread).await?.ok_or_else(no_turn)?;
            if let Some(unfinished) = thread.unfinished.filter(|open| open.key == *turn) {
                return Ok(Some(unfinished));
            }
            let stored = store.turn(turn).await?.ok_or_else(no_turn)?;
            if stored.status != TurnStatus::Streaming {
                return Ok(None);
            }
            // It began between the two looks.
        }
        let message = "the turn begins and ends faster than it can be looked at".to_owned();
        Err(StoreError::Unavailable { message }.into())
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, HashMap<TurnKey, Active>> {
        // Nothing is left half-done under the lock.
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine for LocalEngine {
    fn start(&self, turn: NewTurn) -> BoxFuture<'_, Result<TurnKey, EngineError>> {
        self.begin(turn).boxed()
    }

    fn answer<'a>(
        &'a self,
        turn: &'a TurnKey,
        answers: Vec<ResumeEntry>,
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        async move { self.tell(turn, |told| Command::Answer(answers, told)).await }.boxed()
    }

    fn cancel_call<'a>(
        &'a self,
        turn: &'a TurnKey,
        call: ToolCallId,
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        async move {
            self.tell(turn, |told| Command::CancelCall(call, told))
                .await
        }
        .boxed()
    }

    fn bring_result<'a>(
        &'a self,
        turn: &'a TurnKey,
        call: ToolCallId,
        result: ToolResult,
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        async move {
            self.tell(turn, |told| Command::BringResult(call, result, told))
                .await
        }
        .boxed()
    }

    fn tell_end<'a>(&'a self, turn: &'a TurnKey) -> BoxFuture<'a, Result<(), EngineError>> {
        async move {
            if self.find(turn).is_none() {
                lost_end::tell(&self.0.setup, turn, self.0.leave.clone()).await?;
            }
            Ok(())
        }
        .boxed()
    }

    fn told<'a>(&'a self, turn: &'a TurnKey) -> BoxFuture<'a, ()> {
        async move {
            if let Some(active) = self.find(turn) {
                let _ = tokio::time::timeout(LONGEST_REQUEST, active.ended.cancelled()).await;
            }
        }
        .boxed()
    }

    fn trouble(&self, turn: &TurnKey) -> Option<watch::Receiver<Option<StoreTrouble>>> {
        self.find(turn).map(|active| active.trouble)
    }

    fn asks(&self, turn: &TurnKey) -> bool {
        self.find(turn).is_some_and(|active| *active.asks.borrow())
    }

    fn cancel<'a>(&'a self, turn: &'a TurnKey) -> BoxFuture<'a, Result<(), EngineError>> {
        async move {
            match self.unfinished(turn).await? {
                Some(unfinished) => self.stop_turn(unfinished).await,
                None => Ok(()),
            }
        }
        .boxed()
    }
}
