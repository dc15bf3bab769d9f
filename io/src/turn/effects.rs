//! Carries out a machine's effects (streams, tools, questions to the user), each in a task of its own.

#[cfg(feature = "aws")]
use super::signature;
use super::{caller, stream};
use crate::app::credentials::{self, CredentialRequest};
use crate::app::run_source::{self, NewRun};
use crate::app::setup::Setup;
use crate::app::tools::context::{PendingQuestions, ToolContext, TurnLink};
use crate::app::tools::fault::{Fault, OnToolError};
use crate::app::tools::handler::{self, FailedCall, ToolAnswer};
use crate::app::tools::notes::ToolNotes;
use crate::app::{answerer, approver, hooks, model_choice, output, trim};
use crate::base::lock;
use crate::durable::Writer;
use crate::spans::{self, HopSpan};
use std::collections::HashMap;
use std::future::ready;
use std::sync::Arc;
use stepwell_core::dialect::HttpRequest;
use stepwell_core::run::{
    ContextOverflow, Effect, EffectId, Input, ModelName, Question, RunMachine, ToolInvocation,
};
use stepwell_core::tool::{ToolFailure, ToolFailureKind, ToolResult};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

/// The most inputs that wait for the machine: enough to keep the network busy, few enough to push back.
const MAX_WAITING_INPUTS: usize = 32;

/// The task of an effect, which is stopped when this is dropped.
struct Running(AbortHandle);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The effects of one turn that are under way. They are stopped when this is dropped.
pub(super) struct Effects {
    setup: Arc<Setup>,
    writer: Option<Arc<Writer>>,
    running: HashMap<EffectId, Running>,
    streamed: mpsc::Sender<Input<'static>>,
    answers: mpsc::Sender<Input<'static>>,
    notes: ToolNotes,
    fault: Fault,
    questions: PendingQuestions,
    hop: Option<HopSpan>,
}

/// Receives the inputs that effects give. The effects hold the senders, so no channel ever closes.
pub(super) struct EffectInputs {
    /// The inputs of the stream. They are not read while the app is slow.
    pub(super) streamed: mpsc::Receiver<Input<'static>>,
    /// The inputs of all other effects.
    pub(super) answers: mpsc::Receiver<Input<'static>>,
    /// Progress and partial results of running tools. They are not read while the app is slow.
    pub(super) notes: ToolNotes,
}

impl Effects {
    pub(super) fn new(
        setup: Arc<Setup>,
        writer: Option<Arc<Writer>>,
        fault: Fault,
    ) -> (Self, EffectInputs) {
        let (streamed, streamed_receiver) = mpsc::channel(MAX_WAITING_INPUTS);
        let (answers, answers_receiver) = mpsc::channel(MAX_WAITING_INPUTS);
        let effects = Self {
            setup,
            writer,
            running: HashMap::new(),
            streamed,
            answers,
            notes: ToolNotes::default(),
            fault,
            questions: PendingQuestions::default(),
            hop: None,
        };
        let inputs = EffectInputs {
            streamed: streamed_receiver,
            answers: answers_receiver,
            notes: effects.notes.clone(),
        };
        (effects, inputs)
    }

