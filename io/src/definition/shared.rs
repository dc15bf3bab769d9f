//! What all handles on an agent share.

use crate::app::setup::Setup;
use crate::base::lock;
use crate::definition::sources::Sources;
use crate::device::Device;
use crate::durable::{OwnLease, StoreSetup};
use crate::error::Error;
use crate::store::TurnStore;
use crate::threads::{Registration, Threads};
use std::fmt;
use std::sync::{Arc, Mutex, Weak};
use stepwell_core::run::Durability;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// How many times a write is tried, where the configuration does not say.
const WRITE_ATTEMPTS: u32 = 6;

/// The definition of an agent, and the conversations of it that are in use.
pub(crate) struct Shared {
    /// The setup of turns that are kept in no store, without the tools of the sources.
    in_memory: SetupWithSources,
    /// The same for turns in a store.
    stored: SetupWithSources,
    /// Why the agent cannot begin a turn.
    pub(crate) unusable: Option<Error>,
    pub(crate) registration: Registration,
    pub(crate) device: Device,
    store_options: StoreOptions,
    /// The conversations of the default store, if there is one.
    pub(crate) threads: Arc<Threads>,
    /// The conversations of other stores.
    others: Mutex<Vec<Weak<Threads>>>,
    /// Cancels the turns under way.
    turns: Mutex<CancellationToken>,
}

/// How the agent writes to its stores.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoreOptions {
    /// The owner whose lease the program holds itself.
    pub(crate) owner: Option<String>,
    /// Whether writes wait for the store however long it takes.
    pub(crate) waits: bool,
}

struct SetupWithSources {
    setup: Arc<Setup>,
    sources: Sources,
}

impl Shared {
    pub(crate) fn new(
        setup: Setup,
        sources: Sources,
        unusable: Option<Error>,
        registration: Registration,
        device: Device,
        store: Option<Arc<dyn TurnStore>>,
        store_options: StoreOptions,
    ) -> Self {
        let mut stored = setup.clone();
        let mut in_memory = setup;
        if stored.config.durability == Durability::None {
            Arc::make_mut(&mut stored.config).durability = Durability::Blocks {
                attempts: WRITE_ATTEMPTS,
            };
        } else {
            Arc::make_mut(&mut in_memory.config).durability = Durability::None;
        }
        let with_sources = |setup, sources| SetupWithSources {
            setup: Arc::new(setup),
            sources,
        };
        Self {
            stored: with_sources(stored, sources.fresh()),
            in_memory: with_sources(in_memory, sources),
            unusable,
            registration,
            device,
            threads: Arc::new(Threads::new(store.map(|store| store_options.setup(store)))),
            store_options,
            others: Mutex::default(),
            turns: Mutex::default(),
        }
    }

    /// Returns the setup without the tools of the sources.
    pub(crate) fn base(&self, is_stored: bool) -> &Arc<Setup> {
        &self.variant(is_stored).setup
    }

    /// Returns the setup of a turn that begins now.
    pub(crate) fn turn_setup(&self, is_stored: bool) -> Arc<Setup> {
        let SetupWithSources { setup, sources } = self.variant(is_stored);
        sources.add_to(setup)
    }

    fn variant(&self, is_stored: bool) -> &SetupWithSources {
        match is_stored {
            true => &self.stored,
            false => &self.in_memory,
        }
    }

    /// Returns the conversations of a store, which are the same as long as one of them is in use.
    pub(crate) fn threads_in(&self, store: Arc<dyn TurnStore>) -> Arc<Threads> {
        let is_of_store = |threads: &Threads| {
            let stored = threads.stored.as_ref();
            stored.is_some_and(|stored| Arc::ptr_eq(&stored.store, &store))
        };
        if is_of_store(&self.threads) {
            return Arc::clone(&self.threads);
        }
        let mut others = lock(&self.others);
        others.retain(|threads| threads.strong_count() > 0);
        let known = others.iter().filter_map(Weak::upgrade);
        if let Some(threads) = known.into_iter().find(|threads| is_of_store(threads)) {
            return threads;
        }
        let stored = self.store_options.setup(store);
        let threads = Arc::new(Threads::new(Some(stored)));
        others.push(Arc::downgrade(&threads));
        threads
    }

    /// Returns the token that cancels a turn that begins now.
    pub(crate) fn turn_token(&self) -> CancellationToken {
        lock(&self.turns).child_token()
    }

    /// Cancels the turns under way.
    pub(crate) fn cancel_all(&self) {
        std::mem::take(&mut *lock(&self.turns)).cancel();
    }
}

impl StoreOptions {
    fn setup(&self, store: Arc<dyn TurnStore>) -> StoreSetup {
        StoreSetup {
            store,
            own_lease: self.owner.is_none().then(OwnLease::default),
            owner: self
                .owner
                .clone()
                .unwrap_or_else(|| Uuid::new_v4().to_string()),
            waits: self.waits,
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("endpoint", &self.in_memory.setup.config.endpoint)
            .finish_non_exhaustive()
    }
}
