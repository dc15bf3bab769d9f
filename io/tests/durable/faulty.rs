//! A store that fails when it is told to.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use stepwell_core::session::Turn;
use stepwell_io::ThreadKey;
use stepwell_io::store::{
    Changes, Claimed, EventLog, Generation, LoggedEvent, MemoryStore, NewTurn, PersistBatch, Store,
    StoreError, StoreFuture, ThreadQuery, ThreadRecord, TurnKey, Unfinished,
};

/// What becomes of a write.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// It is done.
    None,
    /// It is not.
    Before(StoreError),
    /// It is, but the answer is lost.
    After(StoreError),
}

pub(crate) fn away() -> StoreError {
    StoreError::Unavailable {
        message: "no route".to_owned(),
    }
}

type Hook = Box<dyn Fn(&str) + Send + Sync>;

/// Writes fail as the list says, one after the other; then as `always` says.
#[derive(Clone)]
pub(crate) struct Faulty {
    pub(crate) inner: MemoryStore,
    faults: Arc<Mutex<(VecDeque<Fault>, Fault)>>,
    hook: Arc<Mutex<Option<Hook>>>,
}

impl std::fmt::Debug for Faulty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Faulty").finish_non_exhaustive()
    }
}

impl Faulty {
    pub(crate) fn new(inner: MemoryStore) -> Self {
        Self {
            inner,
            faults: Arc::new(Mutex::new((VecDeque::new(), Fault::None))),
            hook: Arc::default(),
        }
    }

    pub(crate) fn next(&self, faults: impl IntoIterator<Item = Fault>) {
        self.faults.lock().unwrap().0.extend(faults);
    }

    pub(crate) fn always(&self, fault: Fault) {
        self.faults.lock().unwrap().1 = fault;
    }

    /// Is told of each write before it is done.
    pub(crate) fn watch(&self, hook: impl Fn(&str) + Send + Sync + 'static) {
        *self.hook.lock().unwrap() = Some(Box::new(hook));
    }

    fn write<'a, T: Send + 'a>(
        &'a self,
        name: &'static str,
        write: impl FnOnce() -> StoreFuture<'a, T> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        Box::pin(async move {
            if let Some(hook) = &*self.hook.lock().unwrap() {
                hook(name);
            }
            let fault = {
                let (next, always) = &mut *self.faults.lock().unwrap();
                next.pop_front().unwrap_or_else(|| always.clone())
            };
            match fault {
                Fault::None => write().await,
                Fault::Before(error) => Err(error),
                Fault::After(error) => {
                    write().await?;
                    Err(error)
                }
            }
        })
    }
}

impl Store for Faulty {
    fn begin_turn<'a>(&'a self, turn: &'a NewTurn) -> StoreFuture<'a, Generation> {
        self.write("begin_turn", || self.inner.begin_turn(turn))
    }

    fn claim<'a>(
        &'a self,
        turn: &'a TurnKey,
        seen: Generation,
        owner: &'a str,
    ) -> StoreFuture<'a, Claimed> {
        self.write("claim", move || self.inner.claim(turn, seen, owner))
    }

    fn persist<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        batch: &'a PersistBatch,
    ) -> StoreFuture<'a, ()> {
        self.write("persist", move || {
            self.inner.persist(turn, generation, batch)
        })
    }

    fn unfinished<'a>(&'a self, owner: Option<&'a str>) -> StoreFuture<'a, Vec<Unfinished>> {
        self.inner.unfinished(owner)
    }

    fn turn<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Option<Turn>> {
        self.inner.turn(turn)
    }

    fn path<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, Vec<Turn>> {
        self.inner.path(turn)
    }

    fn turns<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Vec<Turn>> {
        self.inner.turns(thread)
    }

    fn thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Option<ThreadRecord>> {
        self.inner.thread(thread)
    }

    fn threads<'a>(&'a self, query: &'a ThreadQuery) -> StoreFuture<'a, Vec<ThreadRecord>> {
        self.inner.threads(query)
    }

    fn rename_thread<'a>(&'a self, thread: &'a ThreadKey, title: &'a str) -> StoreFuture<'a, ()> {
        self.inner.rename_thread(thread, title)
    }

    fn delete_thread<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, bool> {
        self.inner.delete_thread(thread)
    }

    fn append_events<'a>(
        &'a self,
        turn: &'a TurnKey,
        generation: Generation,
        first: u64,
        events: &'a [String],
    ) -> StoreFuture<'a, ()> {
        self.write("append_events", move || {
            self.inner.append_events(turn, generation, first, events)
        })
    }

    fn events<'a>(
        &'a self,
        turn: &'a TurnKey,
        after: Option<u64>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<LoggedEvent>> {
        self.inner.events(turn, after, limit)
    }

    fn event_log<'a>(&'a self, turn: &'a TurnKey) -> StoreFuture<'a, EventLog> {
        self.inner.event_log(turn)
    }

    fn acknowledge<'a>(&'a self, turn: &'a TurnKey, index: u64) -> StoreFuture<'a, ()> {
        self.inner.acknowledge(turn, index)
    }

    fn subscribe<'a>(&'a self, thread: &'a ThreadKey) -> StoreFuture<'a, Changes> {
        self.inner.subscribe(thread)
    }
}
