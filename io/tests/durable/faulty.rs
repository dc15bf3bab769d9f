//! A store that fails when a test asks it to.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use stepwell_io::store::{
    Claimed, EventStore, Generation, MemoryStore, NewTurn, PersistBatch, StoreError, StoreFuture,
    StoreLayer, TurnKey, TurnStore,
};

/// The fate of a write.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// The write is done.
    None,
    /// The write is not done.
    Before(StoreError),
    /// The write is done, but the answer is lost.
    After(StoreError),
}

pub(crate) fn away() -> StoreError {
    StoreError::Unavailable {
        message: "no route".to_owned(),
    }
}

type Hook = Box<dyn Fn(&str) + Send + Sync>;

/// A store whose writes fail as the list says, one after the other; then as `always` says.
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

    /// Calls the hook before each write.
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

impl StoreLayer for Faulty {
    type Inner = MemoryStore;

    fn inner(&self) -> &MemoryStore {
        &self.inner
    }

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
}
