//! Drives one turn for the client that waits for it: to its end, or until it waits for the user or the client.

use crate::run::writer::RunWriter;
use crate::turn::asking::Asking;
use crate::turn::ending::{Ending, TOOL_PARTIAL_RESULT, custom, tool_progress};
use crate::turn::questions::{Asked, Questions};
use crate::turn::rounds::Rounds;
use crate::turn::run_clock::RunClock;
use crate::turn::shared_state::SharedState;
use crate::turn::stop::Stop;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use serde_json::json;
use std::collections::HashMap;
use std::time::Duration;
use stepwell_core::ToolCallId;
use stepwell_core::conversation::LiveCall;
use stepwell_core::event::TokenUsage;
use stepwell_io::{
    Decision, Endpoint, Event, RunEvent, ToolCallStatus, ToolCallUpdate, ToolRegistry, Turn,
    TurnHandle,
};
use time::OffsetDateTime;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// So many events are said before the turn looks at anything else.
const AT_ONCE: u32 = 32;

/// A turn, and what it is driven with.
pub(crate) struct Drive<'a> {
    /// The tools that run here.
    pub(crate) tools: &'a ToolRegistry,
    /// Who answers, as far as it is known.
    pub(crate) endpoint: Option<&'a Endpoint>,
    /// How long the turn may take, and how long a question stands.
    pub(crate) run_time: Duration,
    pub(crate) interrupt_time: Duration,
    pub(crate) turn: Turn,
    pub(crate) writer: &'a mut RunWriter,
    pub(crate) rounds: Rounds,
    pub(crate) asked: mpsc::UnboundedReceiver<Asking>,
    /// Either stops the turn.
    pub(crate) cancel: CancellationToken,
    pub(crate) leave: CancellationToken,
    /// The state that the run shares with its client.
    pub(crate) state: SharedState,
    /// What the user has said already of calls that ask to run.
    pub(crate) decisions: HashMap<ToolCallId, Decision>,
    /// Whether a call has moved on, or something was asked, since it was last looked whether the turn waits for the user.
    pub(crate) has_moved: bool,
}

/// How driving a turn ends.
pub(crate) enum Over {
    /// It has come to its end.
    Ended(Ending, TokenUsage),
    /// It waits for the client to run these calls.
    Deferred(Vec<ToolCallId>, TokenUsage),
    /// It waits for the user.
    Asks {
        turn: Turn,
        rounds: Rounds,
        questions: Questions,
        asked: mpsc::UnboundedReceiver<Asking>,
        state: SharedState,
    },
}

/// What happens next in a turn.
enum Next {
    Said(Option<RunEvent>),
    Asked(Asking),
    Rests,
    /// A turn with a tool that asks does not rest, and yet it may be that no call can move on without the user.
    Moved,
    Stopped(Stop),
}

/// What a resting turn waits for.
enum Rest {
    Client(Vec<ToolCallId>),
    User,
}

