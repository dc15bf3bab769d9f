//! Who may run: one run a thread, so many in all, and the turns that wait for the user.

use crate::request::refused::{Refused, RefusedReason};
use crate::run::open_turn::{Held, OpenTurn};
use crate::turn::answers::{Answers, Unresumable};
use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use stepwell_core::event::RunAgentInput;
use stepwell_core::registry::ThreadKey;
use stepwell_io::{RunId, ToolRegistry};
use time::OffsetDateTime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// The most memory that turns may take which wait for the user. The oldest make room: their questions are then
/// unknown.
const OPEN_TURNS: usize = 256 << 20;

/// The threads that have something under way.
#[derive(Debug)]
pub(crate) struct Places {
    room: Arc<Semaphore>,
    most: usize,
    /// The most bytes of turns that wait.
    most_open: usize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    is_closed: bool,
    threads: HashMap<ThreadKey, Thread>,
    /// Counts runs, so that each has a number.
    runs: u64,
    open_bytes: usize,
}

#[derive(Debug, Default)]
struct Thread {
    current: Option<Current>,
    /// With the number of the run that left it.
    open: Option<(u64, OpenTurn)>,
}

#[derive(Debug)]
struct Current {
    run_id: RunId,
    number: u64,
    cancel: CancellationToken,
}

/// Leave to take one more run.
#[derive(Debug)]
pub struct Permit {
    _room: OwnedSemaphorePermit,
    _held: Holds,
}

/// What is held as long as the run goes on, and dropped with it: a count of the user's runs, say.
struct Holds(#[expect(dead_code, reason = "it is held")] Option<Box<dyn Any + Send + Sync>>);

impl fmt::Debug for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Holds").finish_non_exhaustive()
    }
}

/// A run's place on its thread. Dropping it frees the place.
#[derive(Debug)]
pub(crate) struct Place {
    threads: Arc<Places>,
    key: ThreadKey,
    number: u64,
    pub(crate) cancel: CancellationToken,
    _permit: Permit,
}

/// What a run begins with.
#[derive(Debug)]
pub(crate) enum Beginning {
    /// The conversation that the client sends.
    Fresh,
    /// The turn that waited for the user, and what they said.
    Resumed(Box<OpenTurn>, Answers),
    /// Nothing: it ends with this error.
    Refused(Unresumable),
}

