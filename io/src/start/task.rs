//! The task of a turn: it takes the thread over, waits for the turn before, prepares, and drives the turn to its end.

use super::begin::Begin;
use super::claim::{Arrival, Claim};
use super::prepare::{NotBegun, Preparation, Prepared};
use super::runner::Runner;
use super::when_busy::WhenBusy;
use crate::app::observer::TurnObserver;
use crate::app::setup::Setup;
use crate::app::tools::fault::Fault;
use crate::base::{Clock, lock};
use crate::device::DeviceState;
use crate::durable::{StoreNotices, StoredTurn, not_stored};
use crate::spans;
use crate::store::StoreError;
use crate::threads::KnownTranscript;
use crate::turn::caller::{self, Caller};
use crate::turn::current::CurrentTurn;
use crate::turn::driver::Driver;
use crate::turn::events::{TurnEnd, TurnEvents};
use crate::turn::finished::Finished;
use crate::turn::handle::{Command, TurnHandle};
use crate::turn::journaled::JournaledRun;
use crate::turn::owner::Owner;
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use stepwell_core::event::TokenUsage;
use stepwell_core::run::{Failure, Outcome, RunEvent};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::Instrument;

/// The most events that wait for the app.
const MAX_WAITING_EVENTS: usize = 64;

/// The most commands that wait for a turn.
const MAX_WAITING_COMMANDS: usize = 8;

impl Runner {
    /// Begins or continues a turn, in a task of its own.
    pub(crate) fn begin_if_free(&self, begin: Begin, when_busy: WhenBusy) -> TurnEvents {
        let (events, receiver) = mpsc::channel(MAX_WAITING_EVENTS);
        let (sender, commands) = mpsc::channel(MAX_WAITING_COMMANDS);
        let token = self.agent.shared.turn_token();
        let current = CurrentTurn::new(token, sender.downgrade());
        let claim = self.claim(&begin, &current, when_busy == WhenBusy::Cancel);
        if claim.is_none() && when_busy == WhenBusy::Fail {
            tracing::debug!(target: "stepwell", thread = %self.thread.key, "a turn is refused: another turn of its thread is under way");
            return TurnEvents::refused();
        }
        let endpoint = &self.config().endpoint;
        let span = spans::turn(endpoint, &self.thread.key.thread, &begin.run_id());
        let handle = TurnHandle {
            cancel: current.cancel.clone(),
            commands: sender,
            stored: Arc::default(),
            trouble: watch::Sender::default(),
            revived_from: Arc::default(),
            begun: CancellationToken::new(),
        };
        Caller::note(&current, &handle.trouble);
        let turn = NewTurn {
            runner: self.clone(),
            when_busy,
            current,
            commands,
            events,
            handle: handle.clone(),
        };
        let task = caller::spawn(turn.run(begin, claim).instrument(span));
        TurnEvents {
            events: receiver,
            handle,
            end: TurnEnd::Task(task),
        }
    }
}

/// A turn that may have to wait for its thread.
struct NewTurn {
    runner: Runner,
    when_busy: WhenBusy,
    current: CurrentTurn,
    commands: mpsc::Receiver<Command>,
    events: mpsc::Sender<RunEvent>,
    handle: TurnHandle,
}

impl NewTurn {
    /// Runs the turn to its end, once it has its thread; `None` if it was suspended.
    async fn run(self, begin: Begin, claim: Option<Claim>) -> Option<Finished> {
        let arrival = match claim {
            Some(claim) => Arrival::Claimed(claim),
            None => {
                self.runner
                    .arrive(&begin, &self.current, self.when_busy)
                    .await
            }
        };
        let claim = match arrival {
            Arrival::Claimed(claim) => claim,
            Arrival::Over(finished) => {
                self.handle.begun.cancel();
                self.current.ended.cancel();
                let end = RunEvent::Completed(finished.outcome.clone());
                let _ = self.events.send(end).await;
                return Some(*finished);
            }
        };
        let Self {
            runner,
            when_busy,
            current,
            commands,
            events,
            handle,
        } = self;
        let task = TurnTask {
            runner,
            when_busy,
            owner: claim.owner,
            current,
            earlier: claim.earlier,
            commands,
            events,
            handle,
        };
        task.run(begin).await
    }
}

/// A token that is cancelled when its gate is opened or dropped: what waits for the token continues, however the turn ends.
struct Gate(DropGuard);

impl Gate {
    fn new(token: &CancellationToken) -> Self {
        Self(token.clone().drop_guard())
    }

    fn open(self) {
        drop(self.0);
    }
}

/// A turn that has its thread, and does not run yet.
struct TurnTask {
    runner: Runner,
    when_busy: WhenBusy,
    owner: Owner,
    current: CurrentTurn,
    /// The turn before this one.
    earlier: CurrentTurn,
    commands: mpsc::Receiver<Command>,
    events: mpsc::Sender<RunEvent>,
    handle: TurnHandle,
}

