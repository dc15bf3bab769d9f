//! One run: its turn is driven by an agent, and what it says goes into the run's log.

use super::Server;
use super::agent::Decisions;
use super::ending::{Ending, usage_since};
use super::open_turn::{Answers, OpenTurn, Question};
use super::rounds::{Rest, Rounds};
use super::shared_state::SharedState;
use super::threads::{Beginning, Place};
use super::writer::RunWriter;
use futures::{FutureExt, StreamExt};
use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use stepwell_core::event::{
    Message, PROTOCOL_VERSION, RunAgentInput, RunOutcome, RunStarted, TokenUsage, ToolMessage,
};
use stepwell_io::{
    Agent, Conversation, Event, RunEvent, Start, ToolCallStatus, ToolFailure, ToolOutput,
    ToolResult, Turn, TurnHandle,
};
use time::OffsetDateTime;
use uuid::Uuid;

/// So many events are said before the run looks at anything else.
const AT_ONCE: u32 = 32;

/// All that a run needs.
pub(super) struct Run {
    pub(super) server: Arc<Server>,
    pub(super) input: RunAgentInput,
    pub(super) agent: Agent,
    pub(super) decisions: Decisions,
    pub(super) state: SharedState,
    pub(super) place: Place,
    pub(super) writer: RunWriter,
}

/// What happens next in a run.
enum Next {
    /// The turn says something.
    Said(RunEvent),
    /// The turn is over.
    Over,
    /// The turn waits for somebody.
    Rests,
    /// The run is to be stopped.
    Stopped,
}

impl Run {
    /// Drives the run to its end. Whatever happens, its stream ends with an event that says so.
    pub(super) async fn drive(mut self, beginning: Beginning) {
        let (thread, run) = (self.input.thread_id.clone(), self.input.run_id.clone());
        tracing::info!(target: "stepwell", %thread, %run, "a run begins");
        let meter = self.server.metrics.run();
        let started = RunStarted {
            thread_id: thread.clone(),
            run_id: run.clone(),
            protocol_version: Some(PROTOCOL_VERSION.to_owned()),
            parent_run_id: self.input.parent_run_id.clone(),
            ..RunStarted::default()
        };
        self.writer.write(started.into()).await;
        let work = AssertUnwindSafe(self.work(beginning)).catch_unwind();
        let (ending, usage) = work.await.unwrap_or_else(|_| {
            tracing::error!(target: "stepwell", %thread, %run, "a run broke off");
            (Ending::internal(), None)
        });
        let Self {
            input,
            place,
            mut writer,
            ..
        } = self;
        if let Some(notice) = ending.notice() {
            writer.write(notice).await;
        }
        let event = ending.event(&input, usage);
        tracing::info!(target: "stepwell", %thread, %run, end = event.kind(), "a run is over");
        meter.end(&event);
        // A client that reads the end may begin its next run at once.
        drop(place);
        writer.end(event);
    }

    async fn work(&mut self, beginning: Beginning) -> (Ending, Option<TokenUsage>) {
        let mut rounds = Rounds::new(self.own_id());
        let (turn, before) = match beginning {
            Beginning::Refused(error) => {
                return (Ending::failed(error.code(), error.to_string()), None);
            }
            Beginning::Fresh => {
                let start = Start {
                    parent_run_id: self.input.parent_run_id.clone(),
                    run_id: self.own_id().into(),
                    message: None,
                    resume: Vec::new(),
                };
                (self.agent.start(start), TokenUsage::default())
            }
            Beginning::Resumed(turn, answers) => {
                match self.resume(&turn, answers, &mut rounds).await {
                    Some(revived) => (revived, turn.usage),
                    None => return (Ending::internal(), None),
                }
            }
        };
        self.follow(turn, rounds, before).await
    }

    /// The run's id, or a longer one if the conversation has messages that were made from it: the ids of new messages
    /// are made from it too.
    fn own_id(&self) -> String {
        let run_id = self.input.run_id.as_str();
        let mut messages = self.input.messages.iter();
        if messages.any(|message| message.id().starts_with(run_id)) {
            format!("{run_id}-{}", Uuid::new_v4().simple())
        } else {
            run_id.to_owned()
        }
    }

    /// Goes on with a turn that waited for the person, with what they said and what the client's tools gave meanwhile.
    async fn resume(
        &mut self,
        turn: &OpenTurn,
        answers: Answers,
        rounds: &mut Rounds,
    ) -> Option<Turn> {
        rounds.go_on(turn, &answers);
        // Nobody else sets it.
        let _ = self.decisions.set(answers.decisions);
        let revived = self.agent.revive(&turn.snapshot);
        let revived = revived.inspect_err(|error| {
            tracing::error!(target: "stepwell", %error, "a turn cannot be revived");
        });
        let revived = revived.ok()?;
        let handle = revived.handle();
        let stands = handle.conversation().await.ok()?;
        let deferred = stands.calls().iter();
        let deferred = deferred.filter(|call| call.status == ToolCallStatus::Deferred);
        let deferred: HashSet<_> = deferred.map(|call| &call.id).collect();
        for message in &self.input.messages {
            // Most results are of calls that were answered long ago, and a question is not answered by a result.
            if let Message::Tool(message) = message
                && deferred.contains(&message.tool_call_id)
            {
                rounds.is_known(&message.tool_call_id);
                bring(&handle, message).await;
            }
        }
        if !answers.forwarded.is_empty()
            && let Err(error) = handle.resume(answers.forwarded).await
        {
            tracing::error!(target: "stepwell", %error, "the agent's questions cannot be answered");
            return None;
        }
        Some(revived)
    }