impl Places {
    pub(crate) fn new(most: usize) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            room: Arc::new(Semaphore::new(most)),
            most,
            most_open: OPEN_TURNS,
            inner: Mutex::default(),
        }
    }

    /// Takes no more runs. Nobody can answer the tools that wait for their users any more: they are stopped.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.is_closed = true;
        let keys: Vec<_> = inner.threads.keys().cloned().collect();
        for key in keys {
            inner.stop(&key, None);
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Leave to take one more run, which holds `held` until it is over.
    pub(crate) fn permit(
        &self,
        held: Option<Box<dyn Any + Send + Sync>>,
    ) -> Result<Permit, Refused> {
        if self.is_closed() {
            return Err(Refused::stopping());
        }
        let permit = Arc::clone(&self.room).try_acquire_owned();
        let permit = permit.map(|room| Permit {
            _room: room,
            _held: Holds(held),
        });
        permit.map_err(|_| {
            let message = format!(
                "{} runs are under way, and no more are taken: try again in a while",
                self.most
            );
            Refused::new(RefusedReason::TooManyRuns, message)
        })
    }

    /// Gives the run its place. Another run that has the thread is cancelled: its client has moved on.
    pub(crate) fn admit(
        self: &Arc<Self>,
        key: ThreadKey,
        input: &RunAgentInput,
        permit: Permit,
        tools: &ToolRegistry,
        now: OffsetDateTime,
    ) -> Result<(Place, Beginning), Refused> {
        let mut inner = self.lock();
        if inner.is_closed {
            return Err(Refused::stopping());
        }
        inner.runs += 1;
        let number = inner.runs;
        let thread = inner.threads.entry(key.clone()).or_default();
        let current = thread.current.as_ref();
        if current.is_some_and(|current| current.run_id == input.run_id) {
            let message = format!(
                "the run `{}` is under way: give each run an id of its own",
                input.run_id
            );
            return Err(Refused::new(RefusedReason::RunUnderWay, message));
        }
        let beginning = thread.beginning(input, tools, now);
        let cancel = CancellationToken::new();
        if !matches!(beginning, Beginning::Refused(_)) {
            let current = Current {
                run_id: input.run_id.clone(),
                number,
                cancel: cancel.clone(),
            };
            if let Some(earlier) = thread.current.replace(current) {
                earlier.cancel.cancel();
            }
        }
        inner.open_bytes -= match &beginning {
            Beginning::Resumed(turn, _) => turn.size(),
            // It goes on without the questions that have lapsed.
            Beginning::Fresh => inner.lapsed(&key),
            Beginning::Refused(_) => 0,
        };
        let place = Place {
            threads: Arc::clone(self),
            key,
            number,
            cancel,
            _permit: permit,
        };
        Ok((place, beginning))
    }

    /// Nobody answers what the thread's turn asks any more: its user has gone on.
    pub(crate) fn forget_open(&self, key: &ThreadKey) {
        self.lock().forget_open(key);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing is left half-done under the lock.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Thread {
    fn beginning(
        &mut self,
        input: &RunAgentInput,
        tools: &ToolRegistry,
        now: OffsetDateTime,
    ) -> Beginning {
        let entries = input.resume.as_deref().unwrap_or_default();
        let Some((_, turn)) = &self.open else {
            return match entries.first() {
                None => Beginning::Fresh,
                Some(entry) => Beginning::Refused(Unresumable::Unknown(entry.interrupt_id.clone())),
            };
        };
        if entries.is_empty() {
            if turn.has_expired(now) {
                return Beginning::Fresh;
            }
            let ids = turn.questions.iter();
            let ids = ids.map(|question| question.interrupt.id.clone());
            return Beginning::Refused(Unresumable::Open(ids.collect()));
        }
        match turn.answers(entries, tools, now) {
            Err(error) => Beginning::Refused(error),
            // It is over: the conversation goes on without it.
            Ok(_) if matches!(turn.held, Held::Stopped) => Beginning::Fresh,
            Ok(answers) => match self.open.take() {
                Some((_, turn)) => Beginning::Resumed(Box::new(turn), answers),
                None => Beginning::Fresh,
            },
        }
    }
}

impl Inner {
    /// Drops the oldest turns that wait until they take no more than `most` bytes.
    fn make_room(&mut self, most: usize) {
        while self.open_bytes > most {
            let open = |(key, thread): (&ThreadKey, &Thread)| {
                let (number, _) = thread.open.as_ref()?;
                Some((*number, key.clone()))
            };
            let Some((_, oldest)) = self.threads.iter().filter_map(open).min() else {
                return;
            };
            self.forget_open(&oldest);
        }
    }

    /// Takes the thread's questions away, and says how many bytes that frees.
    fn lapsed(&mut self, key: &ThreadKey) -> usize {
        let thread = self.threads.get_mut(key);
        let turn = thread.and_then(|thread| thread.open.take());
        turn.map_or(0, |(_, turn)| turn.size())
    }

    /// Stops the tools of the turn that waits on the thread: the one that the run of this number left.
    fn stop(&mut self, key: &ThreadKey, number: Option<u64>) {
        let thread = self.threads.get_mut(key);
        if let Some((left, turn)) = thread.and_then(|thread| thread.open.as_mut())
            && number.is_none_or(|number| number == *left)
        {
            let before = turn.size();
            turn.stop();
            self.open_bytes -= before - turn.size();
        }
    }

    fn forget_open(&mut self, key: &ThreadKey) {
        self.open_bytes -= self.lapsed(key);
        if self
            .threads
            .get(key)
            .is_some_and(|thread| thread.current.is_none())
        {
            self.threads.remove(key);
        }
    }
}

impl Place {
    /// Keeps the turn until the user has answered. `false` if another run has the thread by now.
    pub(crate) fn keep(&self, mut turn: OpenTurn) -> bool {
        let mut inner = self.threads.lock();
        let Some(thread) = inner.threads.get_mut(&self.key) else {
            return false;
        };
        let current = thread.current.as_ref();
        if current.is_none_or(|current| current.number != self.number) {
            return false;
        }
        let expires = turn.expires();
        if let (Held::Running(running), Some(expires)) = (&mut turn.held, expires) {
            running.stops = Some(self.stop_at(expires));
        }
        let size = turn.size();
        let earlier = thread.open.replace((self.number, turn));
        inner.open_bytes += size;
        inner.open_bytes -= earlier.map_or(0, |(_, earlier)| earlier.size());
        inner.make_room(self.threads.most_open);
        if inner.is_closed {
            inner.stop(&self.key, Some(self.number));
        }
        true
    }

    /// Stops the tools of the turn that is kept when the time for the answers is over.
    fn stop_at(&self, expires: OffsetDateTime) -> AbortOnDropHandle<()> {
        let (threads, key, number) = (Arc::downgrade(&self.threads), self.key.clone(), self.number);
        let left = Duration::try_from(expires - OffsetDateTime::now_utc());
        let left = left.unwrap_or_default();
        AbortOnDropHandle::new(tokio::spawn(async move {
            tokio::time::sleep(left).await;
            if let Some(threads) = threads.upgrade() {
                threads.lock().stop(&key, Some(number));
            }
        }))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut inner = self.threads.lock();
        let Some(thread) = inner.threads.get_mut(&self.key) else {
            return;
        };
        if thread
            .current
            .as_ref()
            .is_some_and(|current| current.number == self.number)
        {
            thread.current = None;
        }
        if thread.current.is_none() && thread.open.is_none() {
            inner.threads.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::answers::{Asker, Question};
    use stepwell_core::event::{Interrupt, TokenUsage};

    fn threads() -> Arc<Places> {
        let threads = Places::new(10);
        Arc::new(Places {
            most_open: 10_000,
            ..threads
        })
    }

    fn admitted(threads: &Arc<Places>, thread: &str, run: &str) -> (Place, Beginning) {
        let input = RunAgentInput {
            thread_id: thread.into(),
            run_id: run.into(),
            ..RunAgentInput::default()
        };
        let permit = threads.permit(None).expect("there is room");
        let now = OffsetDateTime::UNIX_EPOCH;
        let key = ThreadKey::from(input.thread_id.clone());
        let admitted = threads.admit(key, &input, permit, &ToolRegistry::new(), now);
        admitted.expect("it is admitted")
    }

    fn open_turn(size: usize) -> OpenTurn {
        OpenTurn {
            held: Held::Suspended("x".repeat(size)),
            questions: vec![Question {
                interrupt: Interrupt {
                    id: "i".to_owned(),
                    ..Interrupt::default()
                },
                asker: Asker::Agent,
                expires: None,
            }],
            usage: TokenUsage::default(),
            told: Default::default(),
        }
    }

    #[test]
    fn only_the_run_that_has_the_thread_leaves_questions() {
        let threads = threads();
        let (first, _) = admitted(&threads, "t", "first");
        let (second, _) = admitted(&threads, "t", "second");
        assert!(first.cancel.is_cancelled() && !second.cancel.is_cancelled());
        assert!(!first.keep(open_turn(0)));
        assert!(second.keep(open_turn(0)));
        drop((first, second));
        let (third, beginning) = admitted(&threads, "t", "third");
        assert!(matches!(
            beginning,
            Beginning::Refused(Unresumable::Open(_))
        ));
        assert!(!third.keep(open_turn(0)), "it has no place to ask from");
    }

    #[test]
    fn a_thread_with_nothing_under_way_takes_no_memory() {
        let threads = threads();
        drop(admitted(&threads, "t", "r"));
        assert!(threads.lock().threads.is_empty());
    }

    #[test]
    fn the_oldest_questions_make_room() {
        let threads = threads();
        for thread in ["a", "b", "c"] {
            let (place, _) = admitted(&threads, thread, "r");
            assert!(place.keep(open_turn(3_000)));
        }
        let (_, forgotten) = admitted(&threads, "a", "next");
        assert!(matches!(forgotten, Beginning::Fresh));
        for thread in ["b", "c"] {
            let (_, kept) = admitted(&threads, thread, "next");
            assert!(matches!(kept, Beginning::Refused(_)), "{thread}");
        }
    }
}
