//! Drives a machine until its turn is over.

use super::work::{Arrivals, Work, is_last_word, is_write};
use crate::app::device::Device;
use crate::app::observer::TurnObserver;
use crate::app::setup::Setup;
use crate::app::tools::fault::Fault;
use crate::base::Clock;
use crate::durable::Writer;
use crate::spans;
use crate::turn::alarm::Alarm;
use crate::turn::finished::Finished;
use crate::turn::handle::{Command, TurnError};
use crate::turn::journaled::Journaled;
use crate::turn::owner::Owner;
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use stepwell_core::run::{Effect, Input, Misuse, Outcome, Output, RunEvent, TextOptions, TimerKey};
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

/// What a turn needs beside its machine.
pub(crate) struct Driver {
    pub(crate) run: Journaled,
    pub(crate) setup: Arc<Setup>,
    pub(crate) clock: Clock,
    pub(crate) owner: Owner,
    pub(crate) cancel: CancellationToken,
    pub(crate) fault: Fault,
    pub(crate) commands: mpsc::Receiver<Command>,
    pub(crate) device: watch::Receiver<Device>,
    /// What the machine has heard of the device.
    pub(crate) known: Device,
    pub(crate) events: mpsc::Sender<RunEvent>,
    /// Events that the app has not had room for yet.
    pub(crate) backlog: VecDeque<RunEvent>,
    pub(crate) observer: Option<Box<dyn TurnObserver>>,
    /// Who waits for the turn to rest.
    pub(crate) waiting: Vec<oneshot::Sender<String>>,
    /// The turn's hold on its store, if it has one.
    pub(crate) writer: Option<Arc<Writer>>,
    /// What there is to say of the store.
    pub(crate) notices: mpsc::UnboundedReceiver<String>,
}

/// The events that end a turn: to be sent when all is in place for the next one.
pub(crate) struct RestOfEvents {
    rest: VecDeque<RunEvent>,
    events: mpsc::Sender<RunEvent>,
}

impl RestOfEvents {
    pub(crate) async fn send(self) {
        for event in self.rest {
            if self.events.send(event).await.is_err() {
                // The app has let go of the turn.
                return;
            }
        }
    }
}

impl Driver {
    /// Drives the turn to its end. Events that nobody takes any more are dropped; the turn goes on. The last events
    /// are given back instead of shown. Nothing is given back of a turn that was suspended.
    pub(crate) async fn run(mut self) -> Option<(Finished, RestOfEvents)> {
        let (setup, writer) = (Arc::clone(&self.setup), self.writer.clone());
        let (mut work, mut arrivals) = Work::new(setup, writer, self.fault.clone());
        let (mut deadline, mut silence) = (Alarm::new(), Alarm::new());
        let mut cancel = pin!(self.cancel.clone().cancelled_owned());
        let mut cancelled = false;
        loop {
            self.give_out(&mut work);
            if let Some(outcome) = self.run.machine.outcome() {
                let outcome = self.fault.or(outcome);
                self.store_the_end(&mut work, &mut arrivals).await;
                self.run.end();
                self.owner.complete(&outcome);
                let mut rest = std::mem::take(&mut self.backlog);
                rest.push_back(RunEvent::Completed(outcome.clone()));
                let rest = RestOfEvents {
                    rest,
                    events: self.events.clone(),
                };
                return Some((self.finished(outcome), rest));
            }
            let wake = self
                .run
                .machine
                .poll_timeout()
                .map(|at| self.clock.instant(at));
            // What has arrived is no silence, even if it is read late: the stream goes before its own timers, and none of
            // them counts while the app is slow to take what was said. All else goes before the stream.
            let is_silence = matches!(
                self.run.machine.timeout_reason(),
                Some(TimerKey::Silence | TimerKey::Closing)
            );
            let is_behind = !self.backlog.is_empty();
            let input = tokio::select! {
                biased;
                () = &mut cancel, if !cancelled => {
                    cancelled = true;
                    Input::Cancel
                }
                Some(command) = self.commands.recv() => {
                    let Command::Suspend(suspended) = command else {
                        self.obey(command, &mut work);
                        continue;
                    };
                    // A turn that has lost its thread is nobody's to go on with; one whose app gave up is not stored.
                    if self.still_counts() && !suspended.is_closed() {
                        self.suspend(suspended, &work, &mut arrivals).await;
                        return None;
                    }
                    continue;
                }
                Ok(()) = self.device.changed() => {
                    self.hear_of_device(&mut work);
                    continue;
                }
                Some(input) = arrivals.answers.recv() => input,
                Some(message) = self.notices.recv() => {
                    self.show(RunEvent::Warning { message });
                    continue;
                }
                is_open = has_room(&self.events), if is_behind => {
                    self.catch_up(is_open);
                    continue;
                }
                () = deadline.at(wake), if !is_silence => Input::Timeout,
                Some(input) = arrivals.streamed.recv(), if !is_behind => input,
                () = silence.at(wake), if is_silence && !is_behind => Input::Timeout,
                input = arrivals.notes.next(), if !is_behind => input,
            };
            // What a tool said of itself comes before its end.
            if let Input::ToolFinished { effect, .. } | Input::ToolDeferred { effect } = input {
                for note in arrivals.notes.rest_of(effect) {
                    self.feed_note(note, &mut work);
                }
            }
            if let Err(misuse) = self.feed(input, &mut work) {
                // Every input above is one that the machine asked for: this is a fault of Stepwell's own.
                tracing::error!(target: "stepwell", %misuse, "the machine refused an input");
            }
        }
    }

