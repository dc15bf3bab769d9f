//! A run of `POST /agent`: a turn that is kept nowhere, and told to the one client that waits for it. Where it waits for
//! somebody the run ends, and the client's next run goes on with it.

use super::super::ending::{Ending, usage_since};
use super::super::event_log::LogWriter;
use super::super::open_turn::OpenTurn;
use super::super::rounds::Rounds;
use super::super::shared_state::SharedState;
use super::super::threads::{Beginning, Place};
use super::drive::{Audience, Client, Drive, Over};
use super::event_writer::EventWriter;
use super::local::LocalSetup;
use super::questions::{Asking, Questions};
use futures::FutureExt;
use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use stepwell_core::dialect::ClientVersion;
use stepwell_core::event::{
    Message, PROTOCOL_VERSION, ResumeEntry, RunAgentInput, RunOutcome, RunStarted, TokenUsage,
    ToolMessage,
};
use stepwell_core::run::TurnOptions;
use stepwell_io::{
    Agent, Start, ToolCallStatus, ToolFailure, ToolOutput, ToolResult, Turn, TurnHandle,
};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// All that a run needs.
#[derive(Debug)]
pub(in crate::serve) struct AgentRun {
    pub(in crate::serve) input: RunAgentInput,
    pub(in crate::serve) agent: Agent,
    /// What its tools ask the user.
    pub(in crate::serve) asked: mpsc::UnboundedReceiver<Asking>,
    pub(in crate::serve) state: SharedState,
    pub(in crate::serve) place: Place,
    pub(in crate::serve) log: LogWriter,
    pub(in crate::serve) beginning: Beginning,
}

/// A run that has begun to speak.
struct Speaking<'a> {
    setup: &'a LocalSetup,
    input: &'a RunAgentInput,
    agent: Agent,
    place: &'a Place,
    writer: &'a mut EventWriter,
}

impl AgentRun {
    /// Drives the run to its end. Whatever happens, its stream ends with an event that says so.
    pub(super) async fn run(self, setup: &LocalSetup, leave: CancellationToken) {
        let Self {
            input,
            agent,
            asked,
            state,
            place,
            log,
            beginning,
        } = self;
        let (thread, run) = (&input.thread_id, &input.run_id);
        tracing::info!(target: "stepwell", %thread, %run, "a run begins");
        let meter = setup.metrics.run();
        let started = RunStarted {
            thread_id: thread.clone(),
            run_id: run.clone(),
            protocol_version: Some(PROTOCOL_VERSION.to_owned()),
            parent_run_id: input.parent_run_id.clone(),
            ..RunStarted::default()
        };
        let version = ClientVersion::declared(input.protocol_version.as_deref());
        let mut writer = EventWriter::to_client(log, version);
        writer.append(started.into()).await;
        let speaking = Speaking {
            setup,
            input: &input,
            agent,
            place: &place,
            writer: &mut writer,
        };
        let work = AssertUnwindSafe(speaking.work(beginning, asked, state, leave)).catch_unwind();
        let (ending, usage) = work.await.unwrap_or_else(|_| {
            tracing::error!(target: "stepwell", %thread, %run, "a run broke off");
            (Ending::internal(), None)
        });
        if let Some(notice) = ending.notice() {
            writer.append(notice).await;
        }
        let event = ending.event(&input, usage);
        tracing::info!(target: "stepwell", %thread, %run, end = event.kind(), "a run is over");
        meter.end(&event);
        // A client that reads the end may begin its next run at once.
        drop(place);
        // A client takes all that it is told.
        let _ = writer.end(event).await;
    }
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
        let (turn, before, decisions) = match beginning {
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
                let turn = self.agent.start(start);
                (turn, TokenUsage::default(), HashMap::new())
            }
            Beginning::Resumed(open, answers) => {
                rounds.go_on(&open);
                for (call, decision) in &answers.decisions {
                    rounds.decided(call, decision);
                }
                let Some(turn) = self.resume(&open, answers.forwarded, &mut rounds).await else {
                    return (Ending::internal(), None);
                };
                (turn, open.usage, answers.decisions)
            }
        };
        let mut client = Client { state, decisions };
        let drive = Drive {
            setup: self.setup,
            endpoint: &self.setup.endpoint,
            turn,
            writer: self.writer,
            rounds,
            labels: Default::default(),
            questions: Questions::default(),
            asked,
            cancel: self.place.cancel.clone(),
            leave,
            trouble: watch::Sender::default(),
            audience: Audience::Client(&mut client),
            early: Vec::new(),
        };
        let own = |all| usage_since(all, &before, &self.setup.endpoint);
        let (outcome, usage) = match drive.run().await {
            Over::Ended(ending, usage) => return (ending, own(usage)),
            Over::Left => (RunOutcome::Cancelled, None),
            Over::Deferred(calls, usage) => {
                let outcome = RunOutcome::Success {
                    pending_tool_call_ids: Some(calls),
                };
                (outcome, own(usage))
            }
            Over::Asks {
                turn,
                rounds,
                questions,
            } => {
                let usage = turn.handle().usage().await.unwrap_or_default();
                let Ok(snapshot) = turn.suspend().await else {
                    return (Ending::internal(), own(usage));
                };
                let interrupts = questions.iter().map(|question| question.interrupt.clone());
                let interrupts = interrupts.collect();
                let is_kept = self.place.keep(OpenTurn {
                    snapshot,
                    questions,
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

    /// Goes on with a turn that waited for the user, with what they said and what the client's tools gave meanwhile.
    async fn resume(
        &self,
        open: &OpenTurn,
        forwarded: Vec<ResumeEntry>,
        rounds: &mut Rounds,
    ) -> Option<Turn> {
        let revived = self.agent.revive(&open.snapshot);
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
        if !forwarded.is_empty()
            && let Err(error) = handle.resume(forwarded).await
        {
            tracing::error!(target: "stepwell", %error, "the agent's questions cannot be answered");
            return None;
        }
        Some(revived)
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
