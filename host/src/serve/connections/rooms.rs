//! How many connections there may be at once.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// The pause before the next connection is taken when the process has no more files to open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The most connections beyond those of [`Bounds::most`], for `/health` and `/ready`.
pub(super) const RESERVED_CONNECTIONS: usize = 8;

/// The number of connections, and the time that they may wait.
#[derive(Clone, Copy, Debug)]
pub(in crate::serve) struct Bounds {
    /// The most at once.
    pub(in crate::serve) most: usize,
    /// How long the headers of a new connection's request may take to come.
    pub(in crate::serve) header_timeout: Duration,
    /// How long a connection may stay open between two requests.
    pub(in crate::serve) idle_timeout: Duration,
}

/// All connections.
#[derive(Debug)]
pub(super) struct Connections {
    pub(super) bounds: Bounds,
    pub(super) usual: Room,
    reserved: Room,
    is_full: AtomicBool,
}

/// Room for a number of connections.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) slots: Arc<Semaphore>,
    waiting: Mutex<Waiting>,
}

/// The connections that wait, the one that has waited longest first.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub(super) next: u64,
    pub(super) close: BTreeMap<u64, CancellationToken>,
}

/// The slot of a connection.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    pub(super) _permit: OwnedSemaphorePermit,
    pub(super) is_reserved: bool,
}

impl Room {
    fn new(most: usize) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))),
            waiting: Mutex::default(),
        }
    }

    pub(super) fn free(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.slots).try_acquire_owned().ok()
    }

    /// Waits for a slot. The room is never closed.
    async fn acquire(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.slots).acquire_owned().await.ok()
    }

    /// Closes the connection that has waited longest. Returns whether one waits.
    fn close_longest_waiting(&self) -> bool {
        let longest = self.waiting().close.pop_first();
        longest.inspect(|(_, close)| close.cancel()).is_some()
    }

    pub(super) fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // Nothing is left half-done under the lock.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connections {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            usual: Room::new(bounds.most),
            reserved: Room::new(RESERVED_CONNECTIONS),
            is_full: AtomicBool::new(false),
        }
    }

    pub(super) fn room(&self, is_reserved: bool) -> &Room {
        match is_reserved {
            true => &self.reserved,
            false => &self.usual,
        }
    }

    pub(super) async fn accept(&self, listener: &TcpListener) -> TcpStream {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    // Each event goes out when it is emitted. A socket that refuses the option only delays it.
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(target: "stepwell", %error, "cannot set TCP_NODELAY");
                    }
                    return stream;
                }
                Err(error) if is_of_the_client(&error) => {}
                Err(error) => {
                    tracing::error!(target: "stepwell", %error, "no connection can be taken");
                    if !self.usual.close_longest_waiting() {
                        self.reserved.close_longest_waiting();
                    }
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// Waits for the slot of a new connection.
    pub(super) async fn slot(&self) -> Option<ConnectionSlot> {
        if let Some(permit) = self.usual.free() {
            self.is_full.store(false, Ordering::Relaxed);
            return Some(ConnectionSlot {
                _permit: permit,
                is_reserved: false,
            });
        }
        // Once for all that come until there is room again without that.
        if !self.is_full.swap(true, Ordering::Relaxed) {
            tracing::warn!(target: "stepwell", most = self.bounds.most, "there are as many connections as there may be");
        }
        let is_reserved = !self.usual.close_longest_waiting();
        let room = self.room(is_reserved);
        let permit = match room.free() {
            Some(permit) => permit,
            None => {
                // Requests on reserved connections are answered at once: one of these waits for its client.
                if is_reserved {
                    room.close_longest_waiting();
                }
                room.acquire().await?
            }
        };
        Some(ConnectionSlot {
            _permit: permit,
            is_reserved,
        })
    }
}

fn is_of_the_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
    )
}
