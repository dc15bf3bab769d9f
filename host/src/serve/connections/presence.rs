//! Whether a connection waits for its client.

use super::rooms::Connections;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// Whether a connection waits for its client.
#[derive(Debug)]
pub(super) struct Presence {
    pub(super) connections: Arc<Connections>,
    state: Mutex<PresenceState>,
    /// By when the next request must have come; nothing while one is answered.
    deadline: watch::Sender<Option<Instant>>,
    /// Cancelled when the connection must make room.
    pub(super) close: CancellationToken,
    pub(super) is_reserved: bool,
}

#[derive(Debug, Default)]
struct PresenceState {
    /// Its position in the queue of those that wait.
    position: Option<u64>,
    /// Whether a request is being answered.
    is_busy: bool,
}

impl Presence {
    /// Creates the presence of a connection that waits for its first request.
    pub(super) fn new(connections: &Arc<Connections>, is_reserved: bool) -> Arc<Self> {
        let presence = Self {
            connections: Arc::clone(connections),
            state: Mutex::default(),
            deadline: watch::Sender::new(None),
            close: CancellationToken::new(),
            is_reserved,
        };
        presence.set_waiting(connections.bounds.header_timeout);
        Arc::new(presence)
    }

    /// Notes that a request is being answered, until the guard is dropped.
    pub(super) fn begin_request(self: &Arc<Self>) -> Busy {
        let mut state = self.lock();
        state.is_busy = true;
        self.leave_queue(&mut state);
        self.deadline.send_replace(None);
        Busy(Arc::clone(self))
    }

    /// Notes that no request is being answered. The connection may wait for the given time.
    fn set_waiting(&self, time: Duration) {
        let mut state = self.lock();
        state.is_busy = false;
        self.join_queue(&mut state);
        self.set_deadline(time);
    }

    /// Notes that the connection waits for its client to send or read something.
    pub(super) fn set_stalled(&self) {
        self.join_queue(&mut self.lock());
    }

    /// Notes that the client has sent or read something, perhaps of an answer that is over.
    pub(super) fn note_progress(&self) {
        let mut state = self.lock();
        match state.is_busy {
            true => self.leave_queue(&mut state),
            false => self.set_deadline(self.connections.bounds.idle_timeout),
        }
    }

    fn join_queue(&self, state: &mut PresenceState) {
        if state.position.is_none() {
            let mut waiting = self.connections.room(self.is_reserved).waiting();
            let position = waiting.next;
            waiting.next += 1;
            waiting.close.insert(position, self.close.clone());
            state.position = Some(position);
        }
    }

    fn leave_queue(&self, state: &mut PresenceState) {
        if let Some(position) = state.position.take() {
            let room = self.connections.room(self.is_reserved);
            room.waiting().close.remove(&position);
        }
    }

    fn set_deadline(&self, time: Duration) {
        // A time beyond what can be counted is no limit.
        self.deadline.send_replace(Instant::now().checked_add(time));
    }

    /// Waits until the connection has waited for too long.
    pub(super) async fn expired(&self) {
        let mut deadline = self.deadline.subscribe();
        loop {
            let at = *deadline.borrow_and_update();
            let passed = async {
                match at {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                _ = deadline.changed() => {}
                () = passed => return,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, PresenceState> {
        // Nothing is left half-done under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.leave_queue(&mut self.lock());
    }
}

/// A guard of a request that is being answered.
#[derive(Debug)]
pub(super) struct Busy(Arc<Presence>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.set_waiting(self.0.connections.bounds.idle_timeout);
    }
}