impl TurnTask {
    /// Runs the turn to its end; `None` if it was suspended.
    ///
    /// The order in which the turn releases things matters. Each gate opens only once what its waiters read is in
    /// place, and the last events are sent after all else: the next turn must not wait until the app takes them.
    async fn run(self, begin: Begin) -> Option<Finished> {
        let next_turn = Gate::new(&self.current.ended);
        let begin_waiters = Gate::new(&self.handle.begun);
        // The turn can be told something for as long as it is under way, also if the app holds nothing of it.
        let _commands = self.handle.commands.clone();
        // The earlier turn was cancelled, and waits for nothing but its own last write.
        self.earlier.ended.cancelled().await;
        let (runner, current) = (self.runner.clone(), self.current.clone());
        let (driver, turn) = match self.prepare(begin).await {
            Ok((driver, turn)) => {
                begin_waiters.open();
                (driver, turn)
            }
            Err(mut unbegun) => {
                begin_waiters.open();
                unbegun.release_thread();
                next_turn.open();
                return Some(unbegun.send_end().await);
            }
        };
        let (finished, last_events) = driver.run().await?;
        *lock(&runner.thread.known) = KnownTranscript {
            transcript: finished.transcript.clone(),
            last: turn.map(|turn| turn.key.turn),
        };
        current.set_end(&finished);
        next_turn.open();
        last_events.send().await;
        Some(finished)
    }

    /// Prepares the driver of the turn, and sets what its handle knows. The driver holds no handle on its own turn: the
    /// turn's commands end with the last handle.
    async fn prepare(self, begin: Begin) -> Result<(Driver, Option<StoredTurn>), Box<Unbegun>> {
        let clock = Clock::new();
        let mut device = self.runner.agent.shared.device.subscribe();
        let (sender, mut notices) = mpsc::unbounded_channel();
        let preparation = Preparation {
            runner: &self.runner,
            notices: &StoreNotices(sender),
            cancel: &self.current.cancel,
            trouble: &self.handle.trouble,
            device: *device.borrow_and_update(),
            clock,
            when_busy: self.when_busy,
            history_took: OnceLock::new(),
        };
        let preparing = preparation.prepare(begin);
        let prepared = with_notices(preparing, &mut notices, &self.events).await;
        let history_took = preparation.history_took.get().copied();
        let Prepared {
            run,
            setup,
            known,
            writer,
            is_revived,
        } = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return Err(Box::new(Unbegun::new(self, error))),
        };
        let observer = observer(&setup, &run, history_took);
        if known == DeviceState::default() {
            // The driver tells a stored run about the device at once.
            device.mark_changed();
        }
        let turn = writer.as_ref().map(|writer| writer.turn().clone());
        if let Some(turn) = &turn {
            let _ = self.handle.stored.set(turn.clone());
        }
        if is_revived {
            let transcript = run.machine.transcript().clone();
            let _ = self.handle.revived_from.set(transcript);
        }
        let driver = Driver {
            run,
            setup,
            clock,
            owner: self.owner,
            fault: Fault::new(self.current.cancel.clone()),
            cancel: self.current.cancel,
            commands: self.commands,
            device,
            known,
            events: self.events,
            backlog: VecDeque::new(),
            observer,
            waiting: Vec::new(),
            writer,
            notices,
        };
        Ok((driver, turn))
    }
}

fn observer(
    setup: &Setup,
    run: &JournaledRun,
    history_took: Option<Duration>,
) -> Option<Box<dyn TurnObserver>> {
    let turn = run.machine.turn().cloned();
    let mut observer = setup.observer.as_ref()?(&turn.unwrap_or_default());
    if let Some(took) = history_took {
        observer.history_built(took);
    }
    Some(observer)
}

/// A turn that could not begin. Nothing of it was sent, and the conversation is as it was.
struct Unbegun {
    owner: Owner,
    events: mpsc::Sender<RunEvent>,
    finished: Finished,
}

impl Unbegun {
    fn new(task: TurnTask, error: NotBegun) -> Self {
        let busy = Outcome::Failed {
            failure: Failure::Busy,
        };
        let outcome = match &error {
            NotBegun::Store(StoreError::Busy { .. }) => busy,
            NotBegun::Store(error) => not_stored(error),
            NotBegun::App(failure) => Outcome::Failed {
                failure: failure.clone(),
            },
        };
        if let NotBegun::Store(error) = error {
            task.handle.trouble.send_replace(Some(error));
        }
        let finished = Finished {
            outcome,
            transcript: task.runner.transcript(),
            usage: TokenUsage::default(),
            hops: 0,
            model: None,
            output: None,
            shown_as: task.runner.config().text,
        };
        Self {
            owner: task.owner,
            events: task.events,
            finished,
        }
    }

    fn release_thread(&mut self) {
        self.owner.complete(&self.finished.outcome);
    }

    async fn send_end(self) -> Finished {
        let end = RunEvent::Completed(self.finished.outcome.clone());
        let _ = self.events.send(end).await;
        self.finished
    }
}

/// Does work that may wait for the store, and sends the app the notices of the waiting.
async fn with_notices<T>(
    work: impl Future<Output = T>,
    notices: &mut mpsc::UnboundedReceiver<String>,
    events: &mpsc::Sender<RunEvent>,
) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            Some(message) = notices.recv() => {
                // An app that takes no events misses the notice: the turn does not wait for the app.
                let _ = events.try_send(RunEvent::Warning { message });
            }
        }
    }
}
