//! The limits of one user: concurrent runs, requests a minute, open streams. Without named users all clients are one
//! user.

use super::refusal::{Code, Refusal};
use super::serving::Limits;
use crate::access::User;
use bytes::Bytes;
use futures::{Stream, StreamExt};
use std::collections::HashMap;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use stepwell_core::registry::ThreadKey;
use stepwell_io::store::{Store, StoreError, ThreadQuery};
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

const MINUTE: Duration = Duration::from_secs(60);

/// The wait for a user with too many runs under way: when one of them will be over is not known.
const RUN_PAUSE: Duration = Duration::from_secs(5);

/// The number of users from which on idle ones are looked for.
const LOOK_FROM: usize = 1024;

/// The usage of all users.
#[derive(Debug)]
pub(super) struct UserLimits {
    runs: Option<NonZeroUsize>,
    threads: Option<NonZeroUsize>,
    requests: Option<NonZeroU32>,
    streams: Option<NonZeroUsize>,
    /// The number of streams for a named user if no number is set.
    share: usize,
    users: Mutex<Users>,
}

#[derive(Debug)]
struct Users {
    known: HashMap<User, Arc<Usage>>,
    /// The number of users at which idle ones are forgotten.
    look_at: usize,
}

/// The usage of one user.
#[derive(Debug)]
struct Usage {
    /// Until when the requests so far would take, if they came evenly.
    due: Mutex<Instant>,
    /// The streams that are open.
    streams: AtomicUsize,
    /// Held while a run is started, until the run counts.
    starting: Arc<tokio::sync::Mutex<()>>,
}

/// Leave to start something. The user's next run waits until it is dropped.
#[derive(Debug)]
pub(super) struct StartPermit {
    _usage: Arc<Usage>,
    _starting: OwnedMutexGuard<()>,
}

/// An open stream of a user's. Dropping it makes room for another one.
#[derive(Debug)]
pub(super) struct OpenStream(Arc<Usage>);

impl UserLimits {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            runs: limits.user_runs,
            threads: limits.user_threads,
            requests: limits.user_requests,
            streams: limits.user_streams,
            share: (limits.connections / 4).max(1),
            users: Mutex::new(Users {
                known: HashMap::new(),
                look_at: LOOK_FROM,
            }),
        }
    }

    /// Counts a request. A minute's worth of requests may come at once; after that they must come evenly.
    ///
    /// # Errors
    /// The request exceeds the limit.
    pub(super) fn request(&self, user: &User) -> Result<(), Refusal> {
        let Some(most) = self.requests else {
            return Ok(());
        };
        let usage = self.usage(user);
        let now = Instant::now();
        let mut due = lock(&usage.due);
        let ahead = due.saturating_duration_since(now) + MINUTE / most.get();
        let Some(wait) = ahead.checked_sub(MINUTE).filter(|wait| !wait.is_zero()) else {
            *due = now + ahead;
            return Ok(());
        };
        let message = format!("{most} requests a minute are a user's: send fewer");
        Err(Refusal::new(Code::TooManyRequests, message).retry_after(wait))
    }

    /// Counts a stream that is about to be opened. A named user has a quarter of the connections if no number is set.
    ///
    /// # Errors
    /// The stream exceeds the limit.
    pub(super) fn stream(&self, user: &User) -> Result<OpenStream, Refusal> {
        let usage = self.usage(user);
        let open = OpenStream(Arc::clone(&usage));
        let count = usage.streams.fetch_add(1, Ordering::Relaxed) + 1;
        let most = match (self.streams, user.is_named()) {
            (Some(most), _) => most.get(),
            (None, true) => self.share,
            (None, false) => return Ok(open),
        };
        if count > most {
            let message =
                format!("a user may have {most} streams open at once: close one that is not read");
            return Err(Refusal::new(Code::TooManyUserStreams, message).retry_after(RUN_PAUSE));
        }
        Ok(open)
    }

    /// Leave to start a run, if there is a limit. The user's turns that are unfinished in the store count, but for that of
    /// `thread`: it is stopped where another one begins. So do the user's threads, where that one is new.
    ///
    /// # Errors
    /// There are as many as there may be, or the store cannot be asked.
    pub(super) async fn start(
        &self,
        user: &User,
        store: &dyn Store,
        thread: Option<&ThreadKey>,
    ) -> Result<Option<StartPermit>, Refusal> {
        if self.runs.is_none() && self.threads.is_none() {
            return Ok(None);
        }
        let usage = self.usage(user);
        // Of two runs that start at once the second must see the first.
        let starting = Arc::clone(&usage.starting).lock_owned().await;
        if let Some(most) = self.runs
            && unfinished(user, store, thread).await? >= most.get()
        {
            let message =
                format!("{most} runs at once are a user's: try again when one of them is over");
            return Err(Refusal::new(Code::TooManyUserRuns, message).retry_after(RUN_PAUSE));
        }
        if let (Some(most), Some(thread)) = (self.threads, thread)
            && store.thread(thread).await?.is_none()
            && has_threads(user, store, most.get()).await?
        {
            let message = format!("a user may have {most} threads: delete one of them first");
            return Err(Refusal::new(Code::TooManyThreads, message));
        }
        Ok(Some(StartPermit {
            _usage: usage,
            _starting: starting,
        }))
    }

    fn usage(&self, user: &User) -> Arc<Usage> {
        let mut users = lock(&self.users);
        if users.known.len() >= users.look_at {
            users.forget();
        }
        let usage = users.known.entry(user.clone());
        Arc::clone(usage.or_insert_with(|| Arc::new(Usage::new())))
    }
}

impl Users {
    /// Forgets idle users: a new user has the same limits.
    fn forget(&mut self) {
        let now = Instant::now();
        self.known.retain(|_, usage| !usage.is_at_rest(now));
        // The threshold grows so that a cleanup costs each user little.
        self.look_at = (2 * self.known.len()).max(LOOK_FROM);
    }
}

impl Usage {
    fn new() -> Self {
        Self {
            due: Mutex::new(Instant::now()),
            streams: AtomicUsize::new(0),
            starting: Arc::default(),
        }
    }

    fn is_at_rest(self: &Arc<Self>, now: Instant) -> bool {
        // A start or a run in progress holds it too.
        Arc::strong_count(self) == 1 && *lock(&self.due) <= now
    }
}

impl OpenStream {
    /// Counts as open for as long as these frames are held.
    pub(super) fn around(
        self,
        frames: impl Stream<Item = Bytes> + Send + 'static,
    ) -> impl Stream<Item = Bytes> + Send + 'static {
        frames.inspect(move |_| {
            let _ = &self;
        })
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns the number of the user's unfinished turns, on any host.
async fn unfinished(
    user: &User,
    store: &dyn Store,
    except: Option<&ThreadKey>,
) -> Result<usize, StoreError> {
    let unfinished = store.unfinished(None).await?;
    let its = unfinished.iter().map(|turn| &turn.key.thread);
    let its = its.filter(|thread| thread.server.is_empty() && thread.room == user.room());
    Ok(its.filter(|thread| Some(*thread) != except).count())
}

/// Returns whether the user has this number of threads.
async fn has_threads(user: &User, store: &dyn Store, count: usize) -> Result<bool, StoreError> {
    let query = ThreadQuery {
        server: Some(String::new()),
        room: Some(user.room().to_owned()),
        after: None,
        limit: count,
    };
    Ok(store.threads(&query).await?.len() >= count)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is left half-done under the lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
