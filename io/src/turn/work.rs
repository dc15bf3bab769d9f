//! What runs for a machine's effects: streams, tools, questions to the user. Each in a task of its own.

use super::{caller, stream};
use crate::app::credentials::{self, CredentialRequest};
use crate::app::run_source::{self, NewRun};
use crate::app::setup::Setup;
use crate::app::tools::context::{Answers, Link, ToolContext};
use crate::app::tools::fault::Fault;
use crate::app::tools::handler as tools;
use crate::app::tools::notes::Notes;
use crate::app::{approver, hooks, output, trim};
use crate::base::lock;
use crate::durable::Writer;
use crate::spans;
use crate::spans::HopSpan;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use stepwell_core::dialect::HttpRequest;
use stepwell_core::middleware::Middleware;
use stepwell_core::run::{
    ContextOverflow, Effect, EffectId, HookSubject, Input, Question, RunMachine, ToolInvocation,
    UserAnswer,
};
use stepwell_core::tool::ToolFailureKind;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

/// Inputs that may wait for the machine: enough to keep the network busy, few enough to push back.
const INPUTS: usize = 32;

/// What runs for an effect; stopped when it is dropped.
struct Running(AbortHandle);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// All that runs for one turn; stopped when it is dropped.
pub(crate) struct Work {
    setup: Arc<Setup>,
    writer: Option<Arc<Writer>>,
    running: HashMap<EffectId, Running>,
    streamed: mpsc::Sender<Input<'static>>,
    answers: mpsc::Sender<Input<'static>>,
    notes: Notes,
    fault: Fault,
    /// The tools that wait for the user.
    asking: Answers,
    hop: Option<HopSpan>,
    /// The functions on the events of this hop's streams.
    middleware: Option<(u32, Arc<Mutex<Middleware>>)>,
}

/// Where the work's inputs arrive. The work holds the senders, so neither ever closes.
pub(crate) struct Arrivals {
    /// Of the stream. Left alone while the app is slow.
    pub(crate) streamed: mpsc::Receiver<Input<'static>>,
    /// Of all else.
    pub(crate) answers: mpsc::Receiver<Input<'static>>,
    /// What running tools say of themselves. Left alone while the app is slow.
    pub(crate) notes: Notes,
}

impl Work {
    pub(crate) fn new(
        setup: Arc<Setup>,
        writer: Option<Arc<Writer>>,
        fault: Fault,
    ) -> (Self, Arrivals) {
        let (streamed, streamed_receiver) = mpsc::channel(INPUTS);
        let (answers, answers_receiver) = mpsc::channel(INPUTS);
        let work = Self {
            setup,
            writer,
            running: HashMap::new(),
            streamed,
            answers,
            notes: Notes::default(),
            fault,
            asking: Answers::default(),
            hop: None,
            middleware: None,
        };
        let arrivals = Arrivals {
            streamed: streamed_receiver,
            answers: answers_receiver,
            notes: work.notes.clone(),
        };
        (work, arrivals)
    }

