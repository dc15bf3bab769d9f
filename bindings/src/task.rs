//! Tools, approvals, requests and whatever else an agent asks of the app, for languages whose code must run on the app's own
//! event loop, as Python's must: the app is handed a task, and answers it whenever it is done, from any thread.

use crate::credentials::{Authorization, CredentialRequest};
use crate::effect::ToolInvocation;
use crate::error::{CallbackError, StepwellError};
use crate::event::ToolFailureKind;
use crate::hook::HookTask;
use crate::instructions::InstructionsRequest;
use crate::json_value::JsonValue;
use crate::machine::parse_parts;
use crate::output::taken;
use crate::question::{Question, UserAnswer};
use crate::run_source::NewRun;
use crate::tool::{Decision, core_answer, could_not_ask, not_asked};
use crate::tool_context::ToolContext;
use crate::transport::HttpTask;
use crate::trim::{ContextOverflow, Trimmed, kept};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use stepwell_core::RunId;
use stepwell_core::event::Message;
use stepwell_core::run;
use stepwell_core::tool::ToolFailure;
use stepwell_io::{HttpClient, ToolAnswer};
use tokio::sync::oneshot;

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

/// The app's event loop, as the driver calls it.
pub(crate) struct Runner(pub(crate) Arc<dyn TaskRunner>);

/// Hands a task to the runner, and waits for the answer. The task is stopped when nobody waits any more.
async fn answered<T>(
    runner: Arc<dyn TaskRunner>,
    without_answer: &str,
    begin: impl FnOnce(&dyn TaskRunner, u64, Reply<T>) -> Result<(), CallbackError>,
) -> Result<T, CallbackError> {
    let (reply, answer) = Reply::new();
    let id = next_id();
    let of = Arc::clone(&runner);
    let mut stop = StopOnDrop::new(move || of.cancel(id));
    let answer = match begin(&*runner, id, reply) {
        Ok(()) => answer.await.map_err(|_| CallbackError::Failed {
            reason: without_answer.to_owned(),
        }),
        Err(error) => Err(error),
    };
    stop.disarm();
    answer
}

impl stepwell_io::ToolHandler for Runner {
    fn call(
        &self,
        call: stepwell_io::ToolContext,
    ) -> BoxFuture<'static, Result<ToolAnswer, ToolFailure>> {
        let runner = Arc::clone(&self.0);
        async move {
            let context = ToolContext::new(call);
            let begin = |runner: &dyn TaskRunner, id, reply| {
                runner.run_tool(Arc::new(ToolTask { id, context, reply }))
            };
            let answer = answered(runner, "the tool ended without a result", begin).await;
            answer.unwrap_or_else(|error| {
                let kind = stepwell_core::tool::ToolFailureKind::Panicked;
                Err(ToolFailure::new(kind, error.to_string()))
            })
        }
        .boxed()
    }
}

impl stepwell_io::Approver for Runner {
    fn decide(&self, invocation: run::ToolInvocation) -> BoxFuture<'static, run::Decision> {
        let runner = Arc::clone(&self.0);
        async move {
            let invocation = invocation.into();
            let begin = |runner: &dyn TaskRunner, id, reply| {
                runner.ask_approval(Arc::new(ApprovalTask {
                    id,
                    invocation,
                    reply,
                }))
            };
            let answer = answered(runner, "the question ended without an answer", begin).await;
            answer.unwrap_or_else(|error| could_not_ask(&error)).into()
        }
        .boxed()
    }

    fn ask(
        &self,
        invocation: run::ToolInvocation,
        _number: u32,
        question: run::Question,
    ) -> BoxFuture<'static, run::UserAnswer> {
        let runner = Arc::clone(&self.0);
        async move {
            let (invocation, question) = (invocation.into(), question.into());
            let begin = |runner: &dyn TaskRunner, id, reply| {
                runner.ask_user(Arc::new(QuestionTask {
                    id,
                    invocation,
                    question,
                    reply,
                }))
            };
            let answer = answered(runner, "the question ended without an answer", begin).await;
            answer.map_or_else(|error| not_asked(&error), core_answer)
        }
        .boxed()
    }
}