    /// Begins an effect.
    pub(super) fn begin(&mut self, id: EffectId, effect: Effect, machine: &RunMachine) {
        let setup = &self.setup;
        let task = match effect {
            Effect::OpenStream { request } => self.open_stream(id, request, machine),
            Effect::CancelAnswer { request } => {
                // It outlives the turn, which may be over.
                caller::spawn(stream::cancel_answer(setup.client.clone(), request));
                return;
            }
            Effect::RunTool { invocation } => self.run_tool(id, *invocation),
            Effect::AskApproval { invocation } => {
                match self.ask_approval(id, *invocation, machine) {
                    Some(task) => task,
                    None => return,
                }
            }
            Effect::AskUser {
                invocation,
                question,
            } => match self.ask_user(id, *invocation, question) {
                Some(task) => task,
                None => return,
            },
            Effect::AnswerTool { answer } => {
                if let Some(tool) = lock(&self.questions).remove(&id) {
                    // The tool may have asked without waiting.
                    let _ = tool.send(answer);
                }
                return;
            }
            Effect::CreateRun {
                thread_id,
                parent_run_id,
            } => {
                let new = NewRun {
                    thread_id,
                    parent_run_id,
                };
                let (source, client) = (setup.run_source.clone(), setup.client.clone());
                self.spawn(run_source::create_run(source, client, id, new))
            }
            effect @ Effect::Persist { .. } => self.persist(id, effect),
            Effect::TrimContext { overflow } => self.trim_context(id, overflow, machine),
            Effect::ChooseModel { context } => {
                self.spawn(model_choice::choose(setup.chooser.clone(), id, context))
            }
            Effect::DecodeOutput { value } => {
                self.spawn(output::decode(setup.decoder.clone(), id, value))
            }
            Effect::Authorize { rejected } => {
                let request = CredentialRequest {
                    thread_id: machine.thread_id().cloned().unwrap_or_default(),
                    turn: machine.turn().cloned().unwrap_or_default(),
                    model: machine
                        .config()
                        .map(|config| ModelName::of(&config.endpoint))
                        .unwrap_or_default(),
                    rejected,
                };
                let source = setup.credentials.clone();
                self.spawn(credentials::authorize(source, id, request))
            }
            Effect::RunHook { hook, subject } => {
                let handler = setup.hooks.get(&hook).cloned();
                self.spawn(hooks::ask(handler, id, hook, *subject))
            }
            other => {
                tracing::error!(target: "stepwell", effect = ?id, "no way to carry out {other:?}");
                return;
            }
        };
        self.running.insert(id, Running(task));
    }

    /// Stops an effect, if it is still under way.
    pub(super) fn stop(&mut self, id: EffectId, machine: &RunMachine) {
        self.running.remove(&id);
        if let EffectId::Tool(tool) = id {
            let _ = self.notes.take_all(id);
            let is_of_tool = |question: &EffectId| matches!(question, EffectId::Ask { call, .. } if *call == tool);
            lock(&self.questions).retain(|question, _| !is_of_tool(question));
        }
        if matches!(id, EffectId::Open { .. })
            && let Some(hop) = self.hop.take()
        {
            hop.close(&self.setup, machine);
        }
    }

    /// Records for the span of the stream what the machine forgets with its next hop.
    pub(super) fn record_answer(&mut self, machine: &RunMachine) {
        if let Some(hop) = &mut self.hop {
            hop.record_answer(machine);
        }
    }

    /// Returns whether the turn is being stored.
    pub(super) fn is_persisting(&self) -> bool {
        self.running.keys().any(is_write)
    }

    /// Runs an effect that gives one input, in a task of its own.
    fn spawn(&self, effect: impl Future<Output = Input<'static>> + Send + 'static) -> AbortHandle {
        let answers = self.answers.clone();
        let work = async move {
            let answer = effect.await;
            let _ = answers.send(answer).await;
        };
        caller::spawn(work.in_current_span()).abort_handle()
    }

    fn open_stream(
        &mut self,
        id: EffectId,
        request: HttpRequest,
        machine: &RunMachine,
    ) -> AbortHandle {
        let (hop, attempt) = match id {
            EffectId::Open { hop, attempt } => (hop, attempt),
            _ => (0, 0),
        };
        let span = spans::hop(&self.setup, machine, hop, attempt);
        self.hop = Some(HopSpan::new(span.clone(), machine));
        let client = self.setup.client.clone();
        let streamed = self.streamed.clone();
        #[cfg(feature = "aws")]
        let work = {
            let source = self.setup.aws.clone();
            async move {
                match signature::signed(request, source).await {
                    Ok(request) => stream::stream(client, request, id, streamed).await,
                    Err(error) => stream::fail(id, error.to_string(), &streamed).await,
                }
            }
        };
        #[cfg(not(feature = "aws"))]
        let work = stream::stream(client, request, id, streamed);
        caller::spawn(work.instrument(span)).abort_handle()
    }

