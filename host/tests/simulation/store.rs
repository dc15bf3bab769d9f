//! The store that all hosts share, and the faults of its calls.

use super::clients::chance::Chance;
use super::clients::findings::Rule;
use super::life::Life;
use super::world::{Which, World};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;
use stepwell_core::Timestamp;
use stepwell_core::registry::ThreadKey;
use stepwell_core::session::Turn;
use stepwell_io::store::{
    Changes, Claimed, EventLog, EventStore, Generation, Inbox, LeaseKey, LoggedEvent, MemoryStore,
    NewTurn, PersistBatch, RESTING, SentCommand, StoreError, StoreFuture, StoreLayer, ThreadQuery,
    ThreadRecord, ThreadStore, TurnKey, TurnStore, Unfinished, Wakers,
};

/// The state of the store at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weather {
    Fine,
    Slow,
    Away,
    Full,
    ReadOnly,
    /// Calls fail now and then; some of those that fail were done all the same, and some are never answered.
    Flaky,
}

/// The data that outlives every host.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) memory: MemoryStore,
    /// The followers of each thread. Each has a channel of its own: one for several would wake them in a random order.
    followers: Mutex<BTreeMap<ThreadKey, Vec<Wakers>>>,
    /// The life that drives each turn.
    drivers: Mutex<BTreeMap<TurnKey, Arc<Life>>>,
}

impl Kept {
    fn wake(&self, thread: &ThreadKey) {
        let followers = self.followers.lock().unwrap();
        for wakers in followers.get(thread).into_iter().flatten() {
            wakers.wake(thread);
        }
    }

    /// Releases the hosts' lives.
    pub(super) fn forget(&self) {
        self.drivers.lock().unwrap().clear();
    }
}

/// The store as one life of a host sees it.
pub(super) struct FaultyStore {
    world: Arc<World>,
    life: Arc<Life>,
}

/// The faults of a call.
struct Fate {
    before: Duration,
    after: Duration,
    refusal: Option<StoreError>,
    /// The call is done, and its answer is lost.
    is_lost: bool,
    /// The call is never answered.
    is_swallowed: bool,
}

impl FaultyStore {
    pub(super) fn new(world: Arc<World>, life: Arc<Life>) -> Self {
        Self { world, life }
    }

    fn fate(&self, is_write: bool) -> Fate {
        let chance = &self.life.chance;
        let brief = |chance: &Chance| match chance.below(8) {
            0 => chance.millis(1..6),
            _ => Duration::ZERO,
        };
        let mut fate = Fate {
            before: brief(chance),
            after: brief(chance),
            refusal: None,
            is_lost: false,
            is_swallowed: false,
        };
        let message = || "of the simulation".to_owned();
        match self.world.weather() {
            Weather::Fine => {}
            Weather::Slow => fate.before = chance.millis(10..3_000),
            Weather::Away => {
                fate.refusal = Some(StoreError::Unavailable { message: message() });
            }
            Weather::Full if is_write => {
                fate.refusal = Some(StoreError::Full { message: message() });
            }
            Weather::ReadOnly if is_write => {
                fate.refusal = Some(StoreError::ReadOnly { message: message() });
            }
            Weather::Full | Weather::ReadOnly => {}
            Weather::Flaky => match chance.below(12) {
                0 | 1 => fate.refusal = Some(StoreError::Unavailable { message: message() }),
                2 | 3 => fate.is_lost = true,
                4 if chance.one_in(6) => fate.is_swallowed = true,
                _ => {}
            },
        }
        fate
    }

