//! Drives a turn to its end, or until it is released. A turn of a thread is reported as one run, however often it waits for
//! its user; one that a client has posted as a run is reported in runs, each of which ends where the turn waits for the user or
//! the client.

mod ask;
mod next;
mod report;

use super::agent::TurnAgent;
use super::announce::QuestionIds;
use super::asking::Asking;
use super::brought::Given;
use super::call_labels::CallLabels;
use super::ending::Ending;
use super::event_writer::EventWriter;
use super::in_runs::NextRun;
use super::questions::Questions;
use super::reading::Reading;
use super::rounds::Rounds;
use super::run_clock::RunClock;
use super::shared_state::SharedState;
use super::stop::Stop;
use super::store_trouble::StoreTrouble;
use super::stored::Stored;
use super::told_progress::ToldProgress;
use crate::engine::{Command, Continued, DriverSetup, RunObserver, Told};
use next::{Guards, Next};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use stepwell_core::ToolCallId;
use stepwell_core::event::{Interrupt, TokenUsage};
use stepwell_core::run::EffectId;
use stepwell_io::store::TurnKey;
use stepwell_io::{Endpoint, RunId, Turn, TurnHandle};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// A turn, and what it is driven with.
pub(crate) struct Drive<'a> {
    pub(crate) setup: &'a DriverSetup,
    pub(crate) key: &'a TurnKey,
    pub(crate) agent: &'a TurnAgent,
    /// Who answers.
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) turn: Turn,
    pub(crate) writer: &'a mut EventWriter,
    pub(crate) rounds: Rounds,
    pub(crate) labels: CallLabels,
    pub(crate) questions: Questions,
    pub(crate) asked: mpsc::UnboundedReceiver<Asking>,
    pub(crate) cancel: CancellationToken,
    /// No more runs are taken here.
    pub(crate) closing: CancellationToken,
    /// The turn is let go of: to go on another time, if it is stored.
    pub(crate) leave: CancellationToken,
    /// What keeps the turn from being stored: told to whoever follows it on this host.
    pub(crate) trouble: watch::Sender<Option<StoreTrouble>>,
    /// Who watches it follows its log in the store.
    pub(crate) stored: Stored,
    /// The questions that the log has open, of an owner before.
    pub(crate) open: BTreeMap<String, Interrupt>,
    /// What the turn is told.
    pub(crate) commands: mpsc::Receiver<(Command, Told)>,
    /// Whether the turn waits for the user.
    pub(crate) asks: watch::Sender<bool>,
    /// Set while it waits for the user or the client.
    pub(crate) is_waiting: Arc<AtomicBool>,
    /// It has rested for as long as it may: what it waits for comes no more.
    pub(crate) has_lapsed: bool,
    /// Answers to questions that the log has open, and that the revived turn has not asked again yet.
    pub(crate) early: Vec<(Command, Told)>,
    pub(crate) progress: ToldProgress,
    /// The ids of its questions.
    pub(crate) ids: &'a QuestionIds,
    /// The run under way; none while the turn waits for the next one.
    pub(crate) run: Option<CurrentRun>,
    /// Whether a run ends when the turn waits for somebody.
    pub(crate) is_told_in_runs: bool,
    /// The state that it shares with its client.
    pub(crate) state: Option<SharedState>,
    /// The owner in whose name the turn is stored while it rests, if it is let go of then.
    pub(crate) resting: Option<&'static str>,
    /// Whether a call has moved on, or something was asked, since it was last looked whether the turn waits.
    pub(crate) has_moved: bool,
    pub(crate) reading: Reading,
    /// The run that it is to go on in, while what that answers is to be asked again.
    pub(crate) next: Option<NextRun>,
    /// Questions that the log has open, and that the turn asks no more.
    pub(crate) void: BTreeSet<String>,
    /// What was asked no more between two runs.
    pub(crate) postponed: Vec<EffectId>,
}

/// A run that a turn is told in.
pub(crate) struct CurrentRun {
    pub(crate) id: RunId,
    /// What the turn had cost before, which earlier runs have reported.
    pub(crate) before: TokenUsage,
    /// Hears how it ends.
    pub(crate) observer: Option<Box<dyn RunObserver>>,
}

/// A run that is over, and what the turn has cost by then.
pub(crate) struct EndedRun {
    pub(crate) id: RunId,
    pub(crate) before: TokenUsage,
    pub(crate) used: TokenUsage,
    pub(crate) observer: Option<Box<dyn RunObserver>>,
}

/// How driving a turn ends.
// Once a turn.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Over {
    /// It has come to its end.
    Ended(Ending, EndedRun),
    /// It goes on another time, or on another host.
    Left,
    /// It goes on when its user moves it on. Until then it is stored under this name.
    Rests(&'static str),
}

/// What a resting turn waits for.
#[derive(Debug)]
pub(crate) enum Rest {
    User,
    Client(Vec<ToolCallId>),
}

