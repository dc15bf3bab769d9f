//! The threads that do the work of all agents.

use crate::error::StepwellError;
use crate::{fork, log};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

/// The threads of this process.
pub(crate) enum Threads {
    NotBegun,
    Running(Runtime, Process),
    Stopped,
}

/// The id of the process that has the threads: a process that was forked from it has none of them.
type Process = u32;

static THREADS: Mutex<Threads> = Mutex::new(Threads::NotBegun);

/// How long `shutdown` waits for code of the app that does not return.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) fn lock() -> MutexGuard<'static, Threads> {
    THREADS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether the threads have started in this process.
pub(crate) fn is_running() -> bool {
    matches!(&*lock(), Threads::Running(..))
}

/// Forgets the threads in a forked process: they are in the other process.
pub(crate) fn forget(threads: &mut Threads) {
    if matches!(threads, Threads::Running(..)) {
        std::mem::forget(std::mem::replace(threads, Threads::NotBegun));
    }
}

/// The runtime that all agents' work runs on. The app's own threads only wait for it.
pub(crate) fn runtime() -> Result<Handle, StepwellError> {
    let unavailable = |reason: String, advice: &str| StepwellError::Unavailable {
        reason,
        advice: advice.to_owned(),
    };
    let mut threads = lock();
    forget_if_forked(&mut threads);
    match &*threads {
        Threads::Running(runtime, _) => Ok(runtime.handle().clone()),
        Threads::Stopped => Err(unavailable(
            "Stepwell's threads were stopped".to_owned(),
            "begin nothing after `shutdown`",
        )),
        Threads::NotBegun => {
            let workers = std::thread::available_parallelism().map_or(1, usize::from);
            fork::workers_begin(workers);
            let begun = Builder::new_multi_thread()
                .worker_threads(workers)
                .thread_name("stepwell")
                .on_thread_park(fork::worker_rests)
                .on_thread_unpark(fork::worker_wakes)
                .enable_all()
                .build();
            let runtime = begun.map_err(|error| {
                unavailable(
                    format!("the threads for the network cannot be started: {error}"),
                    "look at the process's limits of threads and open files",
                )
            })?;
            let handle = runtime.handle().clone();
            *threads = Threads::Running(runtime, std::process::id());
            Ok(handle)
        }
    }
}

/// Forgets the threads if this process was forked: it starts its own, and cannot wait for those of the other process.
fn forget_if_forked(threads: &mut Threads) {
    match std::mem::replace(threads, Threads::NotBegun) {
        Threads::Running(runtime, process) if process != std::process::id() => {
            std::mem::forget(runtime);
        }
        same => *threads = same,
    }
}

/// Stops Stepwell's threads for good, because the process is about to end: once this returns, none of them calls code
/// of the app any more, unless a tool blocks a thread for more than two seconds. Turns under way stop where they are,
/// as if the process had been killed; a store keeps what it has. Later calls that need the threads fail with
/// `Unavailable`. Python's package calls this function when the interpreter exits.
#[uniffi::export]
pub fn shutdown() {
    let mut threads = lock();
    forget_if_forked(&mut threads);
    let before = std::mem::replace(&mut *threads, Threads::Stopped);
    // Code of the app may ask for the runtime while the runtime is stopped.
    drop(threads);
    if let Threads::Running(runtime, _) = before {
        runtime.shutdown_timeout(PATIENCE);
    }
    log::stop(PATIENCE);
}

/// Does work on the runtime. Dropping the future stops the work.
pub(crate) async fn on_runtime<T: Send + 'static>(
    work: impl Future<Output = Result<T, StepwellError>> + Send + 'static,
) -> Result<T, StepwellError> {
    let mut task = AbortOnDrop(runtime()?.spawn(work));
    (&mut task.0)
        .await
        .unwrap_or_else(|error| Err(StepwellError::broken(&error)))
}

/// Aborts a task when the caller stops waiting for it.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
