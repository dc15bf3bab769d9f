//! Drives a stored turn to its end, or until it is let go of. The runs of clients that wait for them are driven by
//! `stepwell_io::serve`.

use crate::engine::DriverSetup;
use crate::engine::{Command, Told};
use crate::turn::announce::{question_id, status_event, tool_question_id};
use crate::turn::asking::Asking;
use crate::turn::call_labels::CallLabels;
use crate::turn::ending::{Ending, custom, tool_progress};
use crate::turn::event_writer::EventWriter;
use crate::turn::questions::{Asked, Questions};
use crate::turn::rounds::Rounds;
use crate::turn::run_clock::RunClock;
use crate::turn::stop::Stop;
use crate::turn::store_trouble::StoreTrouble;
use crate::turn::store_waits::StoreWaits;
use crate::turn::stored::{Fact, Stored};
use crate::turn::told_progress::ToldProgress;
use futures::{FutureExt, StreamExt};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use stepwell_core::ToolCallId;
use stepwell_core::conversation::LiveCall;
use stepwell_core::event::{Event, Interrupt, Metadata, ResumeEntry, ResumeStatus, TokenUsage};
use stepwell_core::run::ToolCallUpdate;
use stepwell_core::tool::{ToolFailure, ToolFailureKind};
use stepwell_io::{Endpoint, RunEvent, ToolCallStatus, Turn, TurnHandle};
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
    /// Who answers.
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) turn: Turn,
    pub(crate) writer: &'a mut EventWriter,
    pub(crate) rounds: Rounds,
    pub(crate) labels: CallLabels,
    pub(crate) questions: Questions,
    pub(crate) asked: mpsc::UnboundedReceiver<Asking>,
    pub(crate) cancel: CancellationToken,
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
}

/// How driving a turn ends.
// Once a turn.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Over {
    /// It has come to its end.
    Ended(Ending, TokenUsage),
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
    Rests(&'static str),
    Stopped(Stop),
    Left,
}

