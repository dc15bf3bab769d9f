//! Tools, approvals, requests and whatever else an agent asks of the app, for languages whose code must run on the app's own
//! event loop, as Python's must: the app is handed a task, and answers it whenever it is done, from any thread.

mod runner;

use crate::credentials::{Authorization, CredentialRequest};
use crate::effect::ToolInvocation;
use crate::error::{CallbackError, StepwellError};
use crate::event::ToolFailureKind;
use crate::hook::HookTask;
use crate::instructions::InstructionsRequest;
use crate::json_value::JsonValue;
use crate::machine::parse_parts;
use crate::question::{Question, UserAnswer};
use crate::run_source::NewRun;
use crate::tool::Decision;
use crate::tool_context::ToolContext;
use crate::transport::HttpTask;
use crate::trim::{ContextOverflow, Trimmed};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use stepwell_core::tool::ToolFailure;
use stepwell_io::ToolAnswer;
use tokio::sync::oneshot;

pub(crate) use runner::Runner;

/// Takes the agent's work over to the app's own event loop. Its methods are called on Stepwell's threads; they are to
/// hand the work on and return at once.
#[uniffi::export(foreign)]
pub trait TaskRunner: Send + Sync {
    /// Begins a tool call.
    fn run_tool(&self, task: Arc<ToolTask>) -> Result<(), CallbackError>;
    /// Asks the user whether a tool may run.
    fn ask_approval(&self, task: Arc<ApprovalTask>) -> Result<(), CallbackError>;
    /// Asks the user what a running tool wants to know.
    fn ask_user(&self, task: Arc<QuestionTask>) -> Result<(), CallbackError>;
    /// Has a run created, for an agent whose configuration says that a backend makes the ids.
    fn create_run(&self, task: Arc<CreateRunTask>) -> Result<(), CallbackError>;
    /// Has a conversation shortened, for an agent whose configuration says so.
    fn trim_context(&self, task: Arc<TrimContextTask>) -> Result<(), CallbackError>;
    /// Has a typed answer decoded, for an agent whose configuration says so.
    fn decode_output(&self, task: Arc<DecodeOutputTask>) -> Result<(), CallbackError>;
    /// Gets the key and the headers of a request, for an agent whose configuration says so.
    fn give_credentials(&self, task: Arc<CredentialsTask>) -> Result<(), CallbackError>;
    /// Has a hook look, for an agent whose configuration has hooks.
    fn run_hook(&self, task: Arc<HookTask>) -> Result<(), CallbackError>;
    /// Has a turn's instructions made, for an agent that was made to have them so.
    fn make_instructions(&self, task: Arc<InstructionsTask>) -> Result<(), CallbackError>;
    /// Begins to send a request, for an agent that was made to send its requests so.
    fn send_request(&self, task: Arc<HttpTask>) -> Result<(), CallbackError>;
    /// Stops the task of this id: its answer is no longer wanted.
    fn cancel(&self, task: u64) -> Result<(), CallbackError>;
}

/// Where a task's one answer goes.
#[derive(Debug)]
pub(crate) struct Reply<T>(Mutex<Option<oneshot::Sender<T>>>);

impl<T> Reply<T> {
    pub(crate) fn new() -> (Self, oneshot::Receiver<T>) {
        let (sender, receiver) = oneshot::channel();
        (Self(Mutex::new(Some(sender))), receiver)
    }

    /// Whether the answer was still wanted.
    pub(crate) fn give(&self, answer: T) -> bool {
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        sender.is_some_and(|sender| sender.send(answer).is_ok())
    }
}

static NEXT: AtomicU64 = AtomicU64::new(1);

/// Names a task in this process.
pub(crate) fn next_id() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A tool call for the app to run. A task that is dropped without an answer counts as failed.
#[derive(Debug, uniffi::Object)]
pub struct ToolTask {
    id: u64,
    context: Arc<ToolContext>,
    spans: JsonValue,
    reply: Reply<Result<ToolAnswer, ToolFailure>>,
}

