//! Carries out a machine's effects until the turn is over.

use crate::clock::Clock;
use crate::journal::Journaled;
use crate::tools::{Approver, Handlers};
use crate::turn::Finished;
use crate::{http, spans, tools};
use std::collections::HashMap;
use std::sync::Arc;
use stepwell_core::dialect::HttpRequest;
use stepwell_core::event::ResumeEntry;
use stepwell_core::run::{
    Decision, Effect, EffectId, Input, Misuse, Outcome, Output, RunConfig, RunEvent, ToolInvocation,
};
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

/// What a turn needs beside its machine.
pub(crate) struct Driver {
    pub(crate) run: Journaled,
    pub(crate) config: Arc<RunConfig>,
    pub(crate) handlers: Arc<Handlers>,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) client: reqwest::Client,
    pub(crate) clock: Clock,
    pub(crate) cancel: CancellationToken,
    pub(crate) events: mpsc::Sender<RunEvent>,
    /// The person's answers to an agent's questions.
    pub(crate) answers: mpsc::Receiver<Answers>,
    /// Events of a cancelled turn that the app has not taken yet.
    pub(crate) late: Vec<RunEvent>,
}

/// Answers to an agent's questions, and where to say whether they fit.
pub(crate) struct Answers {
    pub(crate) entries: Vec<ResumeEntry>,
    pub(crate) taken: oneshot::Sender<Result<(), Misuse>>,
}

/// Inputs that may wait for the machine: enough to keep the network busy, few enough to push back.
const INPUTS: usize = 32;

/// The events that end a turn: to be sent when all is in place for the next one.
pub(crate) struct RestOfEvents {
    rest: Vec<RunEvent>,
    events: mpsc::Sender<RunEvent>,
}

impl RestOfEvents {
    pub(crate) async fn send(self) {
        for event in self.rest {
            if self.events.send(event).await.is_err() {
                // The app has let go of the turn.
                return;
            }
        }
    }
}

/// What runs for an effect; stopped when it is dropped.
struct Running(AbortHandle);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Driver {
    /// Drives the turn to its end. Events that nobody takes any more are dropped; the turn goes on. The last events
    /// are given back instead of shown.
    pub(crate) async fn run(mut self) -> (Finished, RestOfEvents) {
        let (inputs, mut arrived) = mpsc::channel(INPUTS);
        let mut running: HashMap<EffectId, Running> = HashMap::new();
        let mut cancelled = false;
        loop {
            while let Some(output) = self.run.poll_output() {
                match output {
                    Output::Event(RunEvent::Completed(_)) => {}
                    Output::Event(event) => self.show(event).await,
                    Output::Effect(id, effect) => self.carry_out(id, effect, &inputs, &mut running),
                }
            }
            if let Some(outcome) = self.run.machine.outcome().cloned() {
                self.run.end();
                let mut rest = std::mem::take(&mut self.late);
                rest.push(RunEvent::Completed(outcome.clone()));
                let rest = RestOfEvents {
                    rest,
                    events: self.events.clone(),
                };
                return (self.finished(outcome), rest);
            }
            let wake = self
                .run
                .machine
                .poll_timeout()
                .map(|at| self.clock.instant(at));
            let input = tokio::select! {
                () = self.cancel.cancelled(), if !cancelled => {
                    cancelled = true;
                    Input::Cancel
                }
                // The driver holds a sender, so the channel never closes.
                Some(input) = arrived.recv() => input,
                Some(Answers { entries, taken }) = self.answers.recv() => {
                    let resumed = self.run.handle(Input::Resume(entries), self.clock.now());
                    // Who asked may have gone in the meantime.
                    let _ = taken.send(resumed);
                    continue;
                }
                () = sleep_until(wake) => Input::Timeout,
            };
            if let Some(effect) = input.effect()
                && is_last_word(&input)
            {
                running.remove(&effect);
            }
            if let Err(misuse) = self.run.handle(input, self.clock.now()) {
                // Every input above answers an effect of this machine: this is a fault of Stepwell's own.
                tracing::error!(target: "stepwell", %misuse, "the machine refused an input");
            }
        }
    }

    fn finished(self, outcome: Outcome) -> Finished {
        let span = Span::current();
        span.record("stepwell.outcome", outcome_name(&outcome));
        let usage = self.run.machine.usage();
        spans::record_usage(&span, &usage);
        let hops = self.run.machine.hop() + 1;
        Finished {
            outcome,
            conversation: self.run.machine.conversation().clone(),
            usage,
            hops,
        }
    }

