//! A run: a turn that is kept nowhere, and told to the one client that waits for it. Where it waits for somebody the run
//! ends, and the client's next run goes on with it.

use crate::run::drive::{Drive, Over};
use crate::run::open_turn::{Held, OpenTurn, Running};
use crate::run::places::{Beginning, Place};
use crate::run::resumed::Work;
use crate::run::writer::RunWriter;
use crate::turn::asking::Asking;
use crate::turn::ending::{Ending, usage_since};
use crate::turn::rounds::Rounds;
use crate::turn::shared_state::SharedState;
use crate::wire::event_log::{EventStream, LogWriter, event_log};
use crate::wire::format::Format;
use futures::{FutureExt, StreamExt};
use serde_json::json;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;
use stepwell_core::dialect::ClientVersion;
use stepwell_core::event::{PROTOCOL_VERSION, RunAgentInput, RunOutcome, RunStarted, TokenUsage};
use stepwell_core::run::TurnOptions;
use stepwell_io::{Agent, Endpoint, Event, RunEvent, Start, ToolRegistry, Turn};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// A run that is about to begin: [`run`](Self::run) drives it.
#[derive(Debug)]
#[must_use = "nothing happens until it is driven"]
pub struct AgUiRun {
    pub(crate) input: RunAgentInput,
    pub(crate) agent: Agent,
    /// The tools that run here.
    pub(crate) tools: ToolRegistry,
    /// What its tools ask the user.
    pub(crate) asked: mpsc::UnboundedReceiver<Asking>,
    pub(crate) state: SharedState,
    pub(crate) place: Place,
    pub(crate) log: LogWriter,
    pub(crate) beginning: Beginning,
    pub(crate) run_time: Duration,
    pub(crate) interrupt_time: Duration,
}

/// A run that has begun to speak.
struct Speaking<'a> {
    input: &'a RunAgentInput,
    agent: Agent,
    endpoint: Endpoint,
    tools: &'a ToolRegistry,
    run_time: Duration,
    interrupt_time: Duration,
    place: &'a Place,
    writer: &'a mut RunWriter,
}

impl AgUiRun {
    /// Drives the run to its end, or until it waits for somebody; `leave` stops it. Whatever happens, its stream ends with
    /// an event that says so, which `ended` is shown before the client is.
    pub async fn run(self, leave: CancellationToken, ended: impl FnOnce(&Event)) {
        let Self {
            input,
            agent,
            tools,
            asked,
            state,
            place,
            log,
            beginning,
            run_time,
            interrupt_time,
        } = self;
        let (thread, run) = (&input.thread_id, &input.run_id);
        tracing::info!(target: "stepwell", %thread, %run, "a run begins");
        let mut writer = begin(&input, log);
        let endpoint = agent.endpoint().clone();
        let speaking = Speaking {
            input: &input,
            agent,
            endpoint,
            tools: &tools,
            run_time,
            interrupt_time,
            place: &place,
            writer: &mut writer,
        };
        let work = AssertUnwindSafe(speaking.work(beginning, asked, state, leave)).catch_unwind();
        let (ending, usage) = work.await.unwrap_or_else(|_| {
            tracing::error!(target: "stepwell", %thread, %run, "a run broke off");
            (Ending::internal(), None)
        });
        if let Some(notice) = ending.notice() {
            writer.append(notice);
        }
        let event = ending.event(&input, usage);
        tracing::info!(target: "stepwell", %thread, %run, end = event.kind(), "a run is over");
        ended(&event);
        // A client that reads the end may begin its next run at once.
        drop(place);
        writer.end(event);
    }
}

/// A turn of the app's own as one whole run, from `RUN_STARTED` to its end: for a handler of the app's own. `input` is what
/// the client asked with; without it the run goes by the ids of the turn. Letting go of the stream stops the turn, and
/// whoever reads it slowly holds the turn up.
///
/// Calls that the app's tools defer are the client's to answer: the run ends with them pending, and so does the turn.
/// What an agent asks ends it too, with the interrupt: the client's next run has the answer, for [`Start::resume`].
///
/// # Panics
/// Outside of a tokio runtime.
#[must_use]
pub fn run_of(mut turn: Turn, input: Option<RunAgentInput>, format: Format) -> EventStream {
    let (log, stream) = event_log(format);
    tokio::spawn(async move {
        let mut own = RunAgentInput::default();
        while let Some(event) = turn.next().await {
            if let RunEvent::Started { thread_id, run_id } = event {
                own.thread_id = thread_id;
                own.run_id = run_id;
                break;
            }
        }
        let prefix = own.run_id.to_string();
        let input = input.unwrap_or(own);
        let mut writer = begin(&input, log);
        let drive = Drive {
            tools: &ToolRegistry::new(),
            endpoint: None,
            run_time: Duration::MAX,
            interrupt_time: Duration::MAX,
            turn,
            writer: &mut writer,
            rounds: Rounds::new(prefix),
            asked: mpsc::unbounded_channel().1,
            cancel: CancellationToken::new(),
            leave: CancellationToken::new(),
            state: SharedState::new(json!({})),
            decisions: HashMap::new(),
            has_moved: false,
        };
        let (ending, usage) = match drive.run().await {
            Over::Ended(ending, usage) => (ending, usage),
            Over::Deferred(calls, usage) => (Ending::pending(calls), usage),
            Over::Asks {
                turn, questions, ..
            } => {
                let usage = turn.handle().usage().await.unwrap_or_default();
                let questions = questions.to_vec().into_iter();
                let interrupts = questions.map(|question| question.interrupt);
                let outcome = RunOutcome::Interrupt {
                    interrupts: interrupts.collect(),
                };
                (Ending::Finished(outcome), usage)
            }
        };
        if let Some(notice) = ending.notice() {
            writer.append(notice);
        }
        let usage = usage_since(usage, &TokenUsage::default(), None);
        writer.end(ending.event(&input, usage));
    });
    stream
}