    /// Begins what an effect asks for.
    pub(crate) fn begin(&mut self, id: EffectId, effect: Effect, machine: &RunMachine) {
        let task = match effect {
            Effect::OpenStream { request } => self.open(id, request, machine),
            Effect::RunTool { invocation } => self.run_tool(id, *invocation),
            Effect::AskApproval { invocation } => self.ask(id, *invocation, machine),
            Effect::AskUser {
                invocation,
                question,
            } => self.ask_user(id, *invocation, question),
            Effect::AnswerTool { answer } => {
                if let Some(tool) = lock(&self.asking).remove(&id) {
                    // It may have asked and not waited.
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
                self.create_run(id, new)
            }
            effect @ Effect::Persist { .. } => self.persist(id, effect),
            Effect::TrimContext { overflow } => self.trim(id, overflow, machine),
            Effect::DecodeOutput { value } => self.decode(id, value),
            Effect::Authorize { rejected } => self.authorize(id, rejected, machine),
            Effect::RunHook { hook, subject } => self.run_hook(id, hook, *subject),
            other => {
                tracing::error!(target: "stepwell", effect = ?id, "no way to carry out {other:?}");
                return;
            }
        };
        self.running.insert(id, Running(task));
    }

    /// Stops what runs for the effect, if anything still does.
    pub(crate) fn stop(&mut self, id: EffectId, machine: &RunMachine) {
        self.running.remove(&id);
        if let EffectId::Tool(tool) = id {
            let _ = self.notes.rest_of(id);
            let is_of_tool =
                |asking: &EffectId| matches!(asking, EffectId::Ask { call, .. } if *call == tool);
            lock(&self.asking).retain(|asking, _| !is_of_tool(asking));
        }
        if matches!(id, EffectId::Open { .. })
            && let Some(hop) = self.hop.take()
        {
            hop.close(&self.setup, machine);
        }
    }

    /// Takes note of what the span of the stream is to say, before the machine moves on.
    pub(crate) fn look(&mut self, machine: &RunMachine) {
        if let Some(hop) = &mut self.hop {
            hop.look(machine);
        }
    }

    fn open(&mut self, id: EffectId, request: HttpRequest, machine: &RunMachine) -> AbortHandle {
        let (hop, attempt) = match id {
            EffectId::Open { hop, attempt } => (hop, attempt),
            _ => (0, 0),
        };
        let span = spans::hop(&self.setup, machine, hop, attempt);
        self.hop = Some(HopSpan::new(span.clone(), machine));
        let client = self.setup.client.clone();
        let middleware = self.middleware(hop);
        let work = stream::stream(client, request, id, self.streamed.clone(), middleware);
        caller::spawn(work.instrument(span)).abort_handle()
    }

    /// The functions on the hop's events: the same for each of its streams, since one may go on where another broke off.
    fn middleware(&mut self, hop: u32) -> Option<Arc<Mutex<Middleware>>> {
        let make = self.setup.middleware.as_ref()?;
        match &self.middleware {
            Some((of, middleware)) if *of == hop => Some(Arc::clone(middleware)),
            _ => {
                let middleware = Arc::new(Mutex::new(make()));
                self.middleware = Some((hop, Arc::clone(&middleware)));
                Some(middleware)
            }
        }
    }

    fn run_tool(&self, id: EffectId, invocation: ToolInvocation) -> AbortHandle {
        let span = spans::tool(&self.setup, &invocation);
        let setup = Arc::clone(&self.setup);
        let handler = self.setup.handlers.get(&invocation.name).cloned();
        let answers = self.answers.clone();
        let tool = invocation.name.clone();
        let cancel = CancellationToken::new();
        let link = Link {
            notes: self.notes.clone(),
            fault: self.fault.clone(),
            inputs: answers.clone(),
            answers: Arc::clone(&self.asking),
            runtime: Handle::current(),
        };
        let told_when_dropped = cancel.clone().drop_guard();
        let call = ToolContext::new(invocation, self.setup.deps.clone(), cancel, Some(link));
        let work = async move {
            let answer = tools::run(handler, call).await;
            drop(told_when_dropped);
            if let Err(failure) = &answer {
                let kind = format!("{:?}", failure.kind).to_lowercase();
                spans::record_error(&tracing::Span::current(), &kind);
                match failure.kind {
                    // What a tool says to the model, and what was stopped on purpose, is no fault.
                    ToolFailureKind::Error | ToolFailureKind::Cancelled => {
                        tracing::info!(target: "stepwell", tool, kind = ?failure.kind, "the tool failed");
                    }
                    _ => {
                        tracing::warn!(target: "stepwell", tool, kind = ?failure.kind, "the tool failed");
                    }
                }
            }
            let result = match answer {
                Ok(tools::ToolAnswer::Deferred) => {
                    let _ = answers.send(Input::ToolDeferred { effect: id }).await;
                    return;
                }
                Ok(tools::ToolAnswer::Finished(output)) => Ok(output),
                Err(failure) => Err(failure),
            };
            spans::record_result(&setup, &result);
            let _ = answers
                .send(Input::ToolFinished { effect: id, result })
                .await;
        };
        caller::spawn(work.instrument(span)).abort_handle()
    }

    fn create_run(&self, id: EffectId, new: NewRun) -> AbortHandle {
        let source = self.setup.run_source.clone();
        let client = self.setup.client.clone();
        let answers = self.answers.clone();
        let work = async move {
            let answer = run_source::create_run(source, client, id, new).await;
            let _ = answers.send(answer).await;
        };
        caller::spawn(work.in_current_span()).abort_handle()
    }

    fn ask(&self, id: EffectId, invocation: ToolInvocation, machine: &RunMachine) -> AbortHandle {
        let config = machine.config().unwrap_or(&self.setup.config);
        let config = Arc::clone(config);
        let approver = self.setup.approver.clone();
        let answers = self.answers.clone();
        let work = async move {
            let decision = approver::decide(approver, &config.tools, invocation).await;
            let answer = Input::Decided {
                effect: id,
                decision,
            };
            let _ = answers.send(answer).await;
        };
        caller::spawn(work).abort_handle()
    }

    fn ask_user(
        &self,
        id: EffectId,
        invocation: ToolInvocation,
        question: Question,
    ) -> AbortHandle {
        let approver = self.setup.approver.clone();
        let answers = self.answers.clone();
        let number = match id {
            EffectId::Ask { number, .. } => number,
            _ => 0,
        };
        let work = async move {
            let answer: UserAnswer = approver::ask(approver, invocation, number, question).await;
            let _ = answers
                .send(Input::UserAnswered { effect: id, answer })
                .await;
        };
        caller::spawn(work).abort_handle()
    }

    fn trim(&self, id: EffectId, overflow: ContextOverflow, machine: &RunMachine) -> AbortHandle {
        let messages = overflow.messages.iter();
        let messages = messages.filter_map(|sized| machine.conversation().message(&sized.id));
        let messages = messages.cloned().collect();
        let trimmer = self.setup.trimmer.clone();
        let answers = self.answers.clone();
        let work = async move {
            let answer = trim::trim(trimmer, id, overflow, messages).await;
            let _ = answers.send(answer).await;
        };
        caller::spawn(work).abort_handle()
    }

    fn decode(&self, id: EffectId, value: Value) -> AbortHandle {
        let decoder = self.setup.decoder.clone();
        let answers = self.answers.clone();
        let work = async move {
            let answer = output::decode(decoder, id, value).await;
            let _ = answers.send(answer).await;
        };
        caller::spawn(work.in_current_span()).abort_handle()
    }

    fn authorize(&self, id: EffectId, rejected: bool, machine: &RunMachine) -> AbortHandle {
        let request = CredentialRequest {
            thread_id: machine.thread_id().cloned().unwrap_or_default(),
            turn: machine.turn().cloned().unwrap_or_default(),
            rejected,
        };
        let source = self.setup.credentials.clone();
        let answers = self.answers.clone();
        let work = async move {
            let answer = credentials::authorize(source, id, request).await;
            let _ = answers.send(answer).await;
        };
        caller::spawn(work.in_current_span()).abort_handle()
    }

    fn run_hook(&self, id: EffectId, hook: String, subject: HookSubject) -> AbortHandle {
        let handler = self.setup.hooks.get(&hook).cloned();
        let answers = self.answers.clone();
        let work = async move {
            let answer = hooks::ask(handler, id, hook, subject).await;
            let _ = answers.send(answer).await;
        };
        caller::spawn(work.in_current_span()).abort_handle()
    }

    fn persist(&self, id: EffectId, effect: Effect) -> AbortHandle {
        let Some(writer) = self.writer.clone() else {
            return self.answer(Input::PersistFailed {
                effect: id,
                message: "this app has no store".to_owned(),
            });
        };
        let answers = self.answers.clone();
        let work = async move {
            let answer = writer.write(id, effect).await;
            let _ = answers.send(answer).await;
        };
        caller::spawn(work.in_current_span()).abort_handle()
    }

    /// Whether something of the turn is being stored.
    pub(crate) fn is_persisting(&self) -> bool {
        self.running.keys().any(is_write)
    }

    fn answer(&self, input: Input<'static>) -> AbortHandle {
        let answers = self.answers.clone();
        tokio::spawn(async move {
            let _ = answers.send(input).await;
        })
        .abort_handle()
    }
}

/// Whether nothing comes for the effect after this input.
pub(crate) fn is_last_word(input: &Input<'_>) -> bool {
    !matches!(
        input,
        Input::Opened { .. }
            | Input::Received { .. }
            | Input::ToolProgress { .. }
            | Input::ToolPartialResult { .. }
            | Input::ToolAsks { .. }
    )
}

/// Whether the effect stores something.
pub(crate) fn is_write(effect: &EffectId) -> bool {
    matches!(effect, EffectId::Persist { .. })
}