    async fn follow(
        &mut self,
        mut turn: Turn,
        mut rounds: Rounds,
        before: TokenUsage,
    ) -> (Ending, Option<TokenUsage>) {
        let handle = turn.handle();
        let mut rested = Box::pin(rests(handle.clone()));
        let mut may_rest = true;
        loop {
            let next = tokio::select! {
                biased;
                _ = self.writer.stop() => Next::Stopped,
                event = turn.next() => event.map_or(Next::Over, Next::Said),
                () = &mut rested, if may_rest => Next::Rests,
            };
            match next {
                Next::Stopped => turn.cancel(),
                Next::Said(event) => {
                    let mut said = Some(event);
                    let mut more = AT_ONCE;
                    while let Some(event) = said {
                        if self.say(event, &mut rounds).await {
                            turn.cancel();
                        }
                        more -= 1;
                        said = match more {
                            0 => None,
                            _ => turn.next().now_or_never().flatten(),
                        };
                    }
                    if !may_rest {
                        rested.set(rests(handle.clone()));
                        may_rest = true;
                    }
                }
                Next::Over => break,
                Next::Rests => {
                    may_rest = false;
                    let expires = self.expires();
                    let stands = handle.conversation().await;
                    match self.rest(stands.ok(), &rounds, expires) {
                        Rest::Not => {}
                        Rest::Client(calls) => {
                            let usage = handle.usage().await.ok();
                            self.tell_state().await;
                            let ending = Ending::Finished(RunOutcome::Success {
                                pending_tool_call_ids: Some(calls),
                            });
                            return (ending, usage.and_then(|all| self.own_usage(all, &before)));
                        }
                        Rest::Person(questions) => {
                            return self.ask(turn, rounds, questions, expires, &before).await;
                        }
                    }
                }
            }
        }
        self.tell_state().await;
        let finished = turn.finish().await;
        let endpoint = &self.server.backend.endpoint;
        let ending = Ending::of(&finished.outcome, self.writer.stopped(), endpoint);
        (ending, self.own_usage(finished.usage, &before))
    }

    /// Tells the client. `true` if the run is to be stopped from now on.
    async fn say(&mut self, event: RunEvent, rounds: &mut Rounds) -> bool {
        match event {
            RunEvent::AgUi(event) => {
                if let Event::ToolCallResult(result) = &event {
                    rounds.is_known(&result.tool_call_id);
                }
                self.state.follow(&event);
                self.writer.write(event).await
            }
            RunEvent::ToolCall(update) => {
                let call = update.call;
                let Some(result) = rounds.update(update) else {
                    return false;
                };
                let is_stopped = self.tell(self.state.untold_before(call)).await;
                self.writer.write(result).await || is_stopped
            }
            RunEvent::Interrupted { interrupts } => {
                rounds.ask(interrupts);
                false
            }
            _ => false,
        }
    }

    /// Tells the client what has become of the state.
    async fn tell_state(&mut self) -> bool {
        self.tell(self.state.untold()).await
    }

    async fn tell(&mut self, events: Vec<Event>) -> bool {
        let mut is_stopped = false;
        for event in events {
            is_stopped |= self.writer.write(event).await;
        }
        is_stopped
    }

    fn rest(
        &self,
        conversation: Option<Conversation>,
        rounds: &Rounds,
        expires: Option<OffsetDateTime>,
    ) -> Rest {
        conversation.map_or(Rest::Not, |conversation| {
            rounds.rest(&conversation, &self.server.tools, expires)
        })
    }

    fn own_usage(&self, all: TokenUsage, before: &TokenUsage) -> Option<TokenUsage> {
        usage_since(all, before, &self.server.backend.endpoint)
    }

    /// When a question that is asked now lapses.
    fn expires(&self) -> Option<OffsetDateTime> {
        let time = time::Duration::try_from(self.server.serving.limits.interrupt_time).ok()?;
        let now = OffsetDateTime::now_utc();
        now.replace_nanosecond(0).ok()?.checked_add(time)
    }

    /// Lets go of the turn until the person has answered.
    async fn ask(
        &mut self,
        turn: Turn,
        rounds: Rounds,
        questions: Vec<Question>,
        expires: Option<OffsetDateTime>,
        before: &TokenUsage,
    ) -> (Ending, Option<TokenUsage>) {
        self.tell_state().await;
        let usage = turn.handle().usage().await.unwrap_or_default();
        let own = self.own_usage(usage.clone(), before);
        let Ok(snapshot) = turn.suspend().await else {
            return (Ending::internal(), own);
        };
        let interrupts = questions.iter().map(|question| question.interrupt.clone());
        let interrupts = interrupts.collect();
        let (seen, reported) = rounds.into_parts();
        let is_kept = self.place.keep(OpenTurn {
            snapshot,
            expires,
            questions,
            usage,
            seen,
            reported,
        });
        let outcome = if is_kept {
            RunOutcome::Interrupt { interrupts }
        } else {
            // Another run has the thread.
            RunOutcome::Cancelled
        };
        (Ending::Finished(outcome), own)
    }
}

/// Brings what the client's tool gave.
async fn bring(handle: &TurnHandle, message: &ToolMessage) {
    let result: ToolResult = match &message.error {
        Some(error) => Err(ToolFailure::error(error)),
        None => Ok(ToolOutput {
            content: message.content.clone(),
        }),
    };
    let call = message.tool_call_id.clone();
    if let Err(error) = handle.finish_call(call, result).await {
        tracing::debug!(target: "stepwell", %error, "a result was not taken");
    }
}

/// Waits until only the person or the client can move the turn on; for ever if it comes to its end instead.
async fn rests(handle: TurnHandle) {
    if handle.rested().await.is_err() {
        std::future::pending::<()>().await;
    }
}
