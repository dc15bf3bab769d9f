//! What runs for a machine's effects: streams, tools, questions to the user. Each in a task of its own.

use crate::credentials::{self, CredentialRequest};
use crate::durable::Writer;
use crate::run_source::{self, NewRun};
use crate::setup::Setup;
use crate::spans::HopSpan;
use crate::{http, spans, tools, trim};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use stepwell_core::dialect::HttpRequest;
use stepwell_core::middleware::Middleware;
use stepwell_core::run::{ContextOverflow, Effect, EffectId, Input, RunMachine, ToolInvocation};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
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
}

impl Work {
    pub(crate) fn new(setup: Arc<Setup>, writer: Option<Arc<Writer>>) -> (Self, Arrivals) {
        let (streamed, streamed_receiver) = mpsc::channel(INPUTS);
        let (answers, answers_receiver) = mpsc::channel(INPUTS);
        let work = Self {
            setup,
            writer,
            running: HashMap::new(),
            streamed,
            answers,
            hop: None,
            middleware: None,
        };
        let arrivals = Arrivals {
            streamed: streamed_receiver,
            answers: answers_receiver,
        };
        (work, arrivals)
    }

    /// Begins what an effect asks for.
    pub(crate) fn begin(&mut self, id: EffectId, effect: Effect, machine: &RunMachine) {
        let task = match effect {
            Effect::OpenStream { request } => self.open(id, request, machine),
            Effect::RunTool { invocation } => self.run_tool(id, invocation),
            Effect::AskApproval { invocation } => self.ask(id, invocation, machine),
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
            Effect::Authorize { rejected } => self.authorize(id, rejected, machine),
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
        if matches!(id, EffectId::Open { .. })
            && let Some(hop) = self.hop.take()
        {
            hop.close(machine);
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
        let span = spans::hop(&self.setup.config.endpoint, hop, attempt);
        self.hop = Some(HopSpan::new(span.clone(), machine));
        let client = self.setup.client.clone();
        let middleware = self.middleware(hop);
        let work = http::stream(client, request, id, self.streamed.clone(), middleware);
        tokio::spawn(work.instrument(span)).abort_handle()
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
        let span = spans::tool(&invocation);
        let handler = self.setup.handlers.get(&invocation.name).cloned();
        let answers = self.answers.clone();
        let tool = invocation.name.clone();
        let work = async move {
            let answer = tools::run(handler, invocation).await;
            if let Err(failure) = &answer {
                let kind = format!("{:?}", failure.kind).to_lowercase();
                spans::record_error(&tracing::Span::current(), &kind);
                tracing::warn!(target: "stepwell", tool, kind = ?failure.kind, "the tool failed");
            }
            let result = match answer {
                Ok(tools::ToolAnswer::Deferred) => {
                    let _ = answers.send(Input::ToolDeferred { effect: id }).await;
                    return;
                }
                Ok(tools::ToolAnswer::Finished(output)) => Ok(output),
                Err(failure) => Err(failure),
            };
            let _ = answers
                .send(Input::ToolFinished { effect: id, result })
                .await;
        };
        tokio::spawn(work.instrument(span)).abort_handle()
    }

    fn create_run(&self, id: EffectId, new: NewRun) -> AbortHandle {
        let source = self.setup.run_source.clone();
        let client = self.setup.client.clone();
        let answers = self.answers.clone();
        let work = async move {
            let answer = run_source::create_run(source, client, id, new).await;
            let _ = answers.send(answer).await;
        };
        tokio::spawn(work.in_current_span()).abort_handle()
    }

    fn ask(&self, id: EffectId, invocation: ToolInvocation, machine: &RunMachine) -> AbortHandle {
        let config = machine.config().unwrap_or(&self.setup.config);
        let config = Arc::clone(config);
        let approver = self.setup.approver.clone();
        let answers = self.answers.clone();
        let work = async move {
            let decision = tools::decide(approver, &config.tools, invocation).await;
            let answer = Input::Decided {
                effect: id,
                decision,
            };
            let _ = answers.send(answer).await;
        };
        tokio::spawn(work).abort_handle()
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
        tokio::spawn(work).abort_handle()
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
        tokio::spawn(work.in_current_span()).abort_handle()
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
        tokio::spawn(work.in_current_span()).abort_handle()
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
    !matches!(input, Input::Opened { .. } | Input::Received { .. })
}

/// Whether the effect stores something.
pub(crate) fn is_write(effect: &EffectId) -> bool {
    matches!(effect, EffectId::Persist { .. })
}
