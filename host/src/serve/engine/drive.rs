//! Drives one turn to its end, or until it waits for somebody: the same loop for the turns of sessions and for the runs
//! of [`AgentRun`](super::agent_run::AgentRun).

use super::super::answers::Question;
use super::super::ending::Ending;
use super::super::rounds::Rounds;
use super::super::shared_state::SharedState;
use super::super::stop::Stop;
use super::super::store_trouble::{StoreTrouble, custom};
use super::announce::{progress, question_id};
use super::call_labels::CallLabels;
use super::commands::Command;
use super::event_writer::EventWriter;
use super::local::LocalSetup;
use super::questions::{Asked, Asking, Questions};
use super::run_clock::RunClock;
use super::store_waits::StoreWaits;
use super::stored::{Fact, Stored};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use serde_json::json;
use std::collections::{BTreeMap, HashMap};
use stepwell_core::ToolCallId;
use stepwell_core::event::{Event, Interrupt, ResumeStatus, TokenUsage};
use stepwell_core::run::ToolCallUpdate;
use stepwell_io::{Decision, Endpoint, RunEvent, ToolCallStatus, Turn, TurnHandle};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// So many events are said before the turn looks at anything else.
const AT_ONCE: u32 = 32;

/// Who watches the turn.
pub(super) enum Audience<'a> {
    /// Whoever follows its log in the store.
    Followers {
        stored: Stored,
        /// The questions that the log has open, of an owner before.
        open: BTreeMap<String, Interrupt>,
        /// What they tell the turn.
        commands: mpsc::Receiver<Command>,
        /// Whether the turn waits for the user.
        asks: watch::Sender<bool>,
    },
    /// The one client of a run, which is told nothing else while it runs. With it the run rests too.
    Client(&'a mut Client),
}

/// The client of a run.
#[derive(Debug)]
pub(super) struct Client {
    /// The state that the run shares with it.
    pub(super) state: SharedState,
    /// What the user has said already of calls that ask to run.
    pub(super) decisions: HashMap<ToolCallId, Decision>,
}

/// A turn, and what it is driven with.
pub(super) struct Drive<'a> {
    pub(super) setup: &'a LocalSetup,
    /// Who answers.
    pub(super) endpoint: &'a Endpoint,
    pub(super) turn: Turn,
    pub(super) writer: &'a mut EventWriter,
    pub(super) rounds: Rounds,
    pub(super) labels: CallLabels,
    pub(super) questions: Questions,
    pub(super) asked: mpsc::UnboundedReceiver<Asking>,
    pub(super) cancel: CancellationToken,
    /// The turn is let go of: to go on another time, if it is stored.
    pub(super) leave: CancellationToken,
    /// What keeps the turn from being stored: told to whoever follows it on this host.
    pub(super) trouble: watch::Sender<Option<StoreTrouble>>,
    pub(super) audience: Audience<'a>,
    /// Answers to questions that the log has open, and that the revived turn has not asked again yet.
    pub(super) early: Vec<Command>,
}

/// How driving a turn ends.
pub(super) enum Over {
    /// It has come to its end.
    Ended(Ending, TokenUsage),
    /// It goes on another time, or on another host.
    Left,
    /// It waits for the client to run these calls.
    Deferred(Vec<ToolCallId>, TokenUsage),
    /// It waits for the user.
    Asks {
        turn: Turn,
        rounds: Rounds,
        questions: Vec<Question>,
    },
}

/// What happens next in a turn.
enum Next {
    Said(Option<RunEvent>),
    Asked(Asking),
    Told(Command),
    Waits(Option<StoreTrouble>),
    Lapsed,
    Rests,
    Stopped(Stop),
    Left,
}

/// What a resting turn waits for.
enum Rest {
    Client(Vec<ToolCallId>),
    User,
}

