//! One stored turn: driven by an agent, and what it says goes into the store.

use super::super::ending::{Ending, usage_since};
use super::super::open_turn::Unresumable;
use super::super::rounds::Rounds;
use super::super::stop::Stop;
use super::super::store_trouble::{StoreTrouble, custom};
use super::announce::{Stands, announce, progress};
use super::call_labels::CallLabels;
use super::event_writer::{EventWriter, Log};
use super::local::LocalSetup;
use super::questions::{Asking, Questions};
use super::store_waits::StoreWaits;
use super::stored_results::watched;
use super::{EngineError, Parent};
use futures::StreamExt;
use serde_json::json;
use std::sync::Arc;
use stepwell_core::event::{Event, Message, ResumeEntry, RunAgentInput};
use stepwell_core::run::Durability;
use stepwell_io::store::{Store, StoreError, TurnKey};
use stepwell_io::{RunEvent, SharedRegistry, Start, ToolInvocation, Turn, TurnHandle};
use time::OffsetDateTime;
use tokio::sync::{mpsc, oneshot, watch};
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
    /// What keeps the turn from being stored: told to whoever follows it on this host.
    pub(super) trouble: watch::Sender<Option<StoreTrouble>>,
}

/// What happens next in a turn.
enum Next {
    Said(Option<RunEvent>),
    Asked(Asking),
    Told(Command),
    Waits(Option<StoreTrouble>),
    Stopped(Stop),
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
        let (store, results) = watched(Arc::clone(&self.setup.store));
        let (turn, begun) = self.begin(begin, asking, store);
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
        let handle = turn.handle();
        let Some(stored) = handle.stored().cloned() else {
            // The store did not take it: nothing of it went out.
            let refused = handle.store_trouble().borrow().clone();
            let finished = turn.finish().await;
            tracing::error!(target: "stepwell", turn = %key, outcome = ?finished.outcome, "a turn could not begin");
            if let Some(begun) = begun {
                let refused = refused.unwrap_or_else(|| StoreError::Other {
                    message: "the turn could not be stored".to_owned(),
                });
                let _ = begun.send(Err(refused.into()));
            }
            return Ok(());
        };
        if let Some(begun) = begun {
            let _ = begun.send(Ok(()));
        }
        let log = Log {
            store: Arc::clone(&self.setup.store),
            turn: stored,
            results,
            leave: self.leave.clone(),
            trouble: watch::Sender::default(),
        };
        let (mut writer, written) = match EventWriter::open(log).await {
            Ok(opened) => opened,
            Err(error) => {
                // It stays unfinished: dropped, it would end as cancelled.
                let _ = turn.suspend().await;
                return Err(error);
            }
        };
        let mut rounds = Rounds::new(key.turn.to_string());
        let mut labels = CallLabels::default();
        let stands = Stands {
            key: &key,
            conversation: handle.revived_from(),
            written: &written,
            tools: &self.setup.tools,
        };
        announce(stands, &mut writer, &mut rounds, &mut labels).await;
        let failed = writer.failed();
        tokio::pin!(failed);
        let deadline = Instant::now().checked_add(self.setup.run_time);
        let mut waits = StoreWaits::new(&handle, &writer, self.setup.store_timeout);
        let mut questions = Questions::default();
        let mut stop = None;
        loop {
            let next = tokio::select! {
                biased;
                () = &mut failed => Next::Left,
                () = self.leave.cancelled() => Next::Left,
                () = self.cancel.cancelled(), if stop.is_none() => Next::Stopped(Stop::Cancelled),
                () = until(deadline), if stop.is_none() => Next::Stopped(Stop::OutOfTime),
                () = until(waits.deadline()), if stop.is_none() => Next::Stopped(Stop::StoreAway),
                trouble = waits.changed() => Next::Waits(trouble),
                Some(command) = self.commands.recv() => Next::Told(command),
                Some(asking) = asked.recv() => Next::Asked(asking),
                event = take(&writer, &mut first, &mut turn) => Next::Said(event),
            };
            match next {
                Next::Left => {
                    // The snapshot of the last write is what the next owner goes on from.
                    let _ = turn.suspend().await;
                    return writer.finish().await;
                }
                Next::Stopped(why) => {
                    stop = Some(why);
                    turn.cancel();
                }
                Next::Waits(trouble) => {
                    let before = self.trouble.send_replace(trouble);
                    if let (None, Some(trouble)) = (before, trouble) {
                        writer.append(trouble.warning()).await;
                    }
                }
                Next::Asked(asking) => {
                    let interrupt = questions.ask(asking, &self.setup.tools, self.expires());
                    writer.append(custom("interrupt", json!(interrupt))).await;
                }
                Next::Told(Command::Answer(answers, told)) => {
                    let answered = self
                        .answer(&answers, &mut questions, &handle, &mut writer)
                        .await;
                    let _ = told.send(answered);
                }
                Next::Said(None) => break,
                Next::Said(Some(event)) => {
                    if let RunEvent::Interrupted { interrupts } = &event {
                        for interrupt in interrupts {
                            writer.append(custom("interrupt", json!(interrupt))).await;
                            questions.ask_for_agent(interrupt.clone());
                        }
                    }
                    self.say(event, &mut writer, &mut rounds, &mut labels).await;
                }
            }
        }
        let finished = turn.finish().await;
        let endpoint = &self.setup.endpoint;
        let ending = Ending::of(&finished.outcome, stop, endpoint);
        let usage = usage_since(finished.usage, &Default::default(), endpoint);
        if let Some(notice) = ending.notice() {
            writer.append(notice).await;
        }
        let event = ending.event(&input, usage);
        tracing::info!(target: "stepwell", turn = %key, end = event.kind(), "a turn is over");
        meter.end(&event);
        writer.end(event).await
    }

    /// Hands the person's answers on, if they fit.
    async fn answer(
        &self,
        answers: &[ResumeEntry],
        questions: &mut Questions,
        handle: &TurnHandle,
        writer: &mut EventWriter,
    ) -> Result<(), Unresumable> {
        let mut fitting = questions.fit(answers, &self.setup.tools)?;
        let forwarded = std::mem::take(&mut fitting.forwarded);
        if !forwarded.is_empty() {
            let resumed = handle.resume(forwarded).await;
            resumed.map_err(|error| Unresumable::Payload {
                id: answers[0].interrupt_id.clone(),
                reason: error.to_string(),
            })?;
        }
        for answer in answers {
            let value = json!({ "interruptId": answer.interrupt_id });
            writer.append(custom("interrupt_answered", value)).await;
        }
        questions.close(answers, fitting);
        Ok(())
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
        store: Arc<dyn Store>,
    ) -> (
        Result<Turn, String>,
        Option<oneshot::Sender<Result<(), EngineError>>>,
    ) {
        let key = &self.key;
        let mut builder = self.setup.base.clone();
        if let Some(instructions) = &self.setup.instructions {
            builder = builder.instructions(instructions);
        }
        let attempts = self.setup.attempts();
        let agent = builder
            .store(store)
            .owner(&self.setup.owner)
            .wait_for_store()
            // For the beginning of a turn, which somebody waits for.
            .configure(|config| config.durability = Durability::Blocks { attempts })
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

    async fn say(
        &self,
        event: RunEvent,
        writer: &mut EventWriter,
        rounds: &mut Rounds,
        labels: &mut CallLabels,
    ) {
        match event {
            RunEvent::AgUi(event) => {
                labels.note(&event);
                if let Event::ToolCallResult(result) = &event {
                    rounds.is_known(&result.tool_call_id);
                }
                writer.append(event).await;
            }
            RunEvent::ToolCall(update) => {
                let label = labels.label(&update, &self.setup.tools);
                let event = progress(&update, &label);
                if update.result.is_none() {
                    return writer.append(event).await;
                }
                let call = update.tool_call_id.clone();
                writer.append_result(event, &call).await;
                if let Some(result) = rounds.update(update) {
                    writer.append_result(result, &call).await;
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

    /// When a question that is asked now lapses.
    fn expires(&self) -> Option<OffsetDateTime> {
        let time = time::Duration::try_from(self.setup.interrupt_time).ok()?;
        let now = OffsetDateTime::now_utc();
        now.replace_nanosecond(0).ok()?.checked_add(time)
    }
}

/// The event that was taken before, or the next one, once the log has room for it.
async fn take(
    writer: &EventWriter,
    first: &mut Option<RunEvent>,
    turn: &mut Turn,
) -> Option<RunEvent> {
    writer.room().await;
    match first.take() {
        Some(event) => Some(event),
        None => turn.next().await,
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
