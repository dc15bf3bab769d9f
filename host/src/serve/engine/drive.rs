//! One stored turn: driven by an agent, and what it says goes into the store.

use super::super::ending::{Ending, usage_since};
use super::super::interrupts;
use super::super::open_turn::Unresumable;
use super::super::rounds::Rounds;
use super::event_writer::{EventWriter, Written};
use super::local::LocalSetup;
use super::{EngineError, Parent};
use futures::StreamExt;
use serde_json::{Value, json};
use std::sync::Arc;
use stepwell_core::event::{
    Custom, Event, Interrupt, Message, MessagesSnapshot, PROTOCOL_VERSION, ResumeEntry,
    RunAgentInput, RunStarted,
};
use stepwell_io::store::{StoreError, TurnKey};
use stepwell_io::{
    Decision, RunEvent, SharedRegistry, Start, ToolCallStatus, ToolCallUpdate, ToolInvocation, Turn,
};
use time::OffsetDateTime;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// What a turn begins with.
#[derive(Debug)]
pub(super) enum Begin {
    /// A message, or the history alone.
    Started {
        parent: Parent,
        message: Option<Box<Message>>,
        /// Told whether the turn is in the store.
        begun: oneshot::Sender<Result<(), EngineError>>,
    },
    /// The snapshot of an owner before.
    Revived(String),
}

/// What a turn under way is told.
#[derive(Debug)]
pub(super) enum Command {
    Answer(Vec<ResumeEntry>, oneshot::Sender<Result<(), Unresumable>>),
}

/// All that a turn needs.
#[derive(Debug)]
pub(super) struct Drive {
    pub(super) setup: Arc<LocalSetup>,
    pub(super) key: TurnKey,
    pub(super) commands: mpsc::Receiver<Command>,
    pub(super) cancel: CancellationToken,
    /// The turn is let go of, to go on another time.
    pub(super) leave: CancellationToken,
}

/// A tool that asks to run.
type Asking = (ToolInvocation, oneshot::Sender<Decision>);

/// A question to the person.
#[derive(Debug)]
struct Open {
    interrupt: Interrupt,
    /// The tool that asks to run, and where its answer goes; none if the agent behind the server asks.
    asking: Option<(String, oneshot::Sender<Decision>)>,
}

/// What happens next in a turn.
enum Next {
    Said(Option<RunEvent>),
    Asked(Asking),
    Told(Command),
    Cancelled,
    OutOfTime,
    Left,
}

impl Drive {
    /// Drives the turn to its end.
    pub(super) async fn run(self, begin: Begin) {
        let key = self.key.clone();
        if let Err(error) = self.work(begin).await {
            if error.is_lost() {
                tracing::info!(target: "stepwell", turn = %key, %error, "a turn is left to its new owner");
            } else {
                tracing::error!(target: "stepwell", turn = %key, %error, "a turn cannot be stored");
            }
        }
    }

