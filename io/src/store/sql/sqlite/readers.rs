//! Connections that read, on threads where reading may take its time.

use super::session::SqliteSession;
use crate::base::lock;
use crate::store::StoreError;
use crate::store::sql::change::closed;
use crate::store::sql::database::{Access, Query};
use futures::executor::block_on;
use std::fmt;
use std::sync::{Arc, Mutex};
use tokio::sync::Semaphore;

/// The most connections, and reads at once.
const MAX_READERS: usize = 4;

type Open = dyn Fn() -> Result<SqliteSession, StoreError> + Send + Sync;

/// Connections that read. They are opened as they are needed. Clones share them.
#[derive(Clone)]
pub(super) struct Readers(Arc<Shared>);

struct Shared {
    open: Box<Open>,
    idle: Mutex<Vec<SqliteSession>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    /// Opens connections by `open`.
    pub(super) fn new(
        open: impl Fn() -> Result<SqliteSession, StoreError> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Shared {
            open: Box::new(open),
            idle: Mutex::default(),
            permits: Arc::new(Semaphore::new(MAX_READERS)),
        }))
    }

    /// Runs a query.
    pub(super) async fn query<T: Send + 'static>(
        &self,
        access: Access,
        query: Query<SqliteSession, T>,
    ) -> Result<T, StoreError> {
        let shared = Arc::clone(&self.0);
        let permit = Arc::clone(&shared.permits).acquire_owned().await;
        let permit = permit.map_err(|_| closed())?;
        let read = tokio::task::spawn_blocking(move || {
            // Held until the read is over, also if the caller stops waiting.
            let _permit = permit;
            shared.read(access, query)
        });
        read.await.unwrap_or_else(|error| {
            Err(StoreError::Other {
                message: error.to_string(),
            })
        })
    }

    /// Closes the connections, once the reads that have begun are done.
    pub(super) async fn close(&self) {
        let all = u32::try_from(MAX_READERS).unwrap_or(u32::MAX);
        if let Ok(permits) = self.0.permits.acquire_many(all).await {
            permits.forget();
        }
        self.0.permits.close();
        lock(&self.0.idle).clear();
    }
}

impl Shared {
    fn read<T>(&self, access: Access, query: Query<SqliteSession, T>) -> Result<T, StoreError> {
        let idle = lock(&self.idle).pop();
        let mut session = match idle {
            Some(session) => session,
            None => (self.open)()?,
        };
        session.check_file()?;
        if access == Access::Snapshot {
            session.run("BEGIN")?;
        }
        let result = block_on(query(&mut session));
        if access == Access::Snapshot {
            session.run("COMMIT")?;
        }
        lock(&self.idle).push(session);
        result
    }
}

impl fmt::Debug for Readers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readers").finish_non_exhaustive()
    }
}
