//! Drives a turn to its end, or until it is let go of. A turn of a thread is told as one run, however often it waits for
//! its user; one that a client has posted as a run is told in runs, each of which ends where the turn waits for somebody.

use super::agent::TurnAgent;
use super::announce::{QuestionIds, status_event};
use super::asking::Asking;
use super::brought::Given;
use super::call_labels::CallLabels;
use super::ending::{Ending, TOOL_PARTIAL_RESULT, custom, tool_progress};
use super::event_writer::EventWriter;
use super::in_runs::NextRun;
use super::questions::{Asked, Questions};
use super::reading::Reading;
use super::rounds::Rounds;
use super::run_clock::RunClock;
use super::shared_state::SharedState;
use super::stop::Stop;
use super::store_trouble::StoreTrouble;
use super::store_waits::StoreWaits;
use super::stored::{Fact, Stored};
use super::told_progress::ToldProgress;
use crate::engine::{Command, Continued, DriverSetup, RunObserver, Told};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use stepwell_core::ToolCallId;
use stepwell_core::event::{Event, Interrupt, Metadata, ResumeEntry, ResumeStatus, TokenUsage};
use stepwell_core::run::{EffectId, ToolCallUpdate};
use stepwell_core::tool::{ToolFailure, ToolFailureKind};
use stepwell_io::store::TurnKey;
use stepwell_io::{Endpoint, RunEvent, RunId, ToolCallStatus, Turn, TurnHandle};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// So many events are said before the turn looks at anything else.
const AT_ONCE: u32 = 32;

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

/// What happens next in a turn.
enum Next {
    Said(Option<RunEvent>),
    Asked(Asking),
    Told(Command, Told),
    Waits(Option<StoreTrouble>),
    Lapsed,
    Progressed,
    /// It may be that only the user or the client can move the turn on.
    MayRest,
    Read,
    Stopped(Stop),
    Left,
}

/// What a resting turn waits for.
#[derive(Debug)]
pub(crate) enum Rest {
    User,
    Client(Vec<ToolCallId>),
}