impl stepwell_io::RunSource for Runner {
    fn create_run(
        &self,
        _client: HttpClient,
        new: stepwell_io::NewRun,
    ) -> BoxFuture<'static, Result<RunId, String>> {
        let runner = Arc::clone(&self.0);
        async move {
            let new = new.into();
            let begin = |runner: &dyn TaskRunner, id, reply| {
                runner.create_run(Arc::new(CreateRunTask { id, new, reply }))
            };
            let answer = answered(runner, "the run was not created", begin).await;
            answer
                .unwrap_or_else(|error| Err(error.to_string()))
                .map(RunId::from)
        }
        .boxed()
    }
}

impl stepwell_io::Trimmer for Runner {
    fn trim(
        &self,
        overflow: run::ContextOverflow,
        messages: Vec<Message>,
    ) -> BoxFuture<'static, Option<stepwell_io::Trimmed>> {
        let runner = Arc::clone(&self.0);
        async move {
            let (overflow, messages) = (overflow.into(), JsonValue::of(&messages));
            let begin = |runner: &dyn TaskRunner, id, reply| {
                runner.trim_context(Arc::new(TrimContextTask {
                    id,
                    overflow,
                    messages,
                    reply,
                }))
            };
            kept(answered(runner, "nothing was left out", begin).await)
        }
        .boxed()
    }
}

impl stepwell_io::OutputDecoder for Runner {
    fn decode(&self, value: Value) -> BoxFuture<'static, Result<(), String>> {
        let runner = Arc::clone(&self.0);
        async move {
            let value = JsonValue::of(&value);
            let begin = |runner: &dyn TaskRunner, id, reply| {
                runner.decode_output(Arc::new(DecodeOutputTask { id, value, reply }))
            };
            taken(answered(runner, "the answer was not decoded", begin).await)
        }
        .boxed()
    }
}

impl stepwell_io::CredentialSource for Runner {
    fn credentials(
        &self,
        request: stepwell_io::CredentialRequest,
    ) -> BoxFuture<'static, Result<run::Authorization, String>> {
        let runner = Arc::clone(&self.0);
        async move {
            let request = request.into();
            let begin = |runner: &dyn TaskRunner, id, reply| {
                runner.give_credentials(Arc::new(CredentialsTask { id, request, reply }))
            };
            let answer = answered(runner, "no credentials were given", begin).await;
            answer
                .unwrap_or_else(|error| Err(error.to_string()))
                .map(Into::into)
        }
        .boxed()
    }
}

impl stepwell_io::HookHandler for Runner {
    fn look(&self, hook: &str, subject: run::HookSubject) -> BoxFuture<'static, run::HookAnswer> {
        let runner = Arc::clone(&self.0);
        let hook = hook.to_owned();
        async move {
            let subject = subject.into();
            let begin = |runner: &dyn TaskRunner, id, reply| {
                runner.run_hook(Arc::new(HookTask {
                    id,
                    hook,
                    subject,
                    reply,
                }))
            };
            let answer = answered(runner, "it ended without an answer", begin).await;
            answer.map(run::HookAnswer::from).into()
        }
        .boxed()
    }
}

impl stepwell_io::InstructionsSource for Runner {
    fn instructions(
        &self,
        request: stepwell_io::InstructionsRequest,
    ) -> BoxFuture<'static, Result<String, String>> {
        let runner = Arc::clone(&self.0);
        async move {
            let request = request.into();
            let begin = |runner: &dyn TaskRunner, id, reply| {
                runner.make_instructions(Arc::new(InstructionsTask { id, request, reply }))
            };
            let answer = answered(runner, "no instructions were made", begin).await;
            answer.unwrap_or_else(|error| Err(error.to_string()))
        }
        .boxed()
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
