//! Drives a machine until its turn is over.

use super::alarm::Alarm;
use super::effects::{EffectInputs, Effects, is_last_input, is_write};
use super::finished::Finished;
use super::handle::{Command, TurnError};
use super::journaled::JournaledRun;
use super::owner::Owner;
use crate::app::observer::TurnObserver;
use crate::app::setup::Setup;
use crate::app::tools::fault::Fault;
use crate::base::Clock;
use crate::device::DeviceState;
use crate::durable::Writer;
use crate::spans;
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use stepwell_core::run::{
    Effect, EffectId, Input, Misuse, ModelName, Outcome, Output, RunEvent, TextOptions, TimerKey,
};
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

/// A turn's machine, and all that moves it on.
pub(crate) struct Driver {
    pub(crate) run: JournaledRun,
    pub(crate) setup: Arc<Setup>,
    pub(crate) clock: Clock,
    pub(crate) owner: Owner,
    pub(crate) cancel: CancellationToken,
    pub(crate) fault: Fault,
    pub(crate) commands: mpsc::Receiver<Command>,
    pub(crate) device: watch::Receiver<DeviceState>,
    /// The device as the machine knows it.
    pub(crate) known: DeviceState,
    pub(crate) events: mpsc::Sender<RunEvent>,
    /// Events that the app has not had room for yet.
    pub(crate) backlog: VecDeque<RunEvent>,
    pub(crate) observer: Option<Box<dyn TurnObserver>>,
    /// The callers that wait until the turn rests.
    pub(crate) waiting: Vec<oneshot::Sender<String>>,
    /// The right to write the turn to its store, if the agent has one.
    pub(crate) writer: Option<Arc<Writer>>,
    /// Notices about the store.
    pub(crate) notices: mpsc::UnboundedReceiver<String>,
}

/// The events that end a turn, to be sent once the next turn may begin.
pub(crate) struct LastEvents {
    waiting: VecDeque<RunEvent>,
    events: mpsc::Sender<RunEvent>,
}

impl LastEvents {
    pub(crate) async fn send(self) {
        for event in self.waiting {
            if self.events.send(event).await.is_err() {
                // The app has dropped the turn.
                return;
            }
        }
    }
}

/// The machine's timers. A timer of the stream has its own alarm, since its time moves with each chunk.
struct Alarms {
    deadline: Alarm,
    silence: Alarm,
}

/// The next event in a turn.
enum Next {
    /// The machine gets an input.
    Input(Input<'static>),
    Command(Command),
    DeviceChanged,
    Notice(String),
    /// The app has room for an event, or has dropped the turn.
    AppHasRoom {
        is_open: bool,
    },
}

impl Driver {
    /// Drives the turn to its end; `None` if it was suspended. The turn continues also if the app takes no events. The last
    /// events are returned instead of sent.
    pub(crate) async fn run(mut self) -> Option<(Finished, LastEvents)> {
        let (setup, writer) = (Arc::clone(&self.setup), self.writer.clone());
        let (mut effects, mut inputs) = Effects::new(setup, writer, self.fault.clone());
        let mut alarms = Alarms {
            deadline: Alarm::new(),
            silence: Alarm::new(),
        };
        let mut cancelled = pin!(self.cancel.clone().cancelled_owned());
        let mut is_cancelled = false;
        loop {
            self.drain_outputs(&mut effects);
            if let Some(outcome) = self.run.machine.outcome() {
                let outcome = self.fault.or(outcome);
                return Some(self.complete(outcome, effects, inputs).await);
            }
            let next = tokio::select! {
                biased;
                () = &mut cancelled, if !is_cancelled => {
                    is_cancelled = true;
                    Next::Input(Input::Cancel)
                }
                next = self.next(&mut inputs, &mut alarms) => next,
            };
            match next {
                Next::Input(input) => self.handle_input(input, &inputs, &mut effects),
                Next::Command(Command::Suspend(suspended)) => {
                    // A turn that has lost its thread cannot be continued; one whose caller gave up is not stored.
                    if self.check_ownership() && !suspended.is_closed() {
                        self.suspend(suspended, &effects, &mut inputs).await;
                        return None;
                    }
                }
                Next::Command(command) => self.handle_command(command, &mut effects),
                Next::DeviceChanged => self.update_device(&mut effects),
                Next::Notice(message) => self.send(RunEvent::Warning { message }),
                Next::AppHasRoom { is_open } => self.send_backlog(is_open),
            }
        }
    }

