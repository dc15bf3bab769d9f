//! Tools, approvals, requests and other work that an agent asks of the app, for languages whose code must run on the
//! app's own event loop, such as Python: the app receives a task, and answers it when the work is done, from any
//! thread.

mod runner;

use crate::credentials::{Authorization, CredentialRequest};
use crate::effect::ToolInvocation;
use crate::error::{CallbackError, StepwellError};
use crate::event::ToolFailureKind;
use crate::hook::HookTask;
use crate::instructions::InstructionsRequest;
use crate::json_value::JsonValue;
use crate::machine::parse_parts;
use crate::model_choice::HopContext;
use crate::question::{Question, UserAnswer};
use crate::run_source::NewRun;
use crate::tool::Decision;
use crate::tool_context::ToolContext;
use crate::transport::HttpTask;
use crate::trim::{ContextOverflow, Trimmed};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use stepwell_core::tool::ToolFailure;
use stepwell_io::tool::ToolAnswer;
use tokio::sync::oneshot;

pub(crate) use runner::Runner;

/// Passes the agent's work to the app's own event loop. The methods are called on Stepwell's threads; they should hand
/// the work on and return at once.
#[uniffi::export(foreign)]
pub trait TaskRunner: Send + Sync {
    /// Begins a tool call.
    fn run_tool(&self, task: Arc<ToolTask>) -> Result<(), CallbackError>;
    /// Asks the user whether a tool may run.
    fn ask_approval(&self, task: Arc<ApprovalTask>) -> Result<(), CallbackError>;
    /// Asks the user the question of a running tool.
    fn ask_user(&self, task: Arc<QuestionTask>) -> Result<(), CallbackError>;
    /// Creates a run, for an agent whose configuration says that a backend makes the ids.
    fn create_run(&self, task: Arc<CreateRunTask>) -> Result<(), CallbackError>;
    /// Shortens a conversation, for an agent whose configuration asks for it.
    fn trim_context(&self, task: Arc<TrimContextTask>) -> Result<(), CallbackError>;
    /// Chooses the model of a hop, for an agent whose configuration asks for it.
    fn choose_model(&self, task: Arc<ChooseModelTask>) -> Result<(), CallbackError>;
    /// Decodes a typed answer, for an agent whose configuration asks for it.
    fn decode_output(&self, task: Arc<DecodeOutputTask>) -> Result<(), CallbackError>;
    /// Gets the key and the headers of a request, for an agent whose configuration asks for them.
    fn give_credentials(&self, task: Arc<CredentialsTask>) -> Result<(), CallbackError>;
    /// Calls a hook, for an agent whose configuration has hooks.
    fn run_hook(&self, task: Arc<HookTask>) -> Result<(), CallbackError>;
    /// Makes a turn's instructions, for an agent created with `makes_instructions`.
    fn make_instructions(&self, task: Arc<InstructionsTask>) -> Result<(), CallbackError>;
    /// Begins to send a request, for an agent created with `sends_requests`.
    fn send_request(&self, task: Arc<HttpTask>) -> Result<(), CallbackError>;
    /// Stops the task of this id: its answer is no longer wanted.
    fn cancel(&self, task: u64) -> Result<(), CallbackError>;
}

/// The channel for a task's one answer.
#[derive(Debug)]
pub(crate) struct Reply<T>(Mutex<Option<oneshot::Sender<T>>>);

impl<T> Reply<T> {
    pub(crate) fn new() -> (Self, oneshot::Receiver<T>) {
        let (sender, receiver) = oneshot::channel();
        (Self(Mutex::new(Some(sender))), receiver)
    }

    /// Sends the answer. Returns whether the answer was still wanted.
    pub(crate) fn give(&self, answer: T) -> bool {
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        sender.is_some_and(|sender| sender.send(answer).is_ok())
    }
}

static NEXT: AtomicU64 = AtomicU64::new(1);