/// A run that waits for its model keeps no room for what happens seldom: such futures are boxed.
impl Drive<'_> {
    pub(super) async fn run(mut self) -> Over {
        let handle = self.turn.handle();
        let mut failed = self.writer.failed();
        let mut abandoned = self.writer.abandoned();
        let mut waits = StoreWaits::new(&handle, self.writer, self.setup.store_timeout);
        let mut clock = RunClock::new(self.setup.run_time);
        let is_run = matches!(self.audience, Audience::Client(_));
        let mut rests = rested(&handle);
        let mut may_rest = is_run;
        let mut stop = None;
        loop {
            self.note_asks();
            clock.set(self.questions.is_empty() && !self.rounds.awaits_client());
            let next = tokio::select! {
                biased;
                () = &mut failed => Next::Left,
                () = self.leave.cancelled(), if !is_run => Next::Left,
                () = self.leave.cancelled(), if is_run && stop.is_none() => Next::Stopped(Stop::Cancelled),
                () = self.cancel.cancelled(), if stop.is_none() => Next::Stopped(Stop::Cancelled),
                () = &mut abandoned, if stop.is_none() => Next::Stopped(Stop::ClientLeft),
                () = until(clock.deadline()), if stop.is_none() => Next::Stopped(Stop::OutOfTime),
                () = until(waits.deadline()), if stop.is_none() => Next::Stopped(Stop::StoreAway),
                trouble = waits.changed() => Next::Waits(trouble),
                command = told(&mut self.audience) => Next::Told(command),
                Some(asking) = self.asked.recv() => Next::Asked(asking),
                () = until(self.questions.next_lapse()) => Next::Lapsed,
                event = take(self.writer, &mut self.turn) => Next::Said(event),
                () = &mut rests, if may_rest => Next::Rests,
            };
            match next {
                Next::Left => {
                    // The snapshot of the last write is what the next owner goes on from.
                    let _ = Box::pin(self.turn.suspend()).await;
                    return Over::Left;
                }
                Next::Stopped(why) => {
                    stop = Some(why);
                    self.turn.cancel();
                }
                Next::Waits(trouble) => {
                    let before = self.trouble.send_replace(trouble);
                    if let (None, Some(trouble)) = (before, trouble) {
                        self.writer.append(trouble.warning()).await;
                    }
                }
                Next::Told(command) => Box::pin(self.obey(command, &handle)).await,
                Next::Lapsed => {
                    let lapsed = self.questions.lapsed(Instant::now());
                    if let Err(error) = Box::pin(self.answer(&lapsed, &handle)).await {
                        tracing::error!(target: "stepwell", %error, "a question cannot lapse");
                        self.turn.cancel();
                    }
                }
                Next::Said(None) => break,
                Next::Asked(asking) => {
                    Box::pin(self.ask(asking)).await;
                    for command in std::mem::take(&mut self.early) {
                        Box::pin(self.obey(command, &handle)).await;
                    }
                    if is_run && !may_rest {
                        (rests, may_rest) = (rested(&handle), true);
                    }
                }
                Next::Said(Some(event)) => {
                    let mut said = Some(event);
                    for _ in 0..AT_ONCE {
                        let Some(event) = said.take() else { break };
                        self.say(event).await;
                        if !self.writer.has_room() {
                            break;
                        }
                        said = self.turn.next().now_or_never().flatten();
                    }
                    if let Some(event) = said {
                        self.say(event).await;
                    }
                    if is_run && !may_rest {
                        (rests, may_rest) = (rested(&handle), true);
                    }
                }
                Next::Rests => {
                    may_rest = false;
                    match Box::pin(self.rest(&handle)).await {
                        None => {}
                        Some(Rest::Client(calls)) => {
                            self.tell_state().await;
                            let usage = handle.usage().await.unwrap_or_default();
                            return Over::Deferred(calls, usage);
                        }
                        Some(Rest::User) => {
                            self.tell_state().await;
                            return Over::Asks {
                                turn: self.turn,
                                rounds: self.rounds,
                                questions: self.questions.to_vec(),
                            };
                        }
                    }
                }
            }
        }
        self.tell_state().await;
        let finished = Box::pin(self.turn.finish()).await;
        let ending = Ending::of(&finished.outcome, stop, self.endpoint);
        Over::Ended(ending, finished.usage)
    }

    /// Says whether the turn waits for the user.
    fn note_asks(&self) {
        if let Audience::Followers { asks, .. } = &self.audience {
            let now = !self.questions.is_empty();
            asks.send_if_modified(|asks| std::mem::replace(asks, now) != now);
        }
    }

    async fn say(&mut self, event: RunEvent) {
        match event {
            RunEvent::AgUi(event) => {
                if let Event::ToolCallResult(result) = &event {
                    self.rounds.is_known(&result.tool_call_id);
                }
                match &self.audience {
                    Audience::Followers { .. } => self.labels.note(&event),
                    Audience::Client(client) => client.state.follow(&event),
                }
                self.writer.append(event).await;
            }
            RunEvent::ToolCallUpdate(update) => Box::pin(self.tell_call(update)).await,
            RunEvent::Interrupted { interrupts } => {
                for interrupt in interrupts {
                    Box::pin(self.ask_for_agent(interrupt)).await;
                }
            }
            RunEvent::Retrying {
                attempt, delay_ms, ..
            } if matches!(self.audience, Audience::Followers { .. }) => {
                let value = json!({ "attempt": attempt, "delayMs": delay_ms });
                self.writer.append(custom("retrying", value)).await;
            }
            // Of the moment: they are for whoever listens, and in no log.
            RunEvent::ToolProgress(progress) if matches!(self.audience, Audience::Client(_)) => {
                let value = json!({
                    "toolCallId": progress.tool_call_id,
                    "toolName": progress.name,
                    "fraction": progress.fraction,
                    "message": progress.message,
                });
                self.writer.append(custom("tool_progress", value)).await;
            }
            RunEvent::ToolPartialResult(partial)
                if matches!(self.audience, Audience::Client(_)) =>
            {
                let value = json!({
                    "toolCallId": partial.tool_call_id,
                    "toolName": partial.name,
                    "content": partial.output.content,
                });
                self.writer
                    .append(custom("tool_partial_result", value))
                    .await;
            }
            _ => {}
        }
    }

    async fn tell_call(&mut self, update: ToolCallUpdate) {
        let (key, call) = (update.call, update.tool_call_id.clone());
        if update.status.is_final()
            && let Some(id) = self.withdraw_question(&call)
        {
            // It has lapsed, or the user has stopped the call.
            self.tell_answered(&id, ResumeStatus::Cancelled, None).await;
        }
        if let Audience::Client(client) = &self.audience {
            let state = client.state.clone();
            if let Some(result) = self.rounds.update(update) {
                for change in state.untold_before(key) {
                    self.writer.append(change).await;
                }
                self.writer.append(result).await;
            }
            return;
        }
        let label = self.labels.label(&update, &self.setup.tools);
        let event = progress(&update, &label);
        let has_result = update.result.is_some();
        let result = self.rounds.update(update);
        if !has_result {
            return self.writer.append(event).await;
        }
        let fact = Fact::Result(call);
        self.writer.append_fact(event, fact.clone()).await;
        if let Some(result) = result {
            self.writer.append_fact(result, fact).await;
        }
    }

    /// A tool asks to run.
    async fn ask(&mut self, asking: Asking) {
        let call = &asking.0.tool_call_id;
        let asked = match &mut self.audience {
            Audience::Client(client) => {
                if let Some(decision) = client.decisions.remove(call) {
                    self.rounds.decided(call, &decision);
                    // A turn that is stopped asks no more.
                    let _ = asking.1.send(decision);
                    return;
                }
                Asked {
                    id: format!("interrupt-{}", Uuid::new_v4()),
                    expires: self.setup.expires(),
                }
            }
            Audience::Followers { open, .. } => {
                // The same after a restart.
                let id = question_id(call);
                if let Some(told) = open.remove(&id) {
                    let expires = told.expires_at.as_deref();
                    let expires = expires.and_then(|at| OffsetDateTime::parse(at, &Rfc3339).ok());
                    self.questions
                        .ask(asking, &self.setup.tools, Asked { id, expires });
                    return;
                }
                let expires = self.setup.expires();
                Asked { id, expires }
            }
        };
        let interrupt = self.questions.ask(asking, &self.setup.tools, asked);
        self.tell_question(&interrupt).await;
    }

    /// The agent behind the server asks.
    async fn ask_for_agent(&mut self, interrupt: Interrupt) {
        self.tell_question(&interrupt).await;
        self.questions
            .ask_for_agent(interrupt, self.setup.expires());
    }

    async fn tell_question(&mut self, interrupt: &Interrupt) {
        // A run tells all of them at its end.
        if matches!(self.audience, Audience::Followers { .. }) {
            let event = custom("interrupt", json!(interrupt));
            self.writer.append(event).await;
        }
    }

    pub(super) async fn tell_answered(
        &mut self,
        id: &str,
        status: ResumeStatus,
        fact: Option<Fact>,
    ) {
        if !matches!(self.audience, Audience::Followers { .. }) {
            return;
        }
        let value = json!({ "interruptId": id, "status": status });
        let event = custom("interrupt_answered", value);
        match fact {
            Some(fact) => self.writer.append_fact(event, fact).await,
            None => self.writer.append(event).await,
        }
    }

    fn withdraw_question(&mut self, call: &ToolCallId) -> Option<String> {
        if let Audience::Followers { open, .. } = &mut self.audience
            && let Some(told) = open.remove(&question_id(call))
        {
            return Some(told.id);
        }
        self.questions.withdraw(call)
    }

    /// Tells the client what has become of the state.
    async fn tell_state(&mut self) {
        if let Audience::Client(client) = &self.audience {
            for change in client.state.untold() {
                self.writer.append(change).await;
            }
        }
    }

    /// What a run waits for that rests, if all that it has said was heard.
    async fn rest(&self, handle: &TurnHandle) -> Option<Rest> {
        let conversation = handle.conversation().await.ok()?;
        let calls = conversation.calls();
        let waits = [ToolCallStatus::AwaitingApproval, ToolCallStatus::Deferred];
        let mut open = calls.iter().filter(|call| !call.status.is_final());
        // A tool may have begun since it came to rest. While an agent asks, none does.
        let rests = self.rounds.is_heard(calls) && open.all(|call| waits.contains(&call.status));
        if !rests && !self.questions.has_agents() {
            return None;
        }
        let with = |status| calls.iter().filter(move |call| call.status == status);
        let mut awaiting = with(ToolCallStatus::AwaitingApproval);
        if !awaiting.all(|call| self.questions.has(&call.id)) {
            // It is about to ask, or was answered just now.
            return None;
        }
        if !self.questions.is_empty() {
            return Some(Rest::User);
        }
        let deferred: Vec<_> = with(ToolCallStatus::Deferred)
            .map(|call| call.id.clone())
            .collect();
        (!deferred.is_empty()).then_some(Rest::Client(deferred))
    }
}

/// The next command; of a run there is none.
async fn told(audience: &mut Audience<'_>) -> Command {
    if let Audience::Followers { commands, .. } = audience
        && let Some(command) = commands.recv().await
    {
        return command;
    }
    std::future::pending().await
}

/// The next event, once there is room for it.
async fn take(writer: &EventWriter, turn: &mut Turn) -> Option<RunEvent> {
    writer.room().await;
    turn.next().await
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

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