    /// Waits for what happens next. The stream goes before its own timers, since a chunk that is read late is no silence,
    /// and all else goes before the stream. While the app is slow to take events, neither the stream nor its timers count.
    async fn next(&mut self, inputs: &mut EffectInputs, alarms: &mut Alarms) -> Next {
        let machine = &self.run.machine;
        let wake = machine.poll_timeout().map(|at| self.clock.instant(at));
        let is_silence = matches!(
            machine.timeout_reason(),
            Some(TimerKey::Silence | TimerKey::Closing)
        );
        let is_behind = !self.backlog.is_empty();
        tokio::select! {
            biased;
            Some(command) = self.commands.recv() => Next::Command(command),
            Ok(()) = self.device.changed() => Next::DeviceChanged,
            Some(input) = inputs.answers.recv() => Next::Input(input),
            Some(message) = self.notices.recv() => Next::Notice(message),
            is_open = has_room(&self.events), if is_behind => Next::AppHasRoom { is_open },
            () = alarms.deadline.at(wake), if !is_silence => Next::Input(Input::Timeout),
            Some(input) = inputs.streamed.recv(), if !is_behind => Next::Input(input),
            () = alarms.silence.at(wake), if is_silence && !is_behind => Next::Input(Input::Timeout),
            input = inputs.notes.next(), if !is_behind => Next::Input(input),
        }
    }

    /// Ends a turn whose machine has come to its end.
    async fn complete(
        mut self,
        outcome: Outcome,
        mut effects: Effects,
        mut inputs: EffectInputs,
    ) -> (Finished, LastEvents) {
        self.store_end(&mut effects, &mut inputs).await;
        self.run.end();
        self.owner.complete(&outcome);
        let mut waiting = std::mem::take(&mut self.backlog);
        waiting.push_back(RunEvent::Completed(outcome.clone()));
        let last_events = LastEvents {
            waiting,
            events: self.events.clone(),
        };
        (self.finished(outcome), last_events)
    }

    /// Carries out the machine's effects and sends its events.
    fn drain_outputs(&mut self, effects: &mut Effects) {
        while let Some(output) = self.run.poll_output() {
            match output {
                Output::Event(RunEvent::Completed(outcome)) => {
                    let event = RunEvent::Completed(self.fault.or(&outcome));
                    self.note_health(&event);
                    self.observe(&event);
                }
                Output::Event(event) => {
                    self.note_health(&event);
                    self.observe(&event);
                    if let RunEvent::HopStarted { .. } = event
                        && !self.owner.begin_hop()
                    {
                        self.cancel.cancel();
                    }
                    self.send(event);
                }
                Output::Moved(_) => {}
                Output::Effect(id, Effect::CloseStream | Effect::CancelTool) => {
                    effects.stop(id, &self.run.machine);
                }
                Output::Effect(id, effect) => {
                    if self.carries_out(&id, &effect) {
                        effects.begin(id, effect, &self.run.machine);
                    }
                }
            }
        }
        if !self.waiting.is_empty() && self.run.machine.is_resting() {
            let snapshot = self.run.machine.snapshot();
            for waiting in self.waiting.drain(..) {
                // The caller may wait no more.
                let _ = waiting.send(snapshot.clone());
            }
        }
    }

    fn note_health(&self, event: &RunEvent) {
        if let Some(asked) = self.run.machine.config() {
            self.setup
                .health
                .note(event, &self.setup.config, &asked.endpoint);
        }
    }

    fn observe(&mut self, event: &RunEvent) {
        if let Some(observer) = &mut self.observer {
            observer.event(event);
        }
    }

    /// Cancels the turn if another turn has taken its thread over. Returns whether the turn continues.
    fn check_ownership(&self) -> bool {
        if !self.cancel.is_cancelled() && !self.owner.check() {
            self.cancel.cancel();
        }
        !self.cancel.is_cancelled()
    }

    /// Returns whether an effect is carried out. A turn that is about to stop begins nothing, but its blocks are stored, and
    /// the answer that it leaves is cancelled, unless another host continues the turn and the answer.
    fn carries_out(&self, id: &EffectId, effect: &Effect) -> bool {
        if matches!(effect, Effect::CancelAnswer { .. }) {
            let writer = self.writer.as_deref();
            return writer.is_none_or(|writer| !writer.is_lost());
        }
        is_write(id) || self.check_ownership()
    }

    fn handle_input(
        &mut self,
        input: Input<'static>,
        inputs: &EffectInputs,
        effects: &mut Effects,
    ) {
        // A tool's last notes come before its end.
        if let Input::ToolFinished { effect, .. } | Input::ToolDeferred { effect } = input {
            for note in inputs.notes.take_all(effect) {
                self.feed_checked(note, effects);
                self.drain_outputs(effects);
            }
        }
        self.feed_checked(input, effects);
    }

    /// Feeds an input that the machine has asked for: if the machine refuses it, that is a fault of Stepwell's.
    fn feed_checked(&mut self, input: Input<'static>, effects: &mut Effects) {
        let name = input.name();
        if let Err(misuse) = self.feed(input, effects) {
            tracing::error!(target: "stepwell", %misuse, input = name, "the machine refused an input");
        }
    }