/// Returns a new id of a task in this process.
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
    /// Returns the id of the task in this process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the call.
    pub fn invocation(&self) -> ToolInvocation {
        self.context.invocation()
    }

    /// Returns the context in which the tool reports and asks while it runs.
    pub fn context(&self) -> Arc<ToolContext> {
        Arc::clone(&self.context)
    }

    /// Returns the span of the call and that of its turn, the call's first: a JSON array of objects with the fields of
    /// `FinishedSpan` that are known by now. Empty if spans go nowhere.
    pub fn spans(&self) -> JsonValue {
        self.spans.clone()
    }

    /// Takes the tool's result. Returns whether it was still wanted.
    pub fn finish(&self, content: String) -> bool {
        self.reply.give(Ok(content.into()))
    }

    /// Takes a result that is more than text, as `finish` does: a JSON array of AG-UI content parts, such as pictures.
    pub fn finish_parts(&self, parts: JsonValue) -> Result<bool, StepwellError> {
        let output = parse_parts(parts)?;
        Ok(self.reply.give(Ok(ToolAnswer::Finished(output))))
    }

    /// Defers the call: the tool has begun something whose result comes later, by `Turn.finish_call` or
    /// `Turn.fail_call`. Returns whether the answer was still wanted.
    pub fn defer(&self) -> bool {
        self.reply.give(Ok(ToolAnswer::Deferred))
    }

    /// Fails the call; the model is shown the message. Returns whether the answer was still wanted.
    pub fn fail(&self, kind: ToolFailureKind, message: String) -> bool {
        self.reply.give(Err(ToolFailure::new(kind.into(), message)))
    }
}

/// A question to the user: whether a tool may run. A task that is dropped without an answer counts as a denial.
#[derive(Debug, uniffi::Object)]
pub struct ApprovalTask {
    id: u64,
    invocation: ToolInvocation,
    reply: Reply<Decision>,
}

#[uniffi::export]
impl ApprovalTask {
    /// Returns the id of the task in this process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the call.
    pub fn invocation(&self) -> ToolInvocation {
        self.invocation.clone()
    }

    /// Takes the user's decision. Returns whether it was still wanted.
    pub fn decide(&self, decision: Decision) -> bool {
        self.reply.give(decision)
    }
}

/// A running tool's question to the user. A task that is dropped without an answer counts as declined.
#[derive(Debug, uniffi::Object)]
pub struct QuestionTask {
    id: u64,
    invocation: ToolInvocation,
    question: Question,
    reply: Reply<UserAnswer>,
}

#[uniffi::export]
impl QuestionTask {
    /// Returns the id of the task in this process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the call that asks.
    pub fn invocation(&self) -> ToolInvocation {
        self.invocation.clone()
    }

    /// Returns the question.
    pub fn question(&self) -> Question {
        self.question.clone()
    }

    /// Takes the user's answer; one that does not fit the question's schema counts as declined. Returns whether the
    /// answer was still wanted.
    pub fn answer(&self, answer: UserAnswer) -> bool {
        self.reply.give(answer)
    }
}

/// A run that a backend should create. A task that is dropped without an answer counts as failed.
#[derive(Debug, uniffi::Object)]
pub struct CreateRunTask {
    id: u64,
    new: NewRun,
    reply: Reply<Result<String, String>>,
}

#[uniffi::export]
impl CreateRunTask {
    /// Returns the id of the task in this process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the run.
    pub fn new_run(&self) -> NewRun {
        self.new.clone()
    }

    /// Takes the id of the run that the backend created. Returns whether it was still wanted.
    pub fn finish(&self, run_id: String) -> bool {
        self.reply.give(Ok(run_id))
    }

    /// Fails the turn with the message: the backend created no run. Returns whether the answer was still wanted.
    pub fn fail(&self, message: String) -> bool {
        self.reply.give(Err(message))
    }
}

/// A conversation to shorten, because it does not fit the model's context. A task that is dropped without an answer
/// counts as a conversation that cannot be shortened.
#[derive(Debug, uniffi::Object)]
pub struct TrimContextTask {
    id: u64,
    overflow: ContextOverflow,
    messages: JsonValue,
    reply: Reply<Option<Trimmed>>,
}