/// A turn that waits for its model keeps no room for what happens seldom: such futures are boxed.
impl Drive<'_> {
    pub(crate) async fn run(mut self) -> Over {
        let handle = self.turn.handle();
        let mut failed = self.writer.failed();
        let mut waits = StoreWaits::new(&handle, self.writer, self.setup.store_timeout);
        let mut clock = RunClock::new(self.setup.run_time);
        let mut stop = None;
        loop {
            self.note_asks();
            let goes_on = self.questions.is_empty() && !self.rounds.awaits_client();
            clock.set(goes_on);
            let elsewhere = self.setup.elsewhere.filter(|_| !goes_on && stop.is_none());
            let next = tokio::select! {
                biased;
                () = &mut failed => Next::Left,
                () = self.leave.cancelled() => Next::Left,
                () = self.cancel.cancelled(), if stop.is_none() => Next::Stopped(Stop::Cancelled),
                () = until(clock.deadline()), if stop.is_none() => Next::Stopped(Stop::OutOfTime),
                () = until(waits.deadline()), if stop.is_none() => Next::Stopped(Stop::StoreAway),
                trouble = waits.changed() => Next::Waits(trouble),
                Some((command, told)) = self.commands.recv() => Next::Told(command, told),
                Some(asking) = self.asked.recv() => Next::Asked(asking),
                () = until(self.questions.next_lapse()) => Next::Lapsed,
                () = until(self.progress.deadline()) => Next::Progressed,
                event = take(self.writer, &mut self.turn) => Next::Said(event),
                elsewhere = async {
                    let waits = (&self.questions, &self.rounds, &self.open);
                    Box::pin(rests(&handle, waits, self.early.is_empty())).await;
                    elsewhere
                }, if elsewhere.is_some() => elsewhere.map_or(Next::Left, Next::Rests),
            };
            match next {
                Next::Left => {
                    // The checkpoint of the last write is what the next owner goes on from.
                    let _ = Box::pin(self.turn.suspend()).await;
                    close(self.commands).await;
                    return Over::Left;
                }
                Next::Rests(_) if std::mem::take(&mut self.has_lapsed) => {
                    Box::pin(self.lapse(&handle)).await;
                }
                Next::Rests(elsewhere) => {
                    let _ = Box::pin(self.turn.suspend()).await;
                    close(self.commands).await;
                    return Over::Rests(elsewhere);
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
                Next::Told(command, told) => Box::pin(self.obey(command, told, &handle)).await,
                Next::Lapsed => {
                    let lapsed = self.questions.lapsed(Instant::now());
                    if let Err(error) = Box::pin(self.answer(&lapsed, &handle)).await {
                        tracing::error!(target: "stepwell", %error, "a question cannot lapse");
                        self.turn.cancel();
                    }
                }
                Next::Progressed => {
                    while let Some(progress) = self.progress.due(Instant::now()) {
                        self.writer.append(tool_progress(&progress)).await;
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
        let finished = Box::pin(self.turn.finish()).await;
        close(self.commands).await;
        let ending = Ending::of(&finished.outcome, stop, Some(self.endpoint));
        Over::Ended(ending, finished.usage)
    }

    /// Nothing that the turn waits for comes any more.
    async fn lapse(&mut self, handle: &TurnHandle) {
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
    fn note_asks(&self) {
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
    }

    async fn say(&mut self, event: RunEvent, handle: &TurnHandle) {
        match event {
            RunEvent::AgUi(event) => {
                if let Event::ToolCallResult(result) = &event {
                    self.rounds.is_known(&result.tool_call_id);
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
                if let Some(progress) = self.progress.say(progress, Instant::now()) {
                    self.writer.append(tool_progress(&progress)).await;
                }
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

    async fn tell_call(&mut self, update: ToolCallUpdate) {
        let call = update.tool_call_id.clone();
        if update.status.is_final() {
            self.progress.end(&call);
            // They have lapsed, or the user has stopped the call.
            for id in self.withdraw_questions(&call) {
                self.tell_answered(&id, ResumeStatus::Cancelled, None).await;
            }
        }
        let label = self.labels.label(&update, &self.setup.tools);
        let event = status_event(&update, &label);
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

    /// A tool asks, or asks no more.
    async fn ask(&mut self, asking: Asking) {
        // The ids are the same after a restart.
        let id = match &asking {
            Asking::Call(invocation, _) => question_id(&invocation.tool_call_id),
            Asking::Tool(asks, _) => tool_question_id(&asks.invocation.tool_call_id, asks.number),
            Asking::Withdrawn(effect) => {
                if let Some(id) = self.questions.withdraw(*effect) {
                    self.tell_answered(&id, ResumeStatus::Cancelled, None).await;
                }
                return;
            }
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
                let tools = &self.setup.tools;
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

/// Waits until nobody but the user can move the turn on, and all that it asks them has been told. For ever, if that needs
/// something else to happen first.
async fn rests(
    handle: &TurnHandle,
    (questions, rounds, told): (&Questions, &Rounds, &BTreeMap<String, Interrupt>),
    is_heard: bool,
) {
    if handle.rested().await.is_ok()
        && let Ok(conversation) = handle.conversation().await
    {
        let calls = conversation.calls();
        let mut open = calls.iter().filter(|call| !call.status.is_final());
        let waits = |call: &LiveCall| match call.status {
            ToolCallStatus::AwaitingApproval => questions.has(&call.id),
            ToolCallStatus::Deferred => true,
            // It may have begun since the turn came to rest.
            _ => false,
        };
        let mut told = told.keys();
        let is_asked = open.all(waits) && told.all(|id| questions.has_id(id));
        if is_heard && is_asked && rounds.is_heard(calls) {
            return;
        }
    }
    std::future::pending::<()>().await;
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
