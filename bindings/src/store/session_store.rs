use super::adapter::AppStore;
use super::task::Queue;
use super::{Store, StoreRunner, ThreadQuery, ThreadRecord};
use crate::error::StepwellError;
use crate::json_value::JsonValue;
use crate::pending::Pending;
use crate::runtime::on_runtime;
use crate::session::{SessionView, TurnView, transcript, view};
use crate::thread_key::ThreadKey;
use std::sync::Arc;
use stepwell_core::session::Turn;
use stepwell_io::store::{self, MemoryStore};

/// The store of an agent's threads, and the sessions in it: their list, each with its turns and messages.
///
/// A thread is a tree of turns: a message that is edited and sent again makes a sibling. A session is one path of the
/// tree: the path to a given turn, or the one that ends last.
#[derive(Debug, uniffi::Object)]
pub struct SessionStore {
    store: Arc<dyn store::Store>,
}

#[uniffi::export]
impl SessionStore {
    /// Creates a store in memory, which is gone with the process.
    #[uniffi::constructor]
    pub fn in_memory() -> Arc<Self> {
        Self::new(Arc::new(MemoryStore::new()))
    }

    /// Creates a store in the app's own database.
    #[uniffi::constructor]
    pub fn of_app(store: Arc<dyn Store>) -> Arc<Self> {
        Self::new(Arc::new(AppStore::new(store)))
    }

    /// Creates a store in the app's own database, for languages whose code must run on the app's own event loop.
    #[uniffi::constructor]
    pub fn with_store_runner(runner: Arc<dyn StoreRunner>) -> Arc<Self> {
        Self::of_app(Arc::new(Queue(runner)))
    }

    /// Returns threads, the last used first.
    pub async fn threads(&self, query: ThreadQuery) -> Result<Vec<ThreadRecord>, StepwellError> {
        let store = Arc::clone(&self.store);
        let query = query.into();
        on_runtime(async move {
            let records = store.threads(&query).await?;
            Ok(records.into_iter().map(Into::into).collect())
        })
        .await
    }

    /// Returns a thread; none if there is no such thread.
    pub async fn thread(&self, thread: ThreadKey) -> Result<Option<ThreadRecord>, StepwellError> {
        let store = Arc::clone(&self.store);
        let thread = thread.into();
        on_runtime(async move { Ok(store.thread(&thread).await?.map(Into::into)) }).await
    }

    /// Returns all turns of a thread, in the order in which they began: its tree, by their parents.
    pub async fn turns(&self, thread: ThreadKey) -> Result<Vec<TurnView>, StepwellError> {
        let turns = self.load(thread).await?;
        Ok(turns.into_iter().map(Into::into).collect())
    }

    /// Returns a thread as the user sees it, on the path to `turn`.
    #[uniffi::method(default(turn = None))]
    pub async fn view(
        &self,
        thread: ThreadKey,
        turn: Option<String>,
    ) -> Result<SessionView, StepwellError> {
        Ok(view(self.load(thread).await?, turn)?)
    }

    /// Returns the conversation on the path to `turn`: a JSON array of AG-UI messages, oldest first.
    #[uniffi::method(default(turn = None))]
    pub async fn messages(
        &self,
        thread: ThreadKey,
        turn: Option<String>,
    ) -> Result<JsonValue, StepwellError> {
        let turns = self.load(thread).await?;
        Ok(JsonValue::of(&transcript(turns, turn)?.messages()))
    }

    /// Returns what the unfinished turn of a conversation waits for, in any process and without the agent: approvals and
    /// questions for the user, and results of deferred calls. Empty if no turn is unfinished. `Conversation` takes the
    /// replies.
    pub async fn pending(&self, thread: ThreadKey) -> Result<Vec<Pending>, StepwellError> {
        let store = Arc::clone(&self.store);
        on_runtime(async move {
            let key = stepwell_core::registry::ThreadKey::from(thread);
            let pending = stepwell_io::pending(&*store, key).await?;
            Ok(pending.into_iter().map(Into::into).collect())
        })
        .await
    }

    /// Gives a thread a title. A new title does not count as use.
    pub async fn rename_thread(
        &self,
        thread: ThreadKey,
        title: String,
    ) -> Result<(), StepwellError> {
        let store = Arc::clone(&self.store);
        let thread = thread.into();
        on_runtime(async move { Ok(store.rename_thread(&thread, &title).await?) }).await
    }

    /// Deletes a thread with all that it holds, and returns whether there was one. Delete a thread that an agent has
    /// with `Conversation.delete`, which stops the thread's turn first.
    pub async fn delete_thread(&self, thread: ThreadKey) -> Result<bool, StepwellError> {
        let store = Arc::clone(&self.store);
        let thread = thread.into();
        on_runtime(async move { Ok(store.delete_thread(&thread).await?) }).await
    }
}

#[cfg(feature = "sqlite")]
#[uniffi::export]
impl SessionStore {
    /// Opens a store in a file, with the built-in SQLite. The file is created if there is none; SQLite keeps `-wal` and
    /// `-shm` alongside it. Several processes may use the file at once, on one machine.
    #[uniffi::constructor]
    pub async fn open_sqlite(path: String) -> Result<Arc<Self>, StepwellError> {
        let opened = on_runtime(async move { Ok(store::SqliteStore::open(path).await?) });
        Ok(Self::new(Arc::new(opened.await?)))
    }
}

#[cfg(feature = "postgres")]
#[uniffi::export]
impl SessionStore {
    /// Connects to a store on a PostgreSQL server, by an address as libpq takes it
    /// (`postgres://user:password@server/database?sslmode=verify-full`); what the address leaves out is taken from libpq's
    /// environment variables. The tables are created if there are none, in this schema, or in that of the user's search
    /// path if none is named. Several processes on several machines may use the database at once, each with up to
    /// `max_connections`, 10 if absent and at least 3.
    #[uniffi::constructor(default(schema = None, max_connections = None))]
    pub async fn open_postgres(
        url: String,
        schema: Option<String>,
        max_connections: Option<u32>,
    ) -> Result<Arc<Self>, StepwellError> {
        let mut options = store::PostgresOptions::default();
        options.schema = schema;
        options.max_connections = max_connections.unwrap_or(options.max_connections);
        let opened =
            on_runtime(async move { Ok(store::PostgresStore::connect_with(&url, options).await?) });
        Ok(Self::new(Arc::new(opened.await?)))
    }
}

impl SessionStore {
    fn new(store: Arc<dyn store::Store>) -> Arc<Self> {
        Arc::new(Self { store })
    }

    /// Returns the store itself, for Rust.
    #[must_use]
    pub fn inner(&self) -> Arc<dyn store::Store> {
        Arc::clone(&self.store)
    }

    async fn load(&self, thread: ThreadKey) -> Result<Vec<Turn>, StepwellError> {
        let store = Arc::clone(&self.store);
        let thread = thread.into();
        on_runtime(async move { Ok(store.turns(&thread).await?) }).await
    }
}