    fn call<'a, T: Send + 'a>(
        &'a self,
        name: &'static str,
        written: Option<&'a ThreadKey>,
        apply: impl FnOnce() -> StoreFuture<'a, T> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        Box::pin(async move {
            let life = &self.life;
            life.lives().await;
            if life.calls(self.world.trace.now()) {
                // The clock would be paused for ever.
                let what = format!("{} calls the store without a pause: {name}", life.name);
                self.world.finds(Rule::Pauses, "", what);
                std::future::pending::<()>().await;
            }
            let fate = self.fate(written.is_some());
            if !fate.before.is_zero() {
                tokio::time::sleep(fate.before).await;
            }
            life.moment(name).await;
            if let Some(refusal) = fate.refusal {
                return Err(refusal);
            }
            let done = apply().await;
            if let (Some(thread), Ok(_)) = (written, &done) {
                self.world.kept.wake(thread);
            }
            life.moment(name).await;
            if fate.is_swallowed {
                std::future::pending::<()>().await;
            }
            if !fate.after.is_zero() {
                tokio::time::sleep(fate.after).await;
                life.lives().await;
            }
            if fate.is_lost {
                let message = "the answer was lost".to_owned();
                return Err(StoreError::Unavailable { message });
            }
            done
        })
    }

    /// A call that writes something which is no thread's.
    fn write<'a, T: Send + 'a>(
        &'a self,
        name: &'static str,
        apply: impl FnOnce() -> StoreFuture<'a, T> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        static NONE: LazyLock<ThreadKey> = LazyLock::new(|| ThreadKey::new("", "", ""));
        self.call(name, Some(&NONE), apply)
    }

    fn kept_inbox(&self) -> &dyn Inbox {
        TurnStore::inbox(self.memory())
    }

    fn memory(&self) -> &MemoryStore {
        &self.world.kept.memory
    }

    /// Checks whether the claim takes a turn from a host that lives, without a request to do so.
    fn judge_claim(&self, turn: &TurnKey) {
        let mut drivers = self.world.kept.drivers.lock().unwrap();
        let before = drivers.insert(turn.clone(), Arc::clone(&self.life));
        let (world, name) = (&self.world, turn.turn.as_str());
        let Some(before) = before.filter(|before| !Arc::ptr_eq(before, &self.life)) else {
            return;
        };
        // Restate gives a turn to another host when it has lost contact with the first, which may live.
        let may_be_taken = world.engine != Which::Local;
        if !may_be_taken
            && !before.is_dead()
            && !self.life.was_asked_for(turn.thread.thread.as_str())
        {
            let what = format!(
                "{} takes it from {}, which lives",
                self.life.name, before.name
            );
            world.finds(Rule::LiveTurnStays, name, what);
        }
    }
}

impl fmt::Debug for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FaultyStore").field(&self.life.name).finish()
    }
}

impl StoreLayer for FaultyStore {
    type Inner = MemoryStore;

    fn inner(&self) -> &MemoryStore {
        self.memory()
    }

    fn renew_lease<'a>(&'a self, key: &'a LeaseKey, term: Duration) -> StoreFuture<'a, ()> {
        self.call("renew_lease", None, move || {
            self.memory().renew_lease(key, term)
        })
    }

    fn end_lease<'a>(&'a self, key: &'a LeaseKey) -> StoreFuture<'a, ()> {
        self.call("end_lease", None, move || self.memory().end_lease(key))
    }