/// A turn that waits for its model reserves no room for rare events: the futures of their handlers are boxed.
impl Drive<'_> {
    /// Drives the turn: waits for what happens next, and handles it.
    pub(crate) async fn run(
        mut self,
        given: Given,
        continued: Option<(Box<Continued>, Told)>,
    ) -> Over {
        let handle = self.turn.handle();
        let mut guards = Guards::new(&self, &handle);
        Box::pin(self.give_rest(given, &handle)).await;
        if let Some((continued, told)) = continued {
            Box::pin(self.go_on(*continued, told, &handle)).await;
        }
        loop {
            match self.next_step(&mut guards, &handle).await {
                Next::Released => return Box::pin(self.release(Over::Left)).await,
                Next::ReadersChanged => {}
                Next::MayRest => {
                    if let Some(owner) = Box::pin(self.rest_now(&handle)).await {
                        return Box::pin(self.release(Over::Rests(owner))).await;
                    }
                }
                Next::Stopped(why) => {
                    guards.stop = Some(why);
                    Box::pin(self.stop(&handle)).await;
                }
                Next::StoreTrouble(trouble) => self.report_trouble(trouble).await,
                Next::Command(command, told) => {
                    if !self.is_in_run(guards.stop) {
                        guards.clock = RunClock::new(self.setup.run_time);
                    }
                    Box::pin(self.take_command(command, told, guards.stop, &handle)).await;
                }
                Next::QuestionLapsed => Box::pin(self.lapse_questions(&handle)).await,
                Next::ProgressDue => self.report_progress().await,
                Next::Asked(asking) => {
                    Box::pin(self.ask(asking)).await;
                    self.obey_early(&handle).await;
                }
                Next::Event(Some(event)) => self.report_events(event, &handle).await,
                Next::Event(None) => return Box::pin(self.finish(guards.stop)).await,
            }
        }
    }

    /// Whether what the turn emits belongs to a run now. A turn that is stopped between two runs reports its end.
    fn is_in_run(&self, stop: Option<Stop>) -> bool {
        self.run.is_some() || !self.is_told_in_runs || stop.is_some()
    }

    /// Whether the turn waits for the user, or for a tool of the client's.
    fn awaits_answer(&self) -> bool {
        !self.questions.is_empty() || self.rounds.awaits_client()
    }

    /// Ends the run if only the user or the client can move the turn on. Returns the owner in whose name the turn is then
    /// stored, if this host releases it.
    async fn rest_now(&mut self, handle: &TurnHandle) -> Option<&'static str> {
        self.has_moved = false;
        let rest = self.rest(handle).await?;
        if std::mem::take(&mut self.has_lapsed) {
            self.lapse(handle).await;
            return None;
        }
        self.end_run(&rest, handle).await;
        self.resting.filter(|_| !self.questions.has_tools())
    }

    /// Cancels the turn, whose end is reported in a run.
    async fn stop(&mut self, handle: &TurnHandle) {
        if self.run.is_none() {
            let id = format!("{}-end", self.key.turn);
            self.begin_run(id.into(), None, Vec::new(), handle).await;
        }
        self.turn.cancel();
    }

    /// Reports what keeps the turn from being stored, once for each time that the store is away.
    async fn report_trouble(&mut self, trouble: Option<StoreTrouble>) {
        let before = self.trouble.send_replace(trouble);
        if let (None, Some(trouble)) = (before, trouble)
            && self.run.is_some()
        {
            self.writer.append(trouble.warning()).await;
        }
    }

    /// Handles a command, in a run of its own if the turn is between two runs.
    async fn take_command(
        &mut self,
        command: Command,
        told: Told,
        stop: Option<Stop>,
        handle: &TurnHandle,
    ) {
        if !self.is_in_run(stop) && !matches!(command, Command::Continue(_)) {
            self.begin_unposted(handle).await;
        }
        self.obey(command, told, handle).await;
    }

    /// Says whether the turn waits for the user.
    pub(crate) fn note_asks(&self) {
        let now = !self.questions.is_empty();
        self.is_waiting
            .store(self.awaits_answer(), Ordering::Relaxed);
        self.asks
            .send_if_modified(|asks| std::mem::replace(asks, now) != now);
    }

    /// Answers that came before what they are to was asked again, or was not.
    async fn obey_early(&mut self, handle: &TurnHandle) {
        for (command, told) in std::mem::take(&mut self.early) {
            Box::pin(self.obey(command, told, handle)).await;
        }
        Box::pin(self.begin_next(handle)).await;
    }

    /// Releases the turn: the next owner continues from the checkpoint of the last write.
    async fn release(self, over: Over) -> Over {
        let _ = self.turn.suspend().await;
        close(self.commands).await;
        over
    }

    /// Takes the outcome of a turn that has come to its end.
    async fn finish(mut self, stop: Option<Stop>) -> Over {
        self.tell_state().await;
        let finished = self.turn.finish().await;
        close(self.commands).await;
        let ending = Ending::of(&finished.outcome, stop, Some(self.endpoint));
        let run = self.run.unwrap_or_else(|| CurrentRun {
            id: self.key.turn.clone(),
            before: TokenUsage::default(),
            observer: None,
        });
        let run = EndedRun {
            id: run.id,
            before: run.before,
            used: finished.usage,
            observer: run.observer,
        };
        Over::Ended(ending, run)
    }
}

/// Lets go of the commands that came too late. One that was being sent would stay in a channel that is only dropped, and
/// whoever sent it would wait.
async fn close(mut commands: mpsc::Receiver<(Command, Told)>) {
    commands.close();
    while commands.recv().await.is_some() {}
}