/// A run that waits for its model keeps no room for what happens seldom: such futures are boxed.
impl Drive<'_> {
    pub(crate) async fn run(mut self) -> Over {
        let handle = self.turn.handle();
        let mut abandoned = self.writer.abandoned();
        let mut clock = RunClock::new(self.run_time);
        let mut questions = Questions::default();
        let mut rests = rested(&handle);
        let mut may_rest = true;
        let mut stop = None;
        loop {
            clock.set(questions.is_empty() && !self.rounds.awaits_client());
            let has_moved = self.has_moved && questions.has_tools();
            let next = tokio::select! {
                biased;
                () = self.leave.cancelled(), if stop.is_none() => Next::Stopped(Stop::Cancelled),
                () = self.cancel.cancelled(), if stop.is_none() => Next::Stopped(Stop::Cancelled),
                () = &mut abandoned, if stop.is_none() => Next::Stopped(Stop::ClientLeft),
                () = until(clock.deadline()), if stop.is_none() => Next::Stopped(Stop::OutOfTime),
                Some(asking) = self.asked.recv() => Next::Asked(asking),
                event = take(self.writer, &mut self.turn) => Next::Said(event),
                () = std::future::ready(()), if has_moved => Next::Moved,
                () = &mut rests, if may_rest => Next::Rests,
            };
            match next {
                Next::Stopped(why) => {
                    stop = Some(why);
                    self.turn.cancel();
                }
                Next::Said(None) => break,
                Next::Asked(asking) => {
                    self.ask(asking, &mut questions);
                    if !may_rest {
                        (rests, may_rest) = (rested(&handle), true);
                    }
                }
                Next::Said(Some(event)) => {
                    let mut said = Some(event);
                    for _ in 0..AT_ONCE {
                        let Some(event) = said.take() else { break };
                        self.say(event, &mut questions);
                        if !self.writer.has_room() {
                            break;
                        }
                        said = self.turn.next().now_or_never().flatten();
                    }
                    if let Some(event) = said {
                        self.say(event, &mut questions);
                    }
                    if !may_rest {
                        (rests, may_rest) = (rested(&handle), true);
                    }
                }
                Next::Rests | Next::Moved => {
                    may_rest &= matches!(next, Next::Moved);
                    self.has_moved = false;
                    match Box::pin(self.rest(&handle, &questions)).await {
                        None => {}
                        Some(Rest::Client(calls)) => {
                            self.tell_state();
                            let usage = handle.usage().await.unwrap_or_default();
                            return Over::Deferred(calls, usage);
                        }
                        Some(Rest::User) => {
                            self.tell_state();
                            return Over::Asks {
                                turn: self.turn,
                                rounds: self.rounds,
                                questions,
                                asked: self.asked,
                                state: self.state,
                            };
                        }
                    }
                }
            }
        }
        self.tell_state();
        let finished = Box::pin(self.turn.finish()).await;
        let ending = Ending::of(&finished.outcome, stop, self.endpoint);
        Over::Ended(ending, finished.usage)
    }

    fn say(&mut self, event: RunEvent, questions: &mut Questions) {
        match event {
            RunEvent::AgUi(event) => {
                if let Event::ToolCallResult(result) = &event {
                    self.rounds.is_known(&result.tool_call_id);
                }
                self.state.follow(&event);
                self.writer.append(event);
            }
            RunEvent::ToolCallUpdate(update) => self.tell_call(update, questions),
            RunEvent::Interrupted { interrupts } => {
                // All of them are told at the end of the run.
                for interrupt in interrupts {
                    questions.ask_for_agent(interrupt, self.expires());
                }
            }
            RunEvent::ToolProgress(progress) => {
                self.writer.append(tool_progress(&progress));
            }
            RunEvent::ToolPartialResult(partial) => {
                let value = json!({
                    "toolCallId": partial.tool_call_id,
                    "toolName": partial.name,
                    "content": partial.output.content,
                });
                self.writer.append(custom(TOOL_PARTIAL_RESULT, value));
            }
            _ => {}
        }
    }

    fn tell_call(&mut self, update: ToolCallUpdate, questions: &mut Questions) {
        let (key, call, status) = (update.call, update.tool_call_id.clone(), update.status);
        self.has_moved = true;
        if status.is_final() {
            // It has lapsed, or the user has stopped the call.
            questions.withdraw_call(&call);
        }
        if let Some(result) = self.rounds.update(update) {
            for change in self.state.untold_before(key) {
                self.writer.append(change);
            }
            self.writer.note(&call, status);
            self.writer.append(result);
        }
    }

    /// A tool asks, or asks no more.
    fn ask(&mut self, asking: Asking, questions: &mut Questions) {
        self.has_moved = true;
        let asked = Asked {
            id: format!("interrupt-{}", Uuid::new_v4()),
            expires: self.expires(),
        };
        match asking {
            Asking::Call(invocation, answer) => {
                let call = &invocation.tool_call_id;
                if let Some(decision) = self.decisions.remove(call) {
                    self.rounds.decided(call, &decision);
                    // A turn that is stopped asks no more.
                    let _ = answer.send(decision);
                    return;
                }
                questions.ask(*invocation, answer, self.tools, asked);
            }
            Asking::Tool(asks, answer) => {
                questions.ask_for_tool(*asks, answer, asked);
            }
            Asking::Withdrawn(effect) => {
                questions.withdraw(effect);
            }
        }
    }

    /// When a question that is asked now lapses.
    fn expires(&self) -> Option<OffsetDateTime> {
        let time = time::Duration::try_from(self.interrupt_time).ok()?;
        let now = OffsetDateTime::now_utc();
        now.replace_nanosecond(0).ok()?.checked_add(time)
    }

    /// Tells the client what has become of the state.
    fn tell_state(&mut self) {
        for change in self.state.untold() {
            self.writer.append(change);
        }
    }

    /// What a run waits for that rests, if all that it has said was heard.
    async fn rest(&self, handle: &TurnHandle, questions: &Questions) -> Option<Rest> {
        let conversation = handle.conversation().await.ok()?;
        let calls = conversation.calls();
        let asks =
            |call: &LiveCall| call.status == ToolCallStatus::Executing && questions.has(&call.id);
        let waits = |call: &LiveCall| match call.status {
            ToolCallStatus::AwaitingApproval | ToolCallStatus::Deferred => true,
            ToolCallStatus::Executing => asks(call),
            // It begins when one that asks is over.
            ToolCallStatus::Pending => calls.iter().any(asks),
            _ => false,
        };
        let mut open = calls.iter().filter(|call| !call.status.is_final());
        // A tool may have begun since it came to rest. While an agent asks, none does.
        let rests = self.rounds.is_heard(calls) && open.all(waits);
        if !rests && !questions.has_agents() {
            return None;
        }
        let with = |status| calls.iter().filter(move |call| call.status == status);
        let mut awaiting = with(ToolCallStatus::AwaitingApproval);
        if !awaiting.all(|call| questions.has(&call.id)) {
            // It is about to ask, or was answered just now.
            return None;
        }
        if !questions.is_empty() {
            return Some(Rest::User);
        }
        let deferred: Vec<_> = with(ToolCallStatus::Deferred)
            .map(|call| call.id.clone())
            .collect();
        (!deferred.is_empty()).then_some(Rest::Client(deferred))
    }
}

/// The next event, once there is room for it.
async fn take(writer: &RunWriter, turn: &mut Turn) -> Option<RunEvent> {
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