fn begin(input: &RunAgentInput, log: LogWriter) -> RunWriter {
    let version = ClientVersion::declared(input.protocol_version.as_deref());
    let mut writer = RunWriter::new(log, version);
    let started = RunStarted {
        thread_id: input.thread_id.clone(),
        run_id: input.run_id.clone(),
        protocol_version: Some(PROTOCOL_VERSION.to_owned()),
        parent_run_id: input.parent_run_id.clone(),
        ..RunStarted::default()
    };
    writer.append(started.into());
    writer
}

impl Speaking<'_> {
    async fn work(
        self,
        beginning: Beginning,
        asked: mpsc::UnboundedReceiver<Asking>,
        state: SharedState,
        leave: CancellationToken,
    ) -> (Ending, Option<TokenUsage>) {
        let own_id = self.own_id();
        let mut rounds = Rounds::new(own_id.clone());
        let Work {
            turn,
            before,
            decisions,
            asked,
            state,
        } = match beginning {
            Beginning::Refused(error) => {
                return (Ending::failed(error.code(), error.to_string()), None);
            }
            Beginning::Fresh => {
                let start = Start {
                    parent_run_id: self.input.parent_run_id.clone(),
                    run_id: own_id.into(),
                    message: None,
                    resume: Vec::new(),
                    options: TurnOptions::default(),
                };
                Work {
                    turn: self.agent.start(start),
                    before: TokenUsage::default(),
                    decisions: HashMap::new(),
                    asked,
                    state,
                }
            }
            Beginning::Resumed(open, answers) => {
                rounds.go_on(&open);
                for (call, decision) in &answers.decisions {
                    rounds.decided(call, decision);
                }
                let work = Work::resumed(
                    *open,
                    answers,
                    asked,
                    state,
                    &self.agent,
                    self.input,
                    &mut rounds,
                );
                match Box::pin(work).await {
                    Some(work) => work,
                    None => return (Ending::internal(), None),
                }
            }
        };
        let drive = Drive {
            tools: self.tools,
            endpoint: Some(&self.endpoint),
            run_time: self.run_time,
            interrupt_time: self.interrupt_time,
            turn,
            writer: self.writer,
            rounds,
            asked,
            cancel: self.place.cancel.clone(),
            leave,
            state,
            decisions,
            has_moved: false,
        };
        let own = |all| usage_since(all, &before, Some(&self.endpoint));
        let (outcome, usage) = match drive.run().await {
            Over::Ended(ending, usage) => return (ending, own(usage)),
            Over::Deferred(calls, usage) => return (Ending::pending(calls), own(usage)),
            Over::Asks {
                turn,
                rounds,
                questions,
                asked,
                state,
            } => {
                let usage = turn.handle().usage().await.unwrap_or_default();
                let open = questions.to_vec();
                let held = match questions.has_tools() {
                    false => turn.suspend().await.map(Held::Suspended),
                    // A tool that runs is in no snapshot.
                    true => turn.handle().snapshot().await.map(|snapshot| {
                        Held::Running(Box::new(Running {
                            turn,
                            questions,
                            asked,
                            state,
                            size: snapshot.len(),
                            stops: None,
                        }))
                    }),
                };
                let Ok(held) = held else {
                    return (Ending::internal(), own(usage));
                };
                let interrupts = open.iter().map(|question| question.interrupt.clone());
                let interrupts = interrupts.collect();
                let is_kept = self.place.keep(OpenTurn {
                    held,
                    questions: open,
                    usage: usage.clone(),
                    told: rounds.into_told(),
                });
                let outcome = match is_kept {
                    true => RunOutcome::Interrupt { interrupts },
                    // Another run has the thread.
                    false => RunOutcome::Cancelled,
                };
                (outcome, own(usage))
            }
        };
        (Ending::Finished(outcome), usage)
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
}
