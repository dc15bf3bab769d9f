//! One level: a number of concurrent runs, each of which begins a turn when its last one has ended.

use super::statistics::Tally;
use super::turn::{Asked, Begun, lock};
use futures::future::join_all;
use futures::{StreamExt, stream};
use indicatif::{ProgressBar, ProgressStyle};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// The pause of a run after a failed turn, so that a server that refuses is not flooded.
const FAILURE_PAUSE: Duration = Duration::from_millis(100);

/// The time that it may take to stop all turns when the user interrupts.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// The number of sessions that are deleted concurrently.
const CONCURRENT_DELETES: usize = 8;

/// The interval at which the progress bar moves.
const TICK_INTERVAL: Duration = Duration::from_millis(200);

/// The amount of work of a level.
#[derive(Clone, Copy, Debug)]
pub(super) enum LoadAmount {
    /// Turns begin for this long.
    Time(Duration),
    /// This number of turns.
    Turns(usize),
}

/// The plan of all levels.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) asked: Asked,
    pub(super) amount: LoadAmount,
    /// The number of turns of one session, before the next session begins.
    pub(super) thread_turns: NonZeroUsize,
    /// The prefix of the threads' names.
    pub(super) name: String,
    /// Cancelled when the user interrupts.
    pub(super) stop: CancellationToken,
}

/// The results of a level.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) tally: Tally,
    pub(super) took: Duration,
    /// The sessions that the level created.
    pub(super) threads: Vec<String>,
}

struct Level {
    plan: Plan,
    at_once: usize,
    begin: Instant,
    /// The number of turns that have begun.
    begun: AtomicUsize,
    tally: Mutex<Tally>,
    threads: Mutex<Vec<String>>,
}

/// Runs a level to its end, or until the user interrupts.
pub(super) async fn run(plan: &Plan, at_once: NonZeroUsize) -> Done {
    let at_once = at_once.get();
    let level = Arc::new(Level {
        plan: plan.clone(),
        at_once,
        begin: Instant::now(),
        begun: AtomicUsize::default(),
        tally: Mutex::default(),
        threads: Mutex::default(),
    });
    let bar = tokio::spawn(show(Arc::clone(&level)));
    let workers = (0..at_once).map(|number| tokio::spawn(work(Arc::clone(&level), number)));
    join_all(workers).await;
    let took = level.begin.elapsed();
    bar.abort();
    // With the bar the level is dropped.
    let _ = bar.await;
    let tally = std::mem::take(&mut *lock(&level.tally));
    let threads = std::mem::take(&mut *lock(&level.threads));
    Done {
        tally,
        took,
        threads,
    }
}

async fn work(level: Arc<Level>, number: usize) {
    let Plan { asked, stop, .. } = &level.plan;
    let mut turns = 0;
    let mut thread = String::new();
    while level.begins_another() {
        if turns % level.plan.thread_turns == 0 || !asked.target.is_sessions {
            thread = format!("{}-{}-{number}-{turns}", level.plan.name, level.at_once);
            if asked.target.is_sessions {
                lock(&level.threads).push(thread.clone());
            }
        }
        turns += 1;
        let begun = Begun::default();
        let done = tokio::select! {
            biased;
            () = stop.cancelled() => None,
            done = asked.turn(&thread, &begun, &level.tally) => Some(done),
        };
        match done {
            None => {
                lock(&level.tally).unfinished += 1;
                // An agent's run ends with its connection.
                let turn = lock(&begun).take();
                if let Some(turn) = turn {
                    let cancel = asked.target.cancel(&thread, &turn);
                    let _ = tokio::time::timeout(STOP_TIMEOUT, cancel).await;
                }
            }
            Some(Ok(())) => {}
            Some(Err(_)) => {
                // Such a thread may have a turn that continues.
                turns = turns.next_multiple_of(level.plan.thread_turns.get());
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = tokio::time::sleep(FAILURE_PAUSE) => {}
                }
            }
        }
    }
}

impl Level {
    fn begins_another(&self) -> bool {
        if self.plan.stop.is_cancelled() {
            return false;
        }
        match self.plan.amount {
            LoadAmount::Time(time) => self.begin.elapsed() < time,
            LoadAmount::Turns(turns) => self.begun.fetch_add(1, Ordering::Relaxed) < turns,
        }
    }
}

/// Shows the progress of the level on a terminal.
async fn show(level: Arc<Level>) {
    let length = match level.plan.amount {
        LoadAmount::Time(time) => time.as_millis().try_into().unwrap_or(u64::MAX),
        LoadAmount::Turns(turns) => turns as u64,
    };
    let bar = ProgressBar::new(length);
    let style = ProgressStyle::with_template("{prefix} {bar:30} {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(format!("{} at once", level.at_once));
    // It is removed when the level is over.
    let bar = Shown(bar);
    let mut ticks = tokio::time::interval(TICK_INTERVAL);
    loop {
        ticks.tick().await;
        let (ended, failed, events) = {
            let tally = lock(&level.tally);
            (tally.ended, tally.failed(), tally.events)
        };
        let elapsed = level.begin.elapsed();
        bar.0.set_position(match level.plan.amount {
            LoadAmount::Time(_) => elapsed
                .as_millis()
                .try_into()
                .unwrap_or(u64::MAX)
                .min(length),
            LoadAmount::Turns(_) => ended + failed,
        });
        let rate = events as f64 / elapsed.as_secs_f64().max(0.001);
        bar.0.set_message(format!(
            "{ended} turns, {failed} failed, {rate:.0} events/s"
        ));
    }
}

struct Shown(ProgressBar);

impl Drop for Shown {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Deletes the sessions that a level has created, and returns how many are left.
pub(super) async fn delete(plan: &Plan, threads: &[String]) -> usize {
    let target = &plan.asked.target;
    let deleted = stream::iter(threads).map(|thread| target.delete(thread));
    let deleted = deleted.buffer_unordered(CONCURRENT_DELETES);
    // A refused turn has created none.
    let left = deleted.filter(|done| {
        let is_left = done
            .as_ref()
            .is_err_and(|trouble| trouble.status != Some(404));
        std::future::ready(is_left)
    });
    left.count().await
}