    fn run_tool(&self, id: EffectId, invocation: ToolInvocation) -> AbortHandle {
        let span = spans::tool(&self.setup, &invocation);
        let setup = Arc::clone(&self.setup);
        let handler = self.setup.handlers.get(&invocation.name).cloned();
        let (answers, fault) = (self.answers.clone(), self.fault.clone());
        let tool = invocation.name.clone();
        let cancel = CancellationToken::new();
        let link = TurnLink {
            notes: self.notes.clone(),
            inputs: answers.clone(),
            questions: Arc::clone(&self.questions),
            runtime: Handle::current(),
        };
        let cancel_when_dropped = cancel.clone().drop_guard();
        let call = ToolContext::new(invocation, self.setup.deps.clone(), cancel, Some(link));
        let work = async move {
            let show = setup.on_tool_error == OnToolError::ShowModel;
            let answer = handler::run(handler, call, show).await;
            drop(cancel_when_dropped);
            let input = match answer {
                Ok(ToolAnswer::Deferred) => Input::ToolDeferred { effect: id },
                Ok(ToolAnswer::Finished(output)) => finished(id, Ok(output), &setup),
                Err(FailedCall { failure, panic }) => {
                    log_failure(&tool, &failure);
                    if let Some(message) = &panic {
                        tracing::error!(target: "stepwell", tool, message, "the tool panicked");
                    }
                    if setup.on_tool_error == OnToolError::Fail {
                        fault.tool(&tool, panic.as_ref().unwrap_or(&failure.message));
                        // The turn is cancelled: a result could still reach the model.
                        return;
                    }
                    finished(id, Err(failure), &setup)
                }
            };
            let _ = answers.send(input).await;
        };
        caller::spawn(work.instrument(span)).abort_handle()
    }

    /// Asks the app's approver. Without one the call waits as data.
    fn ask_approval(
        &self,
        id: EffectId,
        invocation: ToolInvocation,
        machine: &RunMachine,
    ) -> Option<AbortHandle> {
        let config = Arc::clone(machine.config().unwrap_or(&self.setup.config));
        let approver = self.setup.asking.approver.clone()?;
        Some(self.spawn(async move {
            let decision = approver::decide(approver, &config.tools, invocation).await;
            Input::Decided {
                effect: id,
                decision,
            }
        }))
    }

    /// Asks the app's answerer. Without one the question waits as data.
    fn ask_user(
        &self,
        id: EffectId,
        invocation: ToolInvocation,
        question: Question,
    ) -> Option<AbortHandle> {
        let answerer = self.setup.asking.answerer.clone()?;
        let number = match id {
            EffectId::Ask { number, .. } => number,
            _ => 0,
        };
        Some(self.spawn(async move {
            let answer = answerer::ask(answerer, invocation, number, question).await;
            Input::UserAnswered { effect: id, answer }
        }))
    }

    fn trim_context(
        &self,
        id: EffectId,
        overflow: ContextOverflow,
        machine: &RunMachine,
    ) -> AbortHandle {
        let messages = overflow.messages.iter();
        let messages = messages.filter_map(|sized| machine.transcript().message(&sized.id));
        let messages = messages.cloned().collect();
        let trimmer = self.setup.trimmer.clone();
        self.spawn(trim::trim(trimmer, id, overflow, messages))
    }

    fn persist(&self, id: EffectId, effect: Effect) -> AbortHandle {
        match self.writer.clone() {
            Some(writer) => self.spawn(async move { writer.write(id, effect).await }),
            None => self.spawn(ready(Input::PersistFailed {
                effect: id,
                message: "this app has no store".to_owned(),
            })),
        }
    }
}

/// Returns the input of a tool's result, which the current span records.
fn finished(effect: EffectId, result: ToolResult, setup: &Setup) -> Input<'static> {
    spans::record_result(setup, &result);
    Input::ToolFinished { effect, result }
}

fn log_failure(tool: &str, failure: &ToolFailure) {
    let kind = format!("{:?}", failure.kind).to_lowercase();
    spans::record_error(&tracing::Span::current(), &kind);
    match failure.kind {
        // An error that the tool reports to the model, or a call that was stopped, is no fault.
        ToolFailureKind::Error | ToolFailureKind::Cancelled => {
            tracing::info!(target: "stepwell", tool, kind = ?failure.kind, "the tool failed");
        }
        _ => {
            tracing::warn!(target: "stepwell", tool, kind = ?failure.kind, "the tool failed");
        }
    }
}

/// Returns whether an input is the last one of its effect.
pub(super) fn is_last_input(input: &Input<'_>) -> bool {
    !matches!(
        input,
        Input::Opened { .. }
            | Input::Received { .. }
            | Input::ToolProgress { .. }
            | Input::ToolPartialResult { .. }
            | Input::ToolAsks { .. }
    )
}

/// Returns whether an effect stores something.
pub(super) fn is_write(effect: &EffectId) -> bool {
    matches!(effect, EffectId::Persist { .. })
}
