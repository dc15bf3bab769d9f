//! The turns that this process drives: a task for each. Which they are is decided by an [engine](super::Engine).

use crate::engine::forgotten::{self, Ended};
use crate::engine::own_lease::OwnLease;
use crate::engine::{Command, Told};
use crate::engine::{EngineError, NewTurn, Origin, Parent};
use crate::engine::{Journals, Observer, RunObserver};
use crate::turn::agent::TurnAgent;
use crate::turn::lost_end;
use crate::turn::session_turn::{Begin, SessionTurn};
use crate::turn::store_trouble::StoreTrouble;
use futures::FutureExt;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use stepwell_core::registry::ThreadKey;
use stepwell_core::run::TurnStatus;
use stepwell_io::store::{Store, StoreError, ThreadQuery, TurnKey, Unfinished};
use stepwell_io::{Endpoint, RetryPolicy, StoredTurn, ToolRegistry};
use time::OffsetDateTime;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Commands that may wait for a turn.
const COMMANDS: usize = 8;

/// How often a turn is looked for that may be about to begin, or another that may have begun before it.
pub(crate) const LOOKS: usize = 3;

/// How long somebody waits for the store who wants to begin a turn, to stop one, or to tell it something.
pub(crate) const LONGEST_REQUEST: Duration = Duration::from_secs(15);

/// In so many of the threads that were used last the log of the latest turn is completed at the start.
const COMPLETED_THREADS: usize = 200;

/// How long the host of a turn that is over may take to tell the end, before another one does.
pub(crate) const TELLING_TIME: Duration = Duration::from_secs(1);

/// What turns are driven with.
#[derive(Debug)]
pub struct DriverSetup {
    /// Where turns are kept.
    pub store: Arc<dyn Store>,
    /// Whether turns that have not ended when the server stops go on when it, or another host, starts.
    pub is_durable: bool,
    /// The name of this life of the host among those on the store.
    pub owner: String,
    /// What runs turns that bring no agent of their own; without it, those that another process has left are ended.
    pub agent: Option<Arc<TurnAgent>>,
    /// The models that a turn may ask for in its place.
    pub offered: Vec<Endpoint>,
    /// Hears of the turns.
    pub observer: Option<Arc<dyn Observer>>,
    /// What keeps the journals of turns, if they are kept.
    pub journals: Option<Arc<dyn Journals>>,
    /// The most turns at once, without those that wait for their user.
    pub most: usize,
    /// The most turns of one user that wait for them.
    pub waiting: usize,
    /// How long a turn may take, without the time that it waits for its user.
    pub run_time: Duration,
    /// How long a question stands.
    pub interrupt_time: Duration,
    /// How long a run goes on that nobody reads, unless its client wants it in the background: for ever if absent.
    pub linger: Option<Duration>,
    /// How long a turn waits for a store that is full or out of reach.
    pub store_timeout: Duration,
    /// The name under which turns are stored that no host drives at the moment, if there are such: one that has begun is
    /// driven by whichever host it is given to, and one that nobody but its user can move on is let go of until they do.
    pub elsewhere: Option<&'static str>,
}

impl DriverSetup {
    /// Says that a run begins.
    pub(crate) fn observed(&self) -> Option<Box<dyn RunObserver>> {
        self.observer.as_ref().map(|observer| observer.begun())
    }

    /// The tools of its own agent.
    pub(crate) fn tools(&self) -> ToolRegistry {
        let agent = self.agent.as_ref();
        agent.map_or_else(ToolRegistry::new, |agent| agent.tools().clone())
    }

    /// When a question that is asked now lapses.
    pub(crate) fn expires(&self) -> Option<OffsetDateTime> {
        let time = time::Duration::try_from(self.interrupt_time).ok()?;
        let now = OffsetDateTime::now_utc();
        now.replace_nanosecond(0).ok()?.checked_add(time)
    }