    /// Waits for the app to take the event. A cancelled turn does not wait: what the app is slow to take then comes
    /// when the turn is over.
    async fn show(&mut self, event: RunEvent) {
        if !self.late.is_empty() {
            return self.late.push(event);
        }
        match self.events.try_send(event) {
            Err(TrySendError::Full(event)) => {
                let room = tokio::select! {
                    room = self.events.reserve() => room.ok(),
                    () = self.cancel.cancelled() => return self.late.push(event),
                };
                if let Some(room) = room {
                    room.send(event);
                }
            }
            // Nobody listens any more: the turn goes on all the same.
            Ok(()) | Err(TrySendError::Closed(_)) => {}
        }
    }

    fn carry_out(
        &self,
        id: EffectId,
        effect: Effect,
        inputs: &mpsc::Sender<Input<'static>>,
        running: &mut HashMap<EffectId, Running>,
    ) {
        let task = match effect {
            Effect::OpenStream { request } => self.open(id, request, inputs.clone()),
            Effect::RunTool { invocation } => self.run_tool(id, invocation, inputs.clone()),
            Effect::AskApproval { invocation } => self.ask(id, invocation, inputs.clone()),
            Effect::CloseStream | Effect::CancelTool => {
                running.remove(&id);
                return;
            }
            Effect::CreateRun { .. } => {
                let message = "this app has no run source".to_owned();
                answer(
                    Input::RunNotCreated {
                        effect: id,
                        message,
                    },
                    inputs.clone(),
                )
            }
            Effect::Persist { .. } => {
                let message = "this app has no store".to_owned();
                answer(
                    Input::PersistFailed {
                        effect: id,
                        message,
                    },
                    inputs.clone(),
                )
            }
            other => {
                tracing::error!(target: "stepwell", effect = ?id, "no way to carry out {other:?}");
                return;
            }
        };
        running.insert(id, Running(task));
    }

    fn open(
        &self,
        id: EffectId,
        request: HttpRequest,
        inputs: mpsc::Sender<Input<'static>>,
    ) -> AbortHandle {
        let (hop, attempt) = match id {
            EffectId::Open { hop, attempt } => (hop, attempt),
            _ => (0, 0),
        };
        let span = spans::hop(&self.config.endpoint, hop, attempt);
        let client = self.client.clone();
        tokio::spawn(http::stream(client, request, id, inputs).instrument(span)).abort_handle()
    }

    fn run_tool(
        &self,
        id: EffectId,
        invocation: ToolInvocation,
        inputs: mpsc::Sender<Input<'static>>,
    ) -> AbortHandle {
        let span = spans::tool(&invocation);
        let handler = self.handlers.get(&invocation.name).cloned();
        let work = async move {
            let result = tools::run(handler, invocation).await;
            if let Err(failure) = &result {
                tracing::warn!(target: "stepwell", kind = ?failure.kind, "the tool failed");
            }
            let _ = inputs
                .send(Input::ToolFinished { effect: id, result })
                .await;
        };
        tokio::spawn(work.instrument(span)).abort_handle()
    }

    fn ask(
        &self,
        id: EffectId,
        invocation: ToolInvocation,
        inputs: mpsc::Sender<Input<'static>>,
    ) -> AbortHandle {
        let approver = self.approver.clone();
        let work = async move {
            let decision = match approver {
                Some(approver) => approver.decide(invocation).await,
                None => Decision::Denied {
                    reason: Some("this app has no way to ask the person".to_owned()),
                },
            };
            let _ = inputs
                .send(Input::Decided {
                    effect: id,
                    decision,
                })
                .await;
        };
        tokio::spawn(work).abort_handle()
    }
}

fn answer(input: Input<'static>, inputs: mpsc::Sender<Input<'static>>) -> AbortHandle {
    tokio::spawn(async move {
        let _ = inputs.send(input).await;
    })
    .abort_handle()
}

/// Whether nothing comes for the effect after this input.
fn is_last_word(input: &Input<'_>) -> bool {
    !matches!(input, Input::Opened { .. } | Input::Received { .. })
}

async fn sleep_until(wake: Option<tokio::time::Instant>) {
    match wake {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn outcome_name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Success => "success",
        Outcome::LimitReached { limit } => limit.name(),
        Outcome::Cancelled => "cancelled",
        Outcome::Truncated => "truncated",
        _ => "failed",
    }
}
