//! Forks: a process that is forked has only the thread that forked it, and every lock as it was. Before a fork Stepwell's
//! workers come to rest, so that none of them holds a lock then, and the child begins threads of its own.

use crate::language::http_client;
use crate::{log, runtime};
use std::cell::RefCell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a fork waits for a worker that is busy: with code of the app, say, which waits for the thread that forks.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// Where the workers pass as they begin to work and cease to.
pub(crate) struct Gate {
    /// How many work.
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

/// So many workers begin, each at work.
pub(crate) fn workers_begin(workers: usize) {
    gate().working = workers;
}

/// A worker has nothing more to do.
pub(crate) fn worker_rests() {
    let mut gate = gate();
    gate.working = gate.working.saturating_sub(1);
    CHANGED.notify_all();
}

/// A worker has something to do, and waits while the process is forked.
pub(crate) fn worker_wakes() {
    let gate = gate();
    let mut gate = CHANGED
        .wait_while(gate, |gate| gate.is_closed)
        .unwrap_or_else(PoisonError::into_inner);
    gate.working += 1;
}

/// What is held while the process is forked, so that nobody else holds it in the child.
struct Held {
    gate: MutexGuard<'static, Gate>,
    threads: MutexGuard<'static, runtime::Threads>,
    writer: MutexGuard<'static, log::Writer>,
}

thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

/// For Python, to be called on the thread that forks, before it does. Brings the workers to rest. Whether they are: else
/// nothing of Stepwell's can be used in the child.
#[uniffi::export]
pub fn before_fork() -> bool {
    if runtime::is_running() {
        // What is made once in a process, as the system's certificates are, must not be half made in the child: another
        // thread may be at it. A client that cannot be made is no matter here.
        let _ = http_client();
    }
    // Before the gate, as where the workers begin. None of them asks for it.
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
        // After the workers have come to rest: they log.
        writer: log::lock(),
    };
    HELD.set(Some(held));
    true
}

/// For Python, to be called on the thread that forks, after it has, where `before_fork` said yes: lets the workers go on.
#[uniffi::export]
pub fn after_fork_in_parent() {
    if let Some(mut held) = HELD.take() {
        held.gate.is_closed = false;
        drop(held);
        CHANGED.notify_all();
    }
}

/// The same in the child, which has none of the threads: they begin when they are needed.
#[uniffi::export]
pub fn after_fork_in_child() {
    if let Some(mut held) = HELD.take() {
        held.gate.is_closed = false;
        held.gate.working = 0;
        runtime::forget(&mut held.threads);
        log::forget(&mut held.writer);
    }
}
