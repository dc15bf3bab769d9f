//! The task of a turn: it takes the thread over, waits for the turn before, prepares, and drives the turn to its end.

use crate::agent::Agent;
use crate::agent::begin::Begin;
use crate::agent::prepare::{NotBegun, Preparation, Prepared};
use crate::agent::threads::Known;
use crate::agent::when_busy::WhenBusy;
use crate::app::device::Device;
use crate::app::tools::fault::Fault;
use crate::base::Clock;
use crate::base::lock;
use crate::durable::{Notices, not_stored};
use crate::spans;
use crate::store::StoreError;
use crate::turn::Turn;
use crate::turn::caller::{self, Caller};
use crate::turn::current::Current;
use crate::turn::driver::Driver;
use crate::turn::finished::Finished;
use crate::turn::handle::{Command, TurnHandle};
use crate::turn::owner::Owner;
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use stepwell_core::event::TokenUsage;
use stepwell_core::run::{Failure, Outcome, RunEvent};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

/// Events that may wait for the app.
const EVENTS: usize = 64;

/// Commands that may wait for a turn.
const COMMANDS: usize = 8;

impl Agent {
    /// Begins or continues a turn, as the agent has it where another turn of this thread is under way.
    pub(crate) fn begin(&self, begin: Begin) -> Turn {
        self.begin_if_free(begin, self.shared.when_busy)
    }

    /// Begins or continues a turn, in a task of its own.
    pub(crate) fn begin_if_free(&self, begin: Begin, when_busy: WhenBusy) -> Turn {
        let current = Current::default();
        let shared = &self.shared;
        let (owner, earlier) = {
            // The order in which turns take the thread over is the order in which they run.
            let mut place = lock(&self.thread.current);
            if place.is_under_way() && when_busy == WhenBusy::Fail {
                tracing::debug!(target: "stepwell", thread = %self.thread.key, "a turn is refused: another turn of its thread is under way");
                return Turn::refused();
            }
            let key = &self.thread.key;
            // A stored turn goes on under a new handle, if nobody has taken its thread since.
            let stored = match begin {
                Begin::Start(..) => None,
                _ if place.ended.is_cancelled() => shared.registry.current(key),
                _ => None,
            };
            let handle = stored
                .and_then(|stored| shared.registry.replace(&stored).ok())
                .unwrap_or_else(|| shared.registry.register(key.clone()).handle);
            let changed = Arc::clone(&shared.changed);
            let owner = Owner::new(shared.registry.clone(), handle, changed);
            (owner, std::mem::replace(&mut *place, current.clone()))
        };
        earlier.cancel.cancel();
        let (events, receiver) = mpsc::channel(EVENTS);
        let (commands, commanded) = mpsc::channel(COMMANDS);
        let run_id = match &begin {
            Begin::Start(start, ..) | Begin::Anew { start, .. } => start.run_id.to_string(),
            Begin::Revived { run, .. } | Begin::Claimed { run, .. } => run
                .machine
                .run_id()
                .map(ToString::to_string)
                .unwrap_or_default(),
        };
        let endpoint = &shared.setup.config.endpoint;
        let span = spans::turn(endpoint, &self.thread.key.thread, &run_id);
        let handle = TurnHandle {
            cancel: current.cancel.clone(),
            commands,
            stored: Arc::default(),
            trouble: watch::Sender::default(),
            revived_from: Arc::default(),
            begun: CancellationToken::new(),
        };
        Caller::note(&current, &handle.trouble);
        let work = self.clone().run_turn(
            (begin, when_busy),
            owner,
            (current, earlier),
            commanded,
            events,
            handle.clone(),
        );
        let task = caller::spawn(work.instrument(span));
        Turn {
            events: receiver,
            handle,
            task: Some(task),
        }
    }

    async fn run_turn(
        self,
        (begin, when_busy): (Begin, WhenBusy),
        mut owner: Owner,
        (current, earlier): (Current, Current),
        commands: mpsc::Receiver<Command>,
        events: mpsc::Sender<RunEvent>,
        handle: TurnHandle,
    ) -> Option<Finished> {
        // However this ends, the next turn must not wait for it, and nobody for its beginning.
        let ended = current.ended.drop_guard();
        let begun = handle.begun.clone().drop_guard();
        // Not long: it was cancelled, and waits for nothing itself but its last write.
        earlier.ended.cancelled().await;
        let clock = Clock::new();
        let mut device = self.shared.device.subscribe();
        let (sender, mut notices) = mpsc::unbounded_channel();
        let preparation = Preparation {
            agent: &self,
            notices: &Notices(sender),
            cancel: &current.cancel,
            trouble: &handle.trouble,
            device: *device.borrow_and_update(),
            clock,
            when_busy,
            history_took: OnceLock::new(),
        };
        let prepared = shown_meanwhile(preparation.prepare(begin), &mut notices, &events).await;
        let Prepared {
            run,
            setup,
            known,
            writer,
            is_revived,
        } = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                let finished = self.not_begun(&error);
                if let NotBegun::Store(error) = error {
                    handle.trouble.send_replace(Some(error));
                }
                drop(begun);
                owner.complete(&finished.outcome);
                drop(ended);
                let _ = events
                    .send(RunEvent::Completed(finished.outcome.clone()))
                    .await;
                return Some(finished);
            }
        };
        let mut observer = setup.observer.as_ref().map(|make| {
            let turn = run.machine.turn().cloned();
            make(&turn.unwrap_or_default())
        });
        if let (Some(observer), Some(took)) = (&mut observer, preparation.history_took.get()) {
            observer.history_built(*took);
        }
        if known == Device::default() {
            // A stored run hears of the device at the first look.
            device.mark_changed();
        }
        let turn = writer.as_ref().map(|writer| writer.turn().clone());
        if let Some(turn) = &turn {
            let _ = handle.stored.set(turn.clone());
        }
        if is_revived {
            let _ = handle.revived_from.set(run.machine.conversation().clone());
        }
        drop(begun);
        // A turn under way holds no handle on itself: its commands end with the last one.
        drop(handle);
        let driver = Driver {
            run,
            setup,
            clock,
            owner,
            fault: Fault::new(current.cancel.clone()),
            cancel: current.cancel,
            commands,
            device,
            known,
            events,
            backlog: VecDeque::new(),
            observer,
            waiting: Vec::new(),
            writer,
            notices,
        };
        let (finished, rest) = driver.run().await?;
        // The conversation stands before the app hears that the turn is over, and the next turn waits for no app.
        *lock(&self.thread.conversation) = Known {
            conversation: finished.conversation.clone(),
            last: turn.map(|turn| turn.key.turn),
        };
        drop(ended);
        rest.send().await;
        Some(finished)
    }

    /// A turn that could not begin: nothing went out, and the conversation is as it was.
    fn not_begun(&self, error: &NotBegun) -> Finished {
        Finished {
            outcome: match error {
                NotBegun::Store(StoreError::Busy { .. }) => Outcome::Failed {
                    failure: Failure::Busy,
                },
                NotBegun::Store(error) => not_stored(error),
                NotBegun::App(failure) => Outcome::Failed {
                    failure: failure.clone(),
                },
            },
            conversation: self.conversation(),
            usage: TokenUsage::default(),
            hops: 0,
            output: None,
            shown_as: self.shared.setup.config.text,
        }
    }
}

/// Shows what there is to say while the store is waited for.
async fn shown_meanwhile<T>(
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
                // An app that takes nothing misses it: the turn does not wait for it.
                let _ = events.try_send(RunEvent::Warning { message });
            }
        }
    }
}