    /// How often the store is asked to take a new turn: so often that the pauses come to the time that it may take.
    pub(crate) fn attempts(&self) -> u32 {
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

/// Drives turns in tasks of this process, whoever has decided that they are driven here. Clones are the same.
#[derive(Clone, Debug)]
pub struct Driver(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    setup: Arc<DriverSetup>,
    active: Mutex<HashMap<TurnKey, Active>>,
    tasks: TaskTracker,
    own_lease: OwnLease,
    /// What is over on a store that keeps nothing.
    ended: Ended,
    /// How many requests for turns are being read.
    permits: Arc<AtomicUsize>,
    /// It takes no more turns.
    closing: CancellationToken,
    /// Lets go of all turns: they stay unfinished, for the next start.
    leave: CancellationToken,
}

/// A turn under way.
#[derive(Clone, Debug)]
pub(crate) struct Active {
    commands: mpsc::Sender<(Command, Told)>,
    pub(crate) cancel: CancellationToken,
    /// Lets go of this turn.
    pub(crate) leave: CancellationToken,
    pub(crate) ended: CancellationToken,
    pub(crate) trouble: watch::Receiver<Option<StoreTrouble>>,
    /// Whether it waits for the user.
    pub(crate) asks: watch::Receiver<bool>,
    /// Whether it waits for the user, or for a tool of the client's.
    is_waiting: Arc<AtomicBool>,
    /// Whether its end is being told: a client that hears of the end finds room for another turn.
    is_over: Arc<AtomicBool>,
    /// As it stands in the store, once it does.
    pub(crate) stands: Arc<OnceLock<StoredTurn>>,
    /// How many read it here.
    pub(crate) readers: watch::Sender<usize>,
}

/// Leave to read one more request for a turn, until it is dropped.
#[derive(Debug)]
pub struct Permit(Arc<AtomicUsize>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Why an unfinished turn goes on: because its host is gone, if nothing else is set.
#[derive(Debug, Default)]
pub(crate) struct GoesOn {
    /// It is to end as cancelled.
    pub(crate) cancelled: bool,
    /// What it waits for comes no more.
    pub(crate) has_lapsed: bool,
    /// It is told this before anything else.
    pub(crate) command: Option<(Command, Told)>,
}

impl GoesOn {
    pub(crate) fn cancelled() -> Self {
        Self {
            cancelled: true,
            ..Self::default()
        }
    }
}

impl Driver {
    pub(crate) fn new(setup: DriverSetup) -> Self {
        Self(Arc::new(Inner {
            setup: Arc::new(setup),
            active: Mutex::default(),
            tasks: TaskTracker::new(),
            own_lease: OwnLease::default(),
            ended: Ended::default(),
            permits: Arc::default(),
            closing: CancellationToken::new(),
            leave: CancellationToken::new(),
        }))
    }

    pub(crate) fn setup(&self) -> &DriverSetup {
        &self.0.setup
    }

    /// Where its turns are kept.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.setup.store
    }

    /// Returns the lease of this host.
    pub(crate) fn own_lease(&self) -> &OwnLease {
        &self.0.own_lease
    }

    /// Waits until this host holds its lease: a turn that it begins or claims before is taken from it.
    ///
    /// # Errors
    /// The store cannot be reached.
    pub(crate) async fn leased(&self) -> Result<(), StoreError> {
        self.0.own_lease.held(self.setup()).await
    }

    /// Takes no more turns, and gives those under way time to end. Those that have not are let go of: another host, or the
    /// next start, goes on with them.
    pub(crate) async fn stop(&self, grace: Duration) {
        self.close();
        if tokio::time::timeout(grace, self.0.tasks.wait())
            .await
            .is_err()
        {
            if self.0.setup.is_durable {
                self.0.leave.cancel();
            } else {
                // Nobody goes on with them.
                self.active().iter().for_each(|turn| turn.cancel.cancel());
            }
            self.0.tasks.wait().await;
        }
        self.0.own_lease.end().await;
    }

    /// Takes no more turns. What waits for a run waits no longer.
    pub(crate) fn close(&self) {
        self.0.tasks.close();
        self.0.closing.cancel();
    }

    /// Whether it takes no more turns.
    pub(crate) fn is_stopping(&self) -> bool {
        self.0.tasks.is_closed()
    }

    /// Gives leave to read one more request for a turn: that takes memory too. Whoever comes back to a run finds room however
    /// many are under way; a new turn is counted where it begins.
    ///
    /// # Errors
    /// So many requests are being read, or it takes no more.
    pub fn permit(&self) -> Result<Permit, EngineError> {
        if self.is_stopping() {
            return Err(EngineError::Stopping);
        }
        let permit = Permit(Arc::clone(&self.0.permits));
        let before = self.0.permits.fetch_add(1, Ordering::Relaxed);
        let most = self.0.setup.most;
        match before >= most {
            true => Err(EngineError::TooMany { most }),
            false => Ok(permit),
        }
    }

    /// Makes an unfinished turn this host's own, and goes on with it.
    pub(crate) async fn adopt(&self, turn: Unfinished, why: GoesOn) -> Result<Active, EngineError> {
        self.leased().await?;
        let setup = self.setup();
        let claim = setup.store.claim(&turn.key, turn.generation, &setup.owner);
        let claimed = claim.await?;
        tracing::info!(target: "stepwell", turn = %turn.key, "an unfinished turn goes on");
        Ok(self.spawn(turn.key, Begin::Revived(claimed), None, why))
    }

    fn spawn(
        &self,
        key: TurnKey,
        begin: Begin,
        agent: Option<Arc<TurnAgent>>,
        why: GoesOn,
    ) -> Active {
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
            is_waiting: Arc::default(),
            is_over: Arc::default(),
            stands: Arc::default(),
            readers: watch::Sender::default(),
        };
        if why.cancelled {
            active.cancel.cancel();
        }
        let continued = match why.command {
            Some((Command::Continue(continued), told)) => Some((continued, told)),
            Some(command) => {
                // The channel is new, and has room.
                let _ = active.commands.try_send(command);
                None
            }
            None => None,
        };
        self.lock().insert(key.clone(), active.clone());
        let driven = SessionTurn {
            setup,
            key: key.clone(),
            agent,
            continued,
            readers: active.readers.subscribe(),
            closing: self.0.closing.clone(),
            commands: receiver,
            cancel: active.cancel.clone(),
            has_lapsed: why.has_lapsed,
            leave: active.leave.clone(),
            trouble,
            asks,
            is_waiting: Arc::clone(&active.is_waiting),
            is_over: Arc::clone(&active.is_over),
            stands: Arc::clone(&active.stands),
        };
        let driver = self.clone();
        let ended = active.ended.clone().drop_guard();
        self.0.tasks.spawn(async move {
            let work = AssertUnwindSafe(driven.run(begin)).catch_unwind();
            if work.await.is_err() {
                tracing::error!(target: "stepwell", turn = %key, "a turn broke off, and ends");
                let end = lost_end::broke_off(driver.setup(), &key, driver.0.leave.clone());
                if let Ok(Err(error)) = AssertUnwindSafe(end).catch_unwind().await {
                    tracing::error!(target: "stepwell", turn = %key, %error, "its end cannot be stored");
                }
            }
            driver.lock().remove(&key);
            if !driver.setup().is_durable {
                driver.0.ended.add(key);
            }
            drop(ended);
        });
        active
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TurnKey, Active>> {
        // Nothing is left half-done under the lock.
        self.0.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether as many turns are under way as may be. Those that wait for their user do not count.
    pub(crate) fn is_full(&self) -> bool {
        self.working() >= self.0.setup.most
    }

    /// How many turns are under way, as far as that matters.
    fn working(&self) -> usize {
        let active = self.lock();
        match active.len() >= self.0.setup.most {
            true => active.values().filter(|turn| turn.is_working()).count(),
            false => active.len(),
        }
    }

    /// Checks that the user whose thread it is may have one more turn that waits for them. A turn of the thread itself is
    /// stopped where another one begins, and does not count.
    ///
    /// # Errors
    /// They have as many as they may.
    pub(crate) fn check_waiting(&self, thread: &ThreadKey) -> Result<(), EngineError> {
        let most = self.0.setup.waiting;
        let active = self.lock();
        if active.len() < most {
            return Ok(());
        }
        let is_of_user = |key: &ThreadKey| {
            key.server == thread.server && key.room == thread.room && key != thread
        };
        let waiting = active
            .iter()
            .filter(|(key, turn)| is_of_user(&key.thread) && turn.is_waiting());
        match waiting.count() >= most {
            true => Err(EngineError::TooManyWaiting { most }),
            false => Ok(()),
        }
    }

    pub(crate) fn find(&self, turn: &TurnKey) -> Option<Active> {
        self.lock().get(turn).cloned()
    }

    /// The turns under way.
    pub(crate) fn active(&self) -> Vec<Active> {
        self.lock().values().cloned().collect()
    }

    /// Whether a new turn may begin: its name.
    pub(crate) async fn admit(&self, new: &NewTurn) -> Result<TurnKey, EngineError> {
        self.leased().await?;
        let store = self.store();
        let key = TurnKey::new(new.thread.clone(), new.turn.clone());
        self.is_new(&key).await?;
        if let Origin::Stored(Parent::Turn(parent), _) = &new.origin {
            let parent = TurnKey::new(key.thread.clone(), parent.clone());
            if store.turn(&parent).await?.is_none() {
                let turn = parent.turn;
                return Err(StoreError::NoTurn { turn }.into());
            }
        }
        Ok(key)
    }

    /// # Errors
    /// There is such a turn.
    pub(crate) async fn is_new(&self, turn: &TurnKey) -> Result<(), EngineError> {
        match self.store().event_log(turn).await {
            Err(StoreError::NoTurn { .. }) => Ok(()),
            Err(error) => Err(error.into()),
            Ok(_) => {
                let turn = turn.turn.clone();
                Err(StoreError::Exists { turn }.into())
            }
        }
    }

    /// Makes room for a run of a thread, whose latest turn this is, on a store that keeps nothing.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub(crate) async fn forget_ended(&self, latest: Option<TurnKey>) -> Result<(), StoreError> {
        if self.setup().is_durable {
            return Ok(());
        }
        let store = &**self.store();
        self.0.ended.forget(store).await?;
        match latest {
            Some(latest) => forgotten::forget(store, &latest).await,
            None => Ok(()),
        }
    }

    /// Starts a turn here, and waits until it is stored that it has begun.
    pub(crate) async fn start_turn(&self, key: &TurnKey, new: NewTurn) -> Result<(), EngineError> {
        let (begun, has_begun) = oneshot::channel();
        let begin = Begin::Started {
            origin: new.origin,
            base: new.base.map(Box::new),
            brought: Box::new(new.brought),
            begun,
        };
        let active = self.spawn(key.clone(), begin, new.agent, GoesOn::default());
        let begun = has_begun.await.unwrap_or(Err(EngineError::Internal));
        if begun.is_err() {
            // It may be tried again under the same key.
            active.ended.cancelled().await;
        }
        begun
    }

    /// The turn, if it has not come to its end.
    pub(crate) async fn unfinished(
        &self,
        turn: &TurnKey,
    ) -> Result<Option<Unfinished>, EngineError> {
        let store = self.store();
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
        Err(EngineError::Contended)
    }

    /// Completes the logs of the latest turns whose hosts died before they could tell the end.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn complete_logs(&self) -> Result<(), EngineError> {
        let store = self.store();
        let query = ThreadQuery {
            server: None,
            room: None,
            after: None,
            limit: COMPLETED_THREADS,
        };
        let threads = store.threads(&query).await?.into_iter();
        let over = threads.filter(|thread| thread.unfinished.is_none());
        let turns = over.filter_map(|thread| Some(TurnKey::new(thread.key, thread.latest?)));
        let mut cut = Vec::new();
        for turn in turns {
            if !lost_end::is_told(store, &turn).await? {
                cut.push(turn);
            }
        }
        if !cut.is_empty() {
            // Another host may be about to tell them.
            tokio::time::sleep(TELLING_TIME).await;
        }
        for turn in cut {
            if !lost_end::is_told(store, &turn).await? {
                self.tell_end(&turn).await?;
            }
        }
        Ok(())
    }

    /// Completes the log of a turn that is over.
    pub(crate) async fn tell_end(&self, turn: &TurnKey) -> Result<(), EngineError> {
        if self.find(turn).is_none() {
            lost_end::tell(self.setup(), turn, self.0.leave.clone()).await?;
        }
        Ok(())
    }
}

impl Active {
    /// Whether it waits for its user, or for a tool of the client's.
    fn is_working(&self) -> bool {
        !self.is_waiting() && !self.is_over.load(Ordering::Relaxed)
    }

    fn is_waiting(&self) -> bool {
        self.is_waiting.load(Ordering::Relaxed)
    }

    /// Somebody reads the turn, at another host.
    pub(crate) fn is_read(&self) {
        self.readers.send_modify(|_| {});
    }

    /// Tells the turn something, and waits until it has heard it, and stored what it promises.
    pub(crate) async fn tell(&self, command: Command) -> Result<(), EngineError> {
        let (told, heard) = oneshot::channel();
        let answered = async {
            if self.commands.send((command, told)).await.is_err() {
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
}