#[uniffi::export]
impl ToolTask {
    /// Names the task in this process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The call.
    pub fn invocation(&self) -> ToolInvocation {
        self.context.invocation()
    }

    /// What the tool may ask and tell while it runs.
    pub fn context(&self) -> Arc<ToolContext> {
        Arc::clone(&self.context)
    }

    /// The span of the call and that of its turn, the call's first: a JSON array of objects with the fields of `FinishedSpan`
    /// that are known by now. Empty if spans go nowhere.
    pub fn spans(&self) -> JsonValue {
        self.spans.clone()
    }

    /// The tool gave a result. Says whether it was still wanted.
    pub fn finish(&self, content: String) -> bool {
        self.reply.give(Ok(content.into()))
    }

    /// As `finish`, with a result that is more than text: a JSON array of AG-UI content parts, such as pictures.
    pub fn finish_parts(&self, parts: JsonValue) -> Result<bool, StepwellError> {
        let output = parse_parts(parts)?;
        Ok(self.reply.give(Ok(ToolAnswer::Finished(output))))
    }

    /// The tool has begun something whose result comes later, by `Turn.finish_call` or `Turn.fail_call`. Says whether
    /// the answer was still wanted.
    pub fn defer(&self) -> bool {
        self.reply.give(Ok(ToolAnswer::Deferred))
    }

    /// The tool failed; the model is shown the message. Says whether the answer was still wanted.
    pub fn fail(&self, kind: ToolFailureKind, message: String) -> bool {
        self.reply.give(Err(ToolFailure::new(kind.into(), message)))
    }
}

/// A question to the user: whether a tool may run. A task that is dropped without an answer counts as no.
#[derive(Debug, uniffi::Object)]
pub struct ApprovalTask {
    id: u64,
    invocation: ToolInvocation,
    reply: Reply<Decision>,
}

#[uniffi::export]
impl ApprovalTask {
    /// Names the task in this process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The call.
    pub fn invocation(&self) -> ToolInvocation {
        self.invocation.clone()
    }

    /// What the user said. Says whether it was still wanted.
    pub fn decide(&self, decision: Decision) -> bool {
        self.reply.give(decision)
    }
}

/// What a running tool wants to know of the user. A task that is dropped without an answer counts as declined.
#[derive(Debug, uniffi::Object)]
pub struct QuestionTask {
    id: u64,
    invocation: ToolInvocation,
    question: Question,
    reply: Reply<UserAnswer>,
}

#[uniffi::export]
impl QuestionTask {
    /// Names the task in this process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The call that asks.
    pub fn invocation(&self) -> ToolInvocation {
        self.invocation.clone()
    }

    /// What it asks.
    pub fn question(&self) -> Question {
        self.question.clone()
    }

    /// What the user said; an answer that does not fit the question's schema counts as declined. Says whether it was still
    /// wanted.
    pub fn answer(&self, answer: UserAnswer) -> bool {
        self.reply.give(answer)
    }
}

/// A run that a backend is to create. A task that is dropped without an answer counts as failed.
#[derive(Debug, uniffi::Object)]
pub struct CreateRunTask {
    id: u64,
    new: NewRun,
    reply: Reply<Result<String, String>>,
}

#[uniffi::export]
impl CreateRunTask {
    /// Names the task in this process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The run.
    pub fn new_run(&self) -> NewRun {
        self.new.clone()
    }

    /// The backend created the run. Says whether it was still wanted.
    pub fn finish(&self, run_id: String) -> bool {
        self.reply.give(Ok(run_id))
    }

    /// It did not: the turn fails with the message. Says whether the answer was still wanted.
    pub fn fail(&self, message: String) -> bool {
        self.reply.give(Err(message))
    }
}