    fn feed(&mut self, input: Input<'static>, effects: &mut Effects) -> Result<(), Misuse> {
        let is_stored = input.effect().as_ref().is_some_and(is_write);
        if !is_stored && !matches!(input, Input::Cancel) && !self.check_ownership() {
            // The input changes nothing any more: the next input cancels the turn.
            return Ok(());
        }
        let finished = input.effect().filter(|_| is_last_input(&input));
        if finished.is_some() {
            effects.record_answer(&self.run.machine);
        }
        let fed = self.run.handle(input, self.clock.now());
        if let Some(effect) = finished {
            effects.stop(effect, &self.run.machine);
        }
        fed
    }

    fn handle_command(&mut self, command: Command, effects: &mut Effects) {
        match command {
            Command::Feed { input, fed } => {
                let result = if self.check_ownership() {
                    input(&self.run.machine).and_then(|input| Ok(self.feed(input, effects)?))
                } else {
                    Err(TurnError::Over)
                };
                let _ = fed.send(result);
            }
            Command::Read(read) => read(&self.run.machine),
            Command::Rest(waiting) => {
                self.waiting.retain(|waiting| !waiting.is_closed());
                self.waiting.push(waiting);
            }
            Command::Suspend(_) => {}
        }
    }

    fn update_device(&mut self, effects: &mut Effects) {
        let device = *self.device.borrow_and_update();
        for input in device.inputs_since(std::mem::replace(&mut self.known, device)) {
            self.feed_checked(input, effects);
            self.drain_outputs(effects);
        }
    }

    /// Waits until the last blocks of the turn are stored, or the machine gives up.
    async fn store_end(&mut self, effects: &mut Effects, inputs: &mut EffectInputs) {
        while effects.is_persisting() {
            // The effects hold a sender: there is always an answer to come.
            let input = tokio::select! {
                biased;
                Some(input) = inputs.answers.recv() => input,
                Some(command) = self.commands.recv() => {
                    // The turn is over. A caller that suspends it does not wait until its end is stored.
                    if let (Command::Suspend(_), Some(writer)) = (command, &self.writer) {
                        writer.give_up();
                    }
                    continue;
                }
            };
            while let Ok(message) = self.notices.try_recv() {
                self.send(RunEvent::Warning { message });
            }
            self.feed_checked(input, effects);
            self.drain_outputs(effects);
        }
    }

    /// Tells the machine that its host goes away, and answers with the snapshot.
    async fn suspend(
        mut self,
        suspended: oneshot::Sender<String>,
        effects: &Effects,
        inputs: &mut EffectInputs,
    ) {
        if let Err(misuse) = self.run.handle(Input::Dispose, self.clock.now()) {
            tracing::error!(target: "stepwell", %misuse, "the machine refused to be disposed of");
        }
        // The effects that these outputs stop are stopped when they are dropped.
        while self.run.poll_output().is_some() {}
        self.run.end();
        if let Some(writer) = &self.writer {
            writer.give_up();
        }
        // The snapshot counts a write that is under way as done.
        while effects.is_persisting() {
            let answer = inputs.answers.recv().await;
            if answer.is_none_or(|input| input.effect().as_ref().is_some_and(is_write)) {
                break;
            }
        }
        if suspended.send(self.run.machine.snapshot()).is_ok() {
            self.owner.leave();
        }
    }

    /// Sends an event, or keeps it until the app has room for it.
    fn send(&mut self, event: RunEvent) {
        if !self.backlog.is_empty() {
            return self.backlog.push_back(event);
        }
        match self.events.try_send(event) {
            Err(TrySendError::Full(event)) => self.backlog.push_back(event),
            // The turn continues without the app.
            Ok(()) | Err(TrySendError::Closed(_)) => {}
        }
    }

    /// Sends the events that the app has room for by now.
    fn send_backlog(&mut self, is_open: bool) {
        if !is_open {
            return self.backlog.clear();
        }
        for event in std::mem::take(&mut self.backlog) {
            self.send(event);
        }
    }

    fn finished(self, outcome: Outcome) -> Finished {
        let usage = self.run.machine.usage();
        spans::record_end(&self.setup.config.endpoint, &outcome, &usage);
        let hops = self.run.machine.hop() + 1;
        let config = self.run.machine.config();
        Finished {
            outcome,
            transcript: self.run.machine.transcript().clone(),
            usage,
            hops,
            model: config.map(|config| ModelName::of(&config.endpoint)),
            output: self.run.machine.output().cloned(),
            shown_as: config.map_or_else(TextOptions::default, |config| config.text),
        }
    }
}

/// Waits until the app has room for an event. Returns `false` if the app has dropped the turn.
async fn has_room(events: &mpsc::Sender<RunEvent>) -> bool {
    events.reserve().await.is_ok()
}