#[uniffi::export]
impl TrimContextTask {
    /// Returns the id of the task in this process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns what does not fit.
    pub fn overflow(&self) -> ContextOverflow {
        self.overflow.clone()
    }

    /// Returns the messages of the conversation: a JSON array of AG-UI messages, oldest first.
    pub fn messages(&self) -> JsonValue {
        self.messages.clone()
    }

    /// Takes what is kept, or none if the conversation cannot be shortened. Returns whether the answer was still
    /// wanted.
    pub fn finish(&self, trimmed: Option<Trimmed>) -> bool {
        self.reply.give(trimmed)
    }
}

/// A hop whose model should be chosen. A task that is dropped without an answer leaves the model as it is.
#[derive(Debug, uniffi::Object)]
pub struct ChooseModelTask {
    id: u64,
    context: HopContext,
    reply: Reply<u32>,
}

#[uniffi::export]
impl ChooseModelTask {
    /// Returns the id of the task in this process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns what the choice depends on.
    pub fn context(&self) -> HopContext {
        self.context.clone()
    }

    /// Takes the number of the model. Returns whether it was still wanted.
    pub fn finish(&self, model: u32) -> bool {
        self.reply.give(model)
    }
}

/// A typed answer, which fits its schema, to decode into the app's own type. A task that is dropped without an answer
/// counts as refused.
#[derive(Debug, uniffi::Object)]
pub struct DecodeOutputTask {
    id: u64,
    value: JsonValue,
    reply: Reply<Option<String>>,
}

#[uniffi::export]
impl DecodeOutputTask {
    /// Returns the id of the task in this process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the typed answer: any JSON.
    pub fn value(&self) -> JsonValue {
        self.value.clone()
    }

    /// Accepts the answer. Returns whether that was still wanted.
    pub fn finish(&self) -> bool {
        self.reply.give(None)
    }

    /// Refuses the answer; the model is shown the reason, and asked again. Returns whether that was still wanted.
    pub fn refuse(&self, reason: String) -> bool {
        self.reply.give(Some(reason))
    }
}

/// The key and the headers of a request, which the app should supply. A task that is dropped without an answer counts
/// as failed.
#[derive(Debug, uniffi::Object)]
pub struct CredentialsTask {
    id: u64,
    request: CredentialRequest,
    reply: Reply<Result<Authorization, String>>,
}

#[uniffi::export]
impl CredentialsTask {
    /// Returns the id of the task in this process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the request that the credentials are for.
    pub fn request(&self) -> CredentialRequest {
        self.request.clone()
    }

    /// Takes the key and the headers of the request. Returns whether they were still wanted.
    pub fn finish(&self, authorization: Authorization) -> bool {
        self.reply.give(Ok(authorization))
    }

    /// Fails the turn with the message: there are no credentials. Returns whether the answer was still wanted.
    pub fn fail(&self, message: String) -> bool {
        self.reply.give(Err(message))
    }
}

/// The instructions of a turn, which the app should make. A task that is dropped without an answer counts as failed.
#[derive(Debug, uniffi::Object)]
pub struct InstructionsTask {
    id: u64,
    request: InstructionsRequest,
    reply: Reply<Result<String, String>>,
}

#[uniffi::export]
impl InstructionsTask {
    /// Returns the id of the task in this process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the turn.
    pub fn request(&self) -> InstructionsRequest {
        self.request.clone()
    }

    /// Takes the instructions. Returns whether they were still wanted.
    pub fn finish(&self, instructions: String) -> bool {
        self.reply.give(Ok(instructions))
    }

    /// Fails the turn with the message: there are no instructions. Returns whether the answer was still wanted.
    pub fn fail(&self, message: String) -> bool {
        self.reply.give(Err(message))
    }
}

/// Informs the app when the agent no longer needs a task.
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