/// A turn that waits for its model keeps no room for what happens seldom: such futures are boxed.
impl Drive<'_> {
    pub(crate) async fn run(
        mut self,
        given: Given,
        continued: Option<(Box<Continued>, Told)>,
    ) -> Over {
        let handle = self.turn.handle();
        let mut failed = self.writer.failed();
        let mut waits = StoreWaits::new(&handle, self.writer, self.setup.store_timeout);
        let mut clock = RunClock::new(self.setup.run_time);
        let mut stop = None;
        let mut may_rest = true;
        Box::pin(self.give_rest(given, &handle)).await;
        if let Some((continued, told)) = continued {
            Box::pin(self.go_on(*continued, told, &handle)).await;
        }
        loop {
            self.note_asks();
            let goes_on = self.questions.is_empty() && !self.rounds.awaits_client();
            clock.set(goes_on);
            let is_told = self.run.is_some() || !self.is_told_in_runs || stop.is_some();
            // The client is asked when the run ends, if it is too late too.
            let is_asking = self.is_told_in_runs && self.run.is_some() && stop.is_none();
            let looks = self.looks_for_rest() && stop.is_none();
            let has_moved = looks && self.has_moved && self.questions.has_tools();
            // Asked anew each time: that it rested before something else happened says nothing.
            let mut rests = (looks && may_rest).then(|| rested(&handle));
            let next = tokio::select! {
                biased;
                () = &mut failed => Next::Left,
                () = self.leave.cancelled() => Next::Left,
                () = self.closing.cancelled(), if !is_told => match self.setup.is_durable {
                    true => Next::Left,
                    false => Next::Stopped(Stop::Cancelled),
                },
                () = self.cancel.cancelled(), if stop.is_none() => Next::Stopped(Stop::Cancelled),
                () = until(clock.deadline()), if stop.is_none() => Next::Stopped(Stop::OutOfTime),
                () = until(waits.deadline()), if stop.is_none() => Next::Stopped(Stop::StoreAway),
                () = until(self.unread_until()), if stop.is_none() => {
                    Next::Stopped(Stop::ClientLeft)
                }
                () = self.reading.changed(), if self.is_told_in_runs => Next::Read,
                trouble = waits.changed() => Next::Waits(trouble),
                Some((command, told)) = self.commands.recv() => Next::Told(command, told),
                Some(asking) = self.asked.recv() => Next::Asked(asking),
                () = until(self.questions.next_lapse()), if !is_asking => Next::Lapsed,
                () = until(self.progress.deadline()) => Next::Progressed,
                event = take(self.writer, &mut self.turn), if is_told => Next::Said(event),
                () = std::future::ready(()), if has_moved => Next::MayRest,
                () = async {
                    if let Some(rests) = &mut rests {
                        rests.await;
                    }
                }, if rests.is_some() => Next::MayRest,
            };
            may_rest = !matches!(next, Next::MayRest);
            match next {
                Next::Left => {
                    // The checkpoint of the last write is what the next owner goes on from.
                    let _ = Box::pin(self.turn.suspend()).await;
                    close(self.commands).await;
                    return Over::Left;
                }
                Next::Read => {}
                Next::MayRest => {
                    self.has_moved = false;
                    let Some(rest) = Box::pin(self.rest(&handle)).await else {
                        continue;
                    };
                    if std::mem::take(&mut self.has_lapsed) {
                        Box::pin(self.lapse(&handle)).await;
                        continue;
                    }
                    Box::pin(self.end_run(&rest, &handle)).await;
                    let resting = self.resting.filter(|_| !self.questions.has_tools());
                    if let Some(resting) = resting {
                        let _ = Box::pin(self.turn.suspend()).await;
                        close(self.commands).await;
                        return Over::Rests(resting);
                    }
                }
                Next::Stopped(why) => {
                    stop = Some(why);
                    if self.run.is_none() {
                        // Whoever follows the turn is told of its end.
                        let id = format!("{}-end", self.key.turn);
                        Box::pin(self.begin_run(id.into(), None, Vec::new(), &handle)).await;
                    }
                    self.turn.cancel();
                }
                Next::Waits(trouble) => {
                    let before = self.trouble.send_replace(trouble);
                    if let (None, Some(trouble)) = (before, trouble)
                        && self.run.is_some()
                    {
                        self.writer.append(trouble.warning()).await;
                    }
                }
                Next::Told(command, told) => {
                    if !is_told {
                        clock = RunClock::new(self.setup.run_time);
                    }
                    if !is_told && !matches!(command, Command::Continue(_)) {
                        Box::pin(self.begin_unposted(&handle)).await;
                    }
                    Box::pin(self.obey(command, told, &handle)).await;
                }
                Next::Lapsed if self.run.is_none() => self.cancel.cancel(),
                Next::Lapsed => {
                    let lapsed = self.questions.lapsed(Instant::now());
                    if let Err(error) = Box::pin(self.answer(&lapsed, &handle)).await {
                        tracing::error!(target: "stepwell", %error, "a question cannot lapse");
                        self.turn.cancel();
                    }
                }
                Next::Progressed => {
                    while let Some(progress) = self.progress.due(Instant::now()) {
                        self.writer.append(progress).await;
                    }
                }
                Next::Said(None) => break,
                Next::Asked(asking) => {
                    Box::pin(self.ask(asking)).await;
                    self.obey_early(&handle).await;
                }
                Next::Said(Some(event)) => {
                    let mut said = Some(event);
                    for _ in 0..AT_ONCE {
                        let Some(event) = said.take() else { break };
                        self.say(event, &handle).await;
                        if !self.writer.has_room() {
                            break;
                        }
                        said = self.turn.next().now_or_never().flatten();
                    }
                    if let Some(event) = said {
                        self.say(event, &handle).await;
                    }
                }
            }
        }
        self.tell_state().await;
        let finished = Box::pin(self.turn.finish()).await;
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

    /// Whether it matters that the turn rests.
    fn looks_for_rest(&self) -> bool {
        let waits = !self.questions.is_empty() || self.rounds.awaits_client();
        waits && (self.is_told_in_runs || self.resting.is_some())
    }

    /// When the turn will have been left alone for long enough.
    fn unread_until(&self) -> Option<Instant> {
        let waits = !self.questions.is_empty() || self.rounds.awaits_client();
        match (self.is_told_in_runs, &self.run) {
            (true, Some(_)) => self.reading.deadline(),
            (true, None) if !waits => self.reading.gives_up(),
            _ => None,
        }
    }

    /// Nothing that the turn waits for comes any more.
    async fn lapse(&mut self, handle: &TurnHandle) {
        if self.is_told_in_runs {
            // Nobody is there to hear how it goes on.
            return self.cancel.cancel();
        }
        let asked = self.questions.to_vec().into_iter();
        let declined: Vec<_> = asked
            .map(|question| ResumeEntry {
                interrupt_id: question.interrupt.id,
                status: ResumeStatus::Cancelled,
                payload: None,
                metadata: None,
                extra: Metadata::new(),
            })
            .collect();
        if let Err(error) = self.answer(&declined, handle).await {
            tracing::error!(target: "stepwell", %error, "a question cannot lapse");
            self.turn.cancel();
        }
        let Ok(conversation) = handle.conversation().await else {
            return;
        };
        let calls = conversation.calls().iter();
        for call in calls.filter(|call| call.status == ToolCallStatus::Deferred) {
            let late = ToolFailure {
                kind: ToolFailureKind::TimedOut,
                message: "no result came in time".to_owned(),
            };
            // It may have come just now.
            let _ = handle.finish_call(call.id.clone(), Err(late)).await;
        }
    }

    /// Says whether the turn waits for the user.
    pub(crate) fn note_asks(&self) {
        let now = !self.questions.is_empty();
        let is_waiting = now || self.rounds.awaits_client();
        self.is_waiting.store(is_waiting, Ordering::Relaxed);
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

    async fn say(&mut self, event: RunEvent, handle: &TurnHandle) {
        match event {
            RunEvent::AgUi(event) => {
                if let Event::ToolCallResult(result) = &event {
                    self.rounds.is_known(&result.tool_call_id);
                }
                if let Some(state) = &self.state {
                    state.follow(&event);
                }
                self.labels.note(&event);
                self.writer.append(event).await;
            }
            RunEvent::ToolCallUpdate(update) => {
                let is_over = update.status.is_final();
                Box::pin(self.tell_call(update)).await;
                if is_over {
                    self.obey_early(handle).await;
                }
            }
            RunEvent::Interrupted { interrupts } => {
                for interrupt in interrupts {
                    Box::pin(self.ask_for_agent(interrupt)).await;
                }
            }
            RunEvent::ToolProgress(progress) => {
                let (call, event) = (progress.tool_call_id.clone(), tool_progress(&progress));
                self.tell_progress(call, event).await;
            }
            RunEvent::ToolPartialResult(partial) => {
                let value = json!({
                    "toolCallId": partial.tool_call_id,
                    "toolName": partial.name,
                    "content": partial.output.content,
                });
                let event = custom(TOOL_PARTIAL_RESULT, value);
                self.tell_progress(partial.tool_call_id, event).await;
            }
            RunEvent::Retrying {
                attempt, delay_ms, ..
            } => {
                let value = json!({ "attempt": attempt, "delayMs": delay_ms });
                self.writer.append(custom("retrying", value)).await;
            }
            _ => {}
        }
    }

    /// Tells how far a call is, unless it has just said so.
    async fn tell_progress(&mut self, call: ToolCallId, event: Event) {
        if let Some(event) = self.progress.say(call, event, Instant::now()) {
            self.writer.append(event).await;
        }
    }

    async fn tell_call(&mut self, update: ToolCallUpdate) {
        let (key, call) = (update.call, update.tool_call_id.clone());
        self.has_moved = true;
        if update.status.is_final() {
            self.progress.end(&call);
            // They have lapsed, or the user has stopped the call.
            for id in self.withdraw_questions(&call) {
                self.tell_answered(&id, ResumeStatus::Cancelled, None).await;
            }
        }
        let label = self.labels.label(&update, self.agent.tools());
        let event = status_event(&update, &label);
        let has_result = update.result.is_some();
        let result = self.rounds.update(update);
        if !has_result {
            return self.writer.append(event).await;
        }
        let fact = Fact::Result(call);
        self.writer.append_fact(event, fact.clone()).await;
        if let Some(result) = result {
            let changes = self.state.as_ref().map(|state| state.untold_before(key));
            for change in changes.into_iter().flatten() {
                self.writer.append_fact(change, fact.clone()).await;
            }
            self.writer.append_fact(result, fact).await;
        }
    }

    /// A tool asks, or asks no more.
    async fn ask(&mut self, asking: Asking) {
        self.has_moved = true;
        // The ids are the same after a restart.
        let id = match &asking {
            Asking::Call(invocation, _) => self.ids.of_call(&invocation.tool_call_id),
            Asking::Tool(asks, _) => self.ids.of_tool(&asks.invocation.tool_call_id, asks.number),
            Asking::Withdrawn(effect) if self.run.is_none() => {
                return self.postponed.push(*effect);
            }
            Asking::Withdrawn(effect) => return self.withdraw(*effect).await,
        };
        let told = match self.open.remove(&id) {
            // The tool went another way than before the restart.
            Some(told) if !is_same(&told, &asking) => {
                self.tell_answered(&id, ResumeStatus::Cancelled, None).await;
                None
            }
            told => told,
        };
        let expires = match &told {
            Some(told) => {
                let expires = told.expires_at.as_deref();
                expires.and_then(|at| OffsetDateTime::parse(at, &Rfc3339).ok())
            }
            None => self.setup.expires(),
        };
        let asked = Asked { id, expires };
        let interrupt = match asking {
            Asking::Call(invocation, answer) => {
                let tools = self.agent.tools();
                self.questions.ask(*invocation, answer, tools, asked)
            }
            Asking::Tool(asks, answer) => self.questions.ask_for_tool(*asks, answer, asked),
            Asking::Withdrawn(_) => return,
        };
        // Whoever hears of the question finds room for another turn.
        self.note_asks();
        if told.is_none() {
            self.tell_question(&interrupt).await;
        }
    }

    /// Nobody waits for the answer any more.
    pub(crate) async fn withdraw(&mut self, effect: EffectId) {
        if let Some(id) = self.questions.withdraw(effect) {
            self.tell_answered(&id, ResumeStatus::Cancelled, None).await;
        }
    }

    /// The agent behind the server asks.
    async fn ask_for_agent(&mut self, interrupt: Interrupt) {
        self.tell_question(&interrupt).await;
        self.questions
            .ask_for_agent(interrupt, self.setup.expires());
    }

    async fn tell_question(&mut self, interrupt: &Interrupt) {
        let event = custom("interrupt", json!(interrupt));
        self.writer.append(event).await;
    }

    pub(crate) async fn tell_answered(
        &mut self,
        id: &str,
        status: ResumeStatus,
        fact: Option<Fact>,
    ) {
        let value = json!({ "interruptId": id, "status": status });
        let event = custom("interrupt_answered", value);
        match fact {
            Some(fact) => self.writer.append_fact(event, fact).await,
            None => self.writer.append(event).await,
        }
    }

    /// The questions about a call that is over, whether they were asked again or not.
    fn withdraw_questions(&mut self, call: &ToolCallId) -> Vec<String> {
        let mut withdrawn = self.questions.withdraw_call(call);
        self.open.retain(|id, asked| {
            let is_of_it = asked.tool_call_id.as_ref() == Some(call);
            if is_of_it && !withdrawn.contains(id) {
                withdrawn.push(id.clone());
            }
            !is_of_it
        });
        withdrawn
    }
}

/// Whether what is asked is what was told before a restart. Whether a call may run is one question.
fn is_same(told: &Interrupt, asking: &Asking) -> bool {
    let Asking::Tool(asks, _) = asking else {
        return true;
    };
    told.message.as_ref() == Some(&asks.question.message)
        && told.response_schema == Some(asks.response_schema())
}

/// Waits until only the user or the client can move the turn on; for ever if it comes to its end instead.
fn rested(handle: &TurnHandle) -> BoxFuture<'static, ()> {
    let handle = handle.clone();
    async move {
        if handle.rested().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
    .boxed()
}

/// The next event, once there is room for it.
async fn take(writer: &EventWriter, turn: &mut Turn) -> Option<RunEvent> {
    writer.room().await;
    turn.next().await
}

/// Lets go of the commands that came too late. One that was being sent would stay in a channel that is only dropped, and
/// whoever sent it would wait.
async fn close(mut commands: mpsc::Receiver<(Command, Told)>) {
    commands.close();
    while commands.recv().await.is_some() {}
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