/// A conversation that does not fit the model's context, to be shortened. A task that is dropped without an answer counts
/// as one that cannot be.
#[derive(Debug, uniffi::Object)]
pub struct TrimContextTask {
    id: u64,
    overflow: ContextOverflow,
    messages: JsonValue,
    reply: Reply<Option<Trimmed>>,
}

#[uniffi::export]
impl TrimContextTask {
    /// Names the task in this process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// What does not fit.
    pub fn overflow(&self) -> ContextOverflow {
        self.overflow.clone()
    }

    /// Its messages: a JSON array of AG-UI messages, oldest first.
    pub fn messages(&self) -> JsonValue {
        self.messages.clone()
    }

    /// What is kept; nothing if it cannot be shortened. Says whether the answer was still wanted.
    pub fn finish(&self, trimmed: Option<Trimmed>) -> bool {
        self.reply.give(trimmed)
    }
}

/// A typed answer, which fits its schema, to be decoded into the app's own type. A task that is dropped without an answer
/// counts as refused.
#[derive(Debug, uniffi::Object)]
pub struct DecodeOutputTask {
    id: u64,
    value: JsonValue,
    reply: Reply<Option<String>>,
}

#[uniffi::export]
impl DecodeOutputTask {
    /// Names the task in this process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The answer: any JSON.
    pub fn value(&self) -> JsonValue {
        self.value.clone()
    }

    /// The answer is taken. Says whether that was still wanted.
    pub fn finish(&self) -> bool {
        self.reply.give(None)
    }

    /// The answer does not fit; the model is told the reason, and asked again. Says whether that was still wanted.
    pub fn refuse(&self, reason: String) -> bool {
        self.reply.give(Some(reason))
    }
}

/// The key and the headers of a request, which the app is to give. A task that is dropped without an answer counts as
/// failed.
#[derive(Debug, uniffi::Object)]
pub struct CredentialsTask {
    id: u64,
    request: CredentialRequest,
    reply: Reply<Result<Authorization, String>>,
}

#[uniffi::export]
impl CredentialsTask {
    /// Names the task in this process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// For which request.
    pub fn request(&self) -> CredentialRequest {
        self.request.clone()
    }

    /// What the request is sent with. Says whether it was still wanted.
    pub fn finish(&self, authorization: Authorization) -> bool {
        self.reply.give(Ok(authorization))
    }

    /// There is nothing to send it with: the turn fails with the message. Says whether the answer was still wanted.
    pub fn fail(&self, message: String) -> bool {
        self.reply.give(Err(message))
    }
}

/// The instructions of a turn, which the app is to make. A task that is dropped without an answer counts as failed.
#[derive(Debug, uniffi::Object)]
pub struct InstructionsTask {
    id: u64,
    request: InstructionsRequest,
    reply: Reply<Result<String, String>>,
}

#[uniffi::export]
impl InstructionsTask {
    /// Names the task in this process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The turn.
    pub fn request(&self) -> InstructionsRequest {
        self.request.clone()
    }

    /// The instructions. Says whether they were still wanted.
    pub fn finish(&self, instructions: String) -> bool {
        self.reply.give(Ok(instructions))
    }

    /// There are none: the turn fails with the message. Says whether the answer was still wanted.
    pub fn fail(&self, message: String) -> bool {
        self.reply.give(Err(message))
    }
}

/// Tells the app when the agent has lost interest in a task.
pub(crate) struct StopOnDrop<F: FnOnce() -> Result<(), CallbackError>>(Option<F>);

impl<F: FnOnce() -> Result<(), CallbackError>> StopOnDrop<F> {
    pub(crate) fn new(stop: F) -> Self {
        Self(Some(stop))
    }

    pub(crate) fn disarm(&mut self) {
        self.0 = None;
    }
}

impl<F: FnOnce() -> Result<(), CallbackError>> Drop for StopOnDrop<F> {
    fn drop(&mut self) {
        if let Some(stop) = self.0.take()
            && let Err(error) = stop()
        {
            tracing::warn!(target: "stepwell", %error, "the app could not stop a task");
        }
    }
}
