//! Forks: a forked process has only the thread that forked it, and every lock in the state it was in. Before a fork
//! Stepwell's workers become idle, so that none of them holds a lock then, and the child starts threads of its own.

use crate::language::http_client;
use crate::{log, runtime};
use std::cell::RefCell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a fork waits for a worker that is busy: with code of the app, say, which waits for the thread that forks.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The gate that workers pass when they begin and when they stop working.
pub(crate) struct Gate {
    /// The number of workers that work.
    working: usize,
    is_closed: bool,
}

static GATE: Mutex<Gate> = Mutex::new(Gate {
    working: 0,
    is_closed: false,
});
static CHANGED: Condvar = Condvar::new();

fn gate() -> MutexGuard<'static, Gate> {
    GATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts new workers, each of which is at work.
pub(crate) fn workers_begin(workers: usize) {
    gate().working = workers;
}

/// Marks a worker as idle.
pub(crate) fn worker_rests() {
    let mut gate = gate();
    gate.working = gate.working.saturating_sub(1);
    CHANGED.notify_all();
}

/// Marks a worker as working; waits while the process is forked.
pub(crate) fn worker_wakes() {
    let gate = gate();
    let mut gate = CHANGED
        .wait_while(gate, |gate| gate.is_closed)
        .unwrap_or_else(PoisonError::into_inner);
    gate.working += 1;
}

/// The locks that are held while the process is forked, so that no other thread holds them in the child.
struct Held {
    gate: MutexGuard<'static, Gate>,
    threads: MutexGuard<'static, runtime::Threads>,
    writer: MutexGuard<'static, log::Writer>,
}

thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

/// Stops the workers before a fork. For Python, to be called on the thread that forks, before it does. Returns whether
/// the workers are idle; if not, the child can use nothing of Stepwell's.
#[uniffi::export]
pub fn before_fork() -> bool {
    if runtime::is_running() {
        // What is made once per process, such as the system's certificates, must not be half made in the child by
        // another thread. A client that cannot be made does not matter here.
        let _ = http_client();
    }
    // Taken before the gate, in the order in which the workers begin. No worker takes this lock.
    let threads = runtime::lock();
    let mut gate = gate();
    gate.is_closed = true;
    let until = Instant::now() + MAX_WAIT;
    while gate.working > 0 {
        let Some(left) = until.checked_duration_since(Instant::now()) else {
            gate.is_closed = false;
            CHANGED.notify_all();
            return false;
        };
        gate = CHANGED
            .wait_timeout(gate, left)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
    }
    let held = Held {
        gate,
        threads,
        // Taken after the workers are idle: they log.
        writer: log::lock(),
    };
    HELD.set(Some(held));
    true
}

/// Resumes the workers. For Python, to be called on the thread that forked, after the fork, if `before_fork` returned
/// `true`.
#[uniffi::export]
pub fn after_fork_in_parent() {
    if let Some(mut held) = HELD.take() {
        held.gate.is_closed = false;
        drop(held);
        CHANGED.notify_all();
    }
}

/// Prepares the child, which has none of the threads: they start when they are needed.
#[uniffi::export]
pub fn after_fork_in_child() {
    if let Some(mut held) = HELD.take() {
        held.gate.is_closed = false;
        held.gate.working = 0;
        runtime::forget(&mut held.threads);
        log::forget(&mut held.writer);
    }
}