    async fn work(mut self, begin: Begin) -> Result<(), StoreError> {
        let key = self.key.clone();
        let input = RunAgentInput {
            thread_id: key.thread.thread.clone(),
            run_id: key.turn.clone(),
            ..RunAgentInput::default()
        };
        let (asking, mut asked) = mpsc::unbounded_channel();
        let (turn, begun) = self.begin(begin, asking);
        let mut turn = match turn {
            Ok(turn) => turn,
            Err(reason) => {
                tracing::error!(target: "stepwell", turn = %key, reason, "a turn cannot be set up");
                if let Some(begun) = begun {
                    let _ = begun.send(Err(EngineError::Internal));
                }
                return Ok(());
            }
        };
        let meter = self.setup.metrics.run();
        let mut first = self.first(&mut turn).await;
        let Some(stored) = turn.handle().stored().cloned() else {
            // The store did not take it: nothing of it went out.
            let finished = turn.finish().await;
            tracing::error!(target: "stepwell", turn = %key, outcome = ?finished.outcome, "a turn could not begin");
            if let Some(begun) = begun {
                let message = "the turn could not be stored".to_owned();
                let _ = begun.send(Err(StoreError::Unavailable { message }.into()));
            }
            return Ok(());
        };
        if let Some(begun) = begun {
            let _ = begun.send(Ok(()));
        }
        let store = Arc::clone(&self.setup.store);
        let (mut writer, written) = EventWriter::open(store, stored).await?;
        let mut rounds = Rounds::new(key.turn.to_string());
        self.announce(&turn, &mut writer, &written, &mut rounds)
            .await;
        let handle = turn.handle();
        let failed = writer.failed();
        tokio::pin!(failed);
        let deadline = Instant::now().checked_add(self.setup.run_time);
        let mut open: Vec<Open> = Vec::new();
        let mut stop = None;
        loop {
            let next = tokio::select! {
                biased;
                () = &mut failed => Next::Left,
                () = self.leave.cancelled() => Next::Left,
                () = self.cancel.cancelled(), if stop.is_none() => Next::Cancelled,
                () = until(deadline), if stop.is_none() => Next::OutOfTime,
                Some(command) = self.commands.recv() => Next::Told(command),
                Some(asking) = asked.recv() => Next::Asked(asking),
                event = take(&mut first, &mut turn) => Next::Said(event),
            };
            match next {
                Next::Left => {
                    // The snapshot of the last write is what the next owner goes on from.
                    let _ = turn.suspend().await;
                    return writer.finish().await;
                }
                Next::Cancelled => {
                    stop = Some(super::super::stop::Stop::Cancelled);
                    turn.cancel();
                }
                Next::OutOfTime => {
                    stop = Some(super::super::stop::Stop::OutOfTime);
                    turn.cancel();
                }
                Next::Asked((invocation, answer)) => {
                    let interrupt = self.question(&invocation);
                    writer.append(custom("interrupt", json!(interrupt))).await;
                    let asking = Some((invocation.name, answer));
                    open.push(Open { interrupt, asking });
                }
                Next::Told(Command::Answer(answers, told)) => {
                    let (decisions, forwarded) = match self.fits(&open, &answers) {
                        Ok(fitting) => fitting,
                        Err(error) => {
                            let _ = told.send(Err(error));
                            continue;
                        }
                    };
                    let result = match forwarded.is_empty() {
                        true => Ok(()),
                        false => handle.resume(forwarded).await,
                    };
                    let answered = result.map_err(|error| Unresumable::Payload {
                        id: answers[0].interrupt_id.clone(),
                        reason: error.to_string(),
                    });
                    if answered.is_ok() {
                        for answer in &answers {
                            let value = json!({ "interruptId": answer.interrupt_id });
                            writer.append(custom("interrupt_answered", value)).await;
                        }
                        let is_answered =
                            |id: &str| answers.iter().any(|answer| answer.interrupt_id == id);
                        let (closed, rest): (Vec<_>, Vec<_>) = open
                            .into_iter()
                            .partition(|open| is_answered(&open.interrupt.id));
                        open = rest;
                        for (open, decision) in closed.into_iter().zip(decisions) {
                            if let (Some((_, sender)), Some(decision)) = (open.asking, decision) {
                                let _ = sender.send(decision);
                            }
                        }
                    }
                    let _ = told.send(answered);
                }
                Next::Said(None) => break,
                Next::Said(Some(event)) => {
                    if let RunEvent::Interrupted { interrupts } = &event {
                        for interrupt in interrupts {
                            writer.append(custom("interrupt", json!(interrupt))).await;
                            open.push(Open {
                                interrupt: interrupt.clone(),
                                asking: None,
                            });
                        }
                    }
                    self.say(event, &mut writer, &mut rounds).await;
                }
            }
        }
        let finished = turn.finish().await;
        let endpoint = &self.setup.endpoint;
        let ending = Ending::of(&finished.outcome, stop, endpoint);
        let usage = usage_since(finished.usage, &Default::default(), endpoint);
        let event = ending.event(&input, usage);
        tracing::info!(target: "stepwell", turn = %key, end = event.kind(), "a turn is over");
        meter.end(&event);
        writer.end(event).await
    }