    /// Carries out the machine's effects and shows its events.
    fn give_out(&mut self, work: &mut Work) {
        while let Some(output) = self.run.poll_output() {
            match output {
                Output::Event(RunEvent::Completed(outcome)) => {
                    self.observe(&RunEvent::Completed(self.fault.or(&outcome)));
                }
                Output::Event(event) => {
                    self.observe(&event);
                    if let RunEvent::HopStarted { .. } = event
                        && !self.owner.go_on()
                    {
                        self.cancel.cancel();
                    }
                    self.show(event);
                }
                Output::Moved(_) => {}
                Output::Effect(id, Effect::CloseStream | Effect::CancelTool) => {
                    work.stop(id, &self.run.machine);
                }
                Output::Effect(id, effect) => {
                    // Nothing is begun for a turn that is about to be stopped, but what it said is stored.
                    if is_write(&id) || self.still_counts() {
                        work.begin(id, effect, &self.run.machine);
                    }
                }
            }
        }
        if !self.waiting.is_empty() && self.run.machine.is_resting() {
            let snapshot = self.run.machine.snapshot();
            for waiting in self.waiting.drain(..) {
                // Who asked may have gone in the meantime.
                let _ = waiting.send(snapshot.clone());
            }
        }
    }

    fn observe(&mut self, event: &RunEvent) {
        if let Some(observer) = &mut self.observer {
            observer.event(event);
        }
    }

    /// Whether the turn is to go on. One that has lost its thread stops itself.
    fn still_counts(&self) -> bool {
        if !self.cancel.is_cancelled() && !self.owner.holds() {
            self.cancel.cancel();
        }
        !self.cancel.is_cancelled()
    }

    fn feed(&mut self, input: Input<'static>, work: &mut Work) -> Result<(), Misuse> {
        let is_stored = input.effect().as_ref().is_some_and(is_write);
        if !is_stored && !matches!(input, Input::Cancel) && !self.still_counts() {
            // It changes nothing any more: the turn is cancelled instead, by the next look at its token.
            return Ok(());
        }
        let last_word = input.effect().filter(|_| is_last_word(&input));
        if last_word.is_some() {
            work.look(&self.run.machine);
        }
        let fed = self.run.handle(input, self.clock.now());
        if let Some(effect) = last_word {
            work.stop(effect, &self.run.machine);
        }
        fed
    }

    fn feed_note(&mut self, note: Input<'static>, work: &mut Work) {
        if let Err(misuse) = self.feed(note, work) {
            tracing::error!(target: "stepwell", %misuse, "the machine refused what a tool said");
        }
        self.give_out(work);
    }