    fn orphans(&self) -> StoreFuture<'_, Vec<Unfinished>> {
        self.call("orphans", None, move || TurnStore::orphans(self.memory()))
    }

    fn begin_turn<'a>(&'a self, turn: &'a NewTurn) -> StoreFuture<'a, Generation> {
        self.call("begin_turn", Some(&turn.key.thread), move || {
            Box::pin(async move {
                // The time is the simulation's own.
                let at = self.world.timestamp();
                let turn = NewTurn { at, ..turn.clone() };
                let begun = TurnStore::begin_turn(self.memory(), &turn).await?;
                self.judge_claim(&turn.key);
                self.world
                    .trace
                    .note(format!("{} begins {}", self.life.name, turn.key.turn));
                Ok(begun)
            })
        })
    }

    fn claim<'a>(
        &'a self,
        turn: &'a TurnKey,
        seen: Generation,
        owner: &'a str,
    ) -> StoreFuture<'a, Claimed> {
        self.call("claim", Some(&turn.thread), move || {
            Box::pin(async move {
                let claimed = TurnStore::claim(self.memory(), turn, seen, owner).await?;
                self.world
                    .trace
                    .note(format!("{} claims {}", self.life.name, turn.turn));
                if owner == RESTING {
                    // No host drives the turn.
                    self.world.kept.drivers.lock().unwrap().remove(turn);
                } else {
                    self.judge_claim(turn);
                }
                Ok(claimed)
            })
        })
    }

    fn persist<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        batch: &'a PersistBatch,
    ) -> StoreFuture<'a, ()> {
        self.call("persist", Some(&turn.thread), move || {
            Box::pin(async move {
                let at = self.world.timestamp();
                let batch = PersistBatch {
                    at,
                    ..batch.clone()
                };
                let done = TurnStore::persist(self.memory(), turn, generation, &batch).await;
                self.world.trace.note(format!(
                    "{} persists {} blocks of {} from {} on, {:?}: {}",
                    self.life.name,
                    batch.blocks.len(),
                    turn.turn,
                    batch.first,
                    batch.status,
                    match &done {
                        Ok(()) => "done".to_owned(),
                        Err(error) => error.to_string(),
                    }
                ));
                done
            })
        })
    }

    fn append_events<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        first: u64,
        events: &'a [String],
    ) -> StoreFuture<'a, ()> {
        self.call("append_events", Some(&turn.thread), move || {
            for (event, index) in events.iter().zip(first..) {
                let event = without_expiry(event);
                self.world.trace.note(format!(
                    "{} logs {}:{index} {event}",
                    self.life.name, turn.turn
                ));
            }
            EventStore::append_events(self.memory(), turn, generation, first, events)
        })
    }

    fn rename_thread<'a>(&'a self, thread: &'a ThreadKey, title: &'a str) -> StoreFuture<'a, ()> {
        self.call("rename_thread", Some(thread), move || {
            ThreadStore::rename_thread(self.memory(), thread, title)
        })
    }

    fn delete_thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, bool> {
        self.call("delete_thread", Some(thread), move || {
            TurnStore::delete_thread(self.memory(), thread)
        })
    }

    fn acknowledge<'a>(&'a self, turn: &'a TurnKey, index: u64) -> StoreFuture<'a, ()> {
        self.call("acknowledge", Some(&turn.thread), move || {
            EventStore::acknowledge(self.memory(), turn, index)
        })
    }

    fn unfinished<'a>(&'a self, owner: Option<&'a str>) -> StoreFuture<'a, Vec<Unfinished>> {
        self.call("unfinished", None, move || {
            TurnStore::unfinished(self.memory(), owner)
        })
    }

    fn inbox(&self) -> &dyn Inbox {
        self
    }

    fn turn<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Option<Turn>> {
        self.call("turn", None, move || TurnStore::turn(self.memory(), turn))
    }

    fn path<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Vec<Turn>> {
        self.call("path", None, move || TurnStore::path(self.memory(), turn))
    }

    fn turns<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Vec<Turn>> {
        self.call("turns", None, move || {
            ThreadStore::turns(self.memory(), thread)
        })
    }

    fn thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Option<ThreadRecord>> {
        self.call("thread", None, move || {
            TurnStore::thread(self.memory(), thread)
        })
    }

    fn threads<'a>(&'a self, query: &'a ThreadQuery) -> StoreFuture<'a, Vec<ThreadRecord>> {
        self.call("threads", None, move || {
            ThreadStore::threads(self.memory(), query)
        })
    }

    fn events<'a>(
        &'a self,
        turn: &'a TurnKey,
        after: Option<u64>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<LoggedEvent>> {
        self.call("events", None, move || {
            EventStore::events(self.memory(), turn, after, limit)
        })
    }

    fn events_within<'a>(
        &'a self,
        turn: &'a TurnKey,
        after: Option<u64>,
        limit: usize,
        bytes: usize,
    ) -> StoreFuture<'a, Vec<LoggedEvent>> {
        self.call("events", None, move || {
            EventStore::events_within(self.memory(), turn, after, limit, bytes)
        })
    }

    fn event_log<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, EventLog> {
        self.call("event_log", None, move || {
            EventStore::event_log(self.memory(), turn)
        })
    }

    fn subscribe<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Changes> {
        self.call("subscribe", None, move || {
            let wakers = Wakers::default();
            let changes = wakers.subscribe(thread);
            let mut followers = self.world.kept.followers.lock().unwrap();
            followers.entry(thread.clone()).or_default().push(wakers);
            Box::pin(std::future::ready(Ok(changes)))
        })
    }
}

impl Inbox for FaultyStore {
    fn send<'a>(&'a self, command: &'a SentCommand) -> StoreFuture<'a, ()> {
        self.write("send", move || self.kept_inbox().send(command))
    }

    fn waiting<'a>(&'a self, owner: &'a str, limit: usize) -> StoreFuture<'a, Vec<String>> {
        self.call("waiting", None, move || {
            self.kept_inbox().waiting(owner, limit)
        })
    }

    fn command<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<SentCommand>> {
        self.call("command", None, move || self.kept_inbox().command(id))
    }

    fn reply<'a>(&'a self, id: &'a str, reply: &'a str) -> StoreFuture<'a, ()> {
        self.write("reply", move || {
            let what = format!("{} replies {reply}", self.life.name);
            self.world.trace.note(what);
            self.kept_inbox().reply(id, reply)
        })
    }

    fn reply_to<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<String>> {
        self.call("reply_to", None, move || self.kept_inbox().reply_to(id))
    }

    fn remove<'a>(&'a self, id: &'a str) -> StoreFuture<'a, ()> {
        self.write("remove", move || self.kept_inbox().remove(id))
    }

    fn subscribe<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Changes> {
        self.call("subscribe", None, move || self.kept_inbox().subscribe(name))
    }
}

/// Removes the expiry of questions, which comes from the machine's clock: a seed does not repeat it.
fn without_expiry(event: &str) -> String {
    const EXPIRY: &str = "\"expiresAt\":\"";
    match event.split_once(EXPIRY) {
        Some((before, after)) => {
            let rest = after.find('"').map_or("", |end| &after[end..]);
            format!("{before}{EXPIRY}…{rest}")
        }
        None => event.to_owned(),
    }
}

/// The time of the store's records: none of it is that of the machine's clock.
pub(super) fn timestamp(millis: u64) -> Timestamp {
    Timestamp(1_700_000_000_000 + millis)
}