    /// The first that the turn says beside warnings: it is in the store by then.
    async fn first(&self, turn: &mut Turn) -> Option<RunEvent> {
        let mut is_cancelled = false;
        loop {
            let event = tokio::select! {
                () = self.cancel.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    turn.cancel();
                    continue;
                }
                event = turn.next() => event,
            };
            if !matches!(event, Some(RunEvent::Warning { .. })) {
                return event;
            }
        }
    }

    /// Sets up the agent, and starts or revives the turn.
    #[allow(clippy::type_complexity)]
    fn begin(
        &self,
        begin: Begin,
        asking: mpsc::UnboundedSender<Asking>,
    ) -> (
        Result<Turn, String>,
        Option<oneshot::Sender<Result<(), EngineError>>>,
    ) {
        let key = &self.key;
        let mut builder = self.setup.base.clone();
        if let Some(instructions) = &self.setup.instructions {
            builder = builder.instructions(instructions);
        }
        let agent = builder
            .store(Arc::clone(&self.setup.store))
            .owner(&self.setup.owner)
            .registry(SharedRegistry::default())
            .thread_key(key.thread.clone())
            .approver(move |invocation: ToolInvocation| {
                let (sender, decided) = oneshot::channel();
                let is_asked = asking.send((invocation, sender)).is_ok();
                async move {
                    match decided.await {
                        Ok(decision) if is_asked => decision,
                        // Nobody is there to ask: the turn is about to be let go of.
                        _ => std::future::pending().await,
                    }
                }
            })
            .build()
            .map_err(|error| error.to_string());
        match begin {
            Begin::Started {
                parent,
                message,
                begun,
            } => {
                let start = Start {
                    run_id: key.turn.clone(),
                    message: message.map(|message| *message),
                    resume: Vec::new(),
                    parent_run_id: None,
                };
                let turn = agent.map(|agent| match parent {
                    Parent::Latest => agent.start(start),
                    Parent::Root => agent.branch(None, start),
                    Parent::Turn(parent) => agent.branch(Some(parent), start),
                });
                (turn, Some(begun))
            }
            Begin::Revived(snapshot) => {
                let turn = agent
                    .and_then(|agent| agent.revive(&snapshot).map_err(|error| error.to_string()));
                (turn, None)
            }
        }
    }

    /// Says that the turn begins; or, if another owner had begun it, where it stands.
    async fn announce(
        &self,
        turn: &Turn,
        writer: &mut EventWriter,
        written: &Written,
        rounds: &mut Rounds,
    ) {
        let key = &self.key;
        if written.events.is_empty() {
            let started = RunStarted {
                thread_id: key.thread.thread.clone(),
                run_id: key.turn.clone(),
                protocol_version: Some(PROTOCOL_VERSION.to_owned()),
                ..RunStarted::default()
            };
            return writer.append(started.into()).await;
        }
        for event in &written.events {
            if let Event::ToolCallResult(result) = event {
                rounds.is_known(&result.tool_call_id);
            }
        }
        // What was shown after the last write may be gone, or come again: whoever watches begins anew from here.
        writer.close_open_items().await;
        if let Ok(conversation) = turn.handle().conversation().await {
            let snapshot = MessagesSnapshot {
                messages: conversation.messages().to_vec(),
                ..MessagesSnapshot::default()
            };
            writer.append(snapshot.into()).await;
        }
    }

    async fn say(&self, event: RunEvent, writer: &mut EventWriter, rounds: &mut Rounds) {
        match event {
            RunEvent::AgUi(event) => {
                if let Event::ToolCallResult(result) = &event {
                    rounds.is_known(&result.tool_call_id);
                }
                writer.append(event).await;
            }
            RunEvent::ToolCall(update) => {
                writer.append(progress(&update)).await;
                if let Some(result) = rounds.update(update) {
                    writer.append(result).await;
                }
            }
            RunEvent::Retrying {
                attempt, delay_ms, ..
            } => {
                let value = json!({ "attempt": attempt, "delayMs": delay_ms });
                writer.append(custom("retrying", value)).await;
            }
            _ => {}
        }
    }

    fn question(&self, invocation: &ToolInvocation) -> Interrupt {
        let time = time::Duration::try_from(self.setup.interrupt_time).ok();
        let now = OffsetDateTime::now_utc().replace_nanosecond(0).ok();
        let expires = now.zip(time).and_then(|(now, time)| now.checked_add(time));
        let mut question = interrupts::question(invocation, &self.setup.tools, expires);
        // The same after a restart.
        question.id = format!("interrupt-{}", invocation.tool_call_id);
        question
    }

    /// What the answers say, in the order of the open questions that they are to.
    #[allow(clippy::type_complexity)]
    fn fits(
        &self,
        open: &[Open],
        answers: &[ResumeEntry],
    ) -> Result<(Vec<Option<Decision>>, Vec<ResumeEntry>), Unresumable> {
        for (index, answer) in answers.iter().enumerate() {
            let id = &answer.interrupt_id;
            if !open.iter().any(|open| open.interrupt.id == *id) {
                return Err(Unresumable::Unknown(id.clone()));
            }
            if answers[..index]
                .iter()
                .any(|earlier| earlier.interrupt_id == *id)
            {
                return Err(Unresumable::Twice(id.clone()));
            }
        }
        let mut decisions = Vec::new();
        let mut forwarded = Vec::new();
        for open in open {
            let id = &open.interrupt.id;
            let Some(answer) = answers.iter().find(|answer| answer.interrupt_id == *id) else {
                continue;
            };
            match &open.asking {
                Some((tool, _)) => {
                    let decision = interrupts::decision(answer, tool, &self.setup.tools);
                    decisions.push(Some(decision.map_err(|reason| Unresumable::Payload {
                        id: id.clone(),
                        reason,
                    })?));
                }
                None => {
                    decisions.push(None);
                    forwarded.push(answer.clone());
                }
            }
        }
        Ok((decisions, forwarded))
    }
}

/// The event that was taken before, or the next one.
async fn take(first: &mut Option<RunEvent>, turn: &mut Turn) -> Option<RunEvent> {
    match first.take() {
        Some(event) => Some(event),
        None => turn.next().await,
    }
}

/// Where a tool call stands. AG-UI has no event of its own for it.
fn progress(update: &ToolCallUpdate) -> Event {
    let status = match update.status {
        ToolCallStatus::Streaming => "streaming",
        ToolCallStatus::AwaitingApproval => "awaiting_approval",
        ToolCallStatus::Executing => "executing",
        ToolCallStatus::Deferred => "deferred",
        ToolCallStatus::Completed => "completed",
        ToolCallStatus::Failed => "failed",
        ToolCallStatus::Denied => "denied",
        ToolCallStatus::Cancelled => "cancelled",
        _ => "pending",
    };
    let value = json!({
        "toolCallId": update.tool_call_id,
        "toolName": update.name,
        "status": status,
    });
    custom("tool_status", value)
}

fn custom(name: &str, value: Value) -> Event {
    Custom {
        name: name.to_owned(),
        value,
        common: None,
    }
    .into()
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