    fn obey(&mut self, command: Command, work: &mut Work) {
        match command {
            Command::Feed { input, fed } => {
                let result = if self.still_counts() {
                    input(&self.run.machine).and_then(|input| Ok(self.feed(input, work)?))
                } else {
                    Err(TurnError::Over)
                };
                let _ = fed.send(result);
            }
            Command::Look(look) => look(&self.run.machine),
            Command::Rest(waiting) => {
                self.waiting.retain(|waiting| !waiting.is_closed());
                self.waiting.push(waiting);
            }
            Command::Suspend(_) => {}
        }
    }

    fn hear_of_device(&mut self, work: &mut Work) {
        let device = *self.device.borrow_and_update();
        for news in device.news(std::mem::replace(&mut self.known, device)) {
            if let Err(misuse) = self.feed(news, work) {
                tracing::error!(target: "stepwell", %misuse, "the machine refused to hear of the device");
            }
            self.give_out(work);
        }
    }

    /// Waits until the last of the turn is stored, or the machine gives up.
    async fn store_the_end(&mut self, work: &mut Work, arrivals: &mut Arrivals) {
        while work.is_persisting() {
            // The work holds a sender: there is always an answer to come.
            let input = tokio::select! {
                biased;
                Some(input) = arrivals.answers.recv() => input,
                Some(command) = self.commands.recv() => {
                    // The turn is over; but whoever lets go of it waits no longer for its end to be stored.
                    if let (Command::Suspend(_), Some(writer)) = (command, &self.writer) {
                        writer.give_up();
                    }
                    continue;
                }
            };
            while let Ok(message) = self.notices.try_recv() {
                self.show(RunEvent::Warning { message });
            }
            if let Err(misuse) = self.feed(input, work) {
                tracing::error!(target: "stepwell", %misuse, "the machine refused an input");
            }
            self.give_out(work);
        }
    }

    /// The machine is told that its host goes away.
    async fn suspend(
        mut self,
        suspended: oneshot::Sender<String>,
        work: &Work,
        arrivals: &mut Arrivals,
    ) {
        if let Err(misuse) = self.run.handle(Input::Dispose, self.clock.now()) {
            tracing::error!(target: "stepwell", %misuse, "the machine refused to be disposed of");
        }
        // What is to be stopped is stopped when it is dropped.
        while self.run.poll_output().is_some() {}
        self.run.end();
        if let Some(writer) = &self.writer {
            writer.give_up();
        }
        // Its snapshot counts a write that is under way as done.
        while work.is_persisting() {
            let answer = arrivals.answers.recv().await;
            if answer.is_none_or(|input| input.effect().as_ref().is_some_and(is_write)) {
                break;
            }
        }
        if suspended.send(self.run.machine.snapshot()).is_ok() {
            self.owner.leave();
        }
    }

    /// Shows the event, or keeps it until the app has room for it.
    fn show(&mut self, event: RunEvent) {
        if !self.backlog.is_empty() {
            return self.backlog.push_back(event);
        }
        match self.events.try_send(event) {
            Err(TrySendError::Full(event)) => self.backlog.push_back(event),
            // Nobody listens any more: the turn goes on all the same.
            Ok(()) | Err(TrySendError::Closed(_)) => {}
        }
    }

    /// Shows what the app has room for by now.
    fn catch_up(&mut self, is_open: bool) {
        if !is_open {
            return self.backlog.clear();
        }
        for event in std::mem::take(&mut self.backlog) {
            self.show(event);
        }
    }

    fn finished(self, outcome: Outcome) -> Finished {
        let usage = self.run.machine.usage();
        spans::record_end(&self.setup.config.endpoint, &outcome, &usage);
        let hops = self.run.machine.hop() + 1;
        Finished {
            outcome,
            conversation: self.run.machine.conversation().clone(),
            usage,
            hops,
            output: self.run.machine.output().cloned(),
            shown_as: self
                .run
                .machine
                .config()
                .map_or_else(TextOptions::default, |config| config.text),
        }
    }
}

/// Waits until the app has room for an event. `false` if it has let go of the turn.
async fn has_room(events: &mpsc::Sender<RunEvent>) -> bool {
    events.reserve().await.is_ok()
}
