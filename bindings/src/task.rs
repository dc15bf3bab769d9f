//! Tools, approvals and requests for languages whose code must run on the app's own event loop, as Python's must: the app is
//! handed a task, and answers it whenever it is done, from any thread.

use crate::effect::ToolInvocation;
use crate::error::{CallbackError, StepwellError};
use crate::event::ToolFailureKind;
use crate::machine::parts;
use crate::tool::{Decision, could_not_ask};
use crate::transport::HttpTask;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use stepwell_core::run;
use stepwell_core::tool::ToolFailure;
use stepwell_io::ToolAnswer;
use tokio::sync::oneshot;

/// Takes the agent's work over to the app's own event loop. Its methods are called on Stepwell's threads; they are to
/// hand the work on and return at once.
#[uniffi::export(foreign)]
pub trait TaskRunner: Send + Sync {
    /// Begins a tool call.
    fn run_tool(&self, task: Arc<ToolTask>) -> Result<(), CallbackError>;
    /// Asks the user whether a tool may run.
    fn ask_approval(&self, task: Arc<ApprovalTask>) -> Result<(), CallbackError>;
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
    invocation: ToolInvocation,
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
        self.invocation.clone()
    }

    /// The tool gave a result. Says whether it was still wanted.
    pub fn finish(&self, content: String) -> bool {
        self.reply.give(Ok(content.into()))
    }

    /// As `finish`, with a result that is more than text: a JSON array of AG-UI content parts, such as pictures.
    pub fn finish_parts(&self, parts_json: &str) -> Result<bool, StepwellError> {
        let output = parts(parts_json)?;
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

/// The app's event loop, as the driver calls it.
pub(crate) struct Runner(pub(crate) Arc<dyn TaskRunner>);

impl stepwell_io::ToolHandler for Runner {
    fn call(
        &self,
        invocation: run::ToolInvocation,
    ) -> BoxFuture<'static, Result<ToolAnswer, ToolFailure>> {
        let runner = Arc::clone(&self.0);
        async move {
            let (reply, answer) = Reply::new();
            let id = next_id();
            let task = Arc::new(ToolTask {
                id,
                invocation: invocation.into(),
                reply,
            });
            let of = Arc::clone(&runner);
            let mut stop = StopOnDrop::new(move || of.cancel(id));
            let broke_off = |reason: &str| {
                let kind = stepwell_core::tool::ToolFailureKind::Panicked;
                Err(ToolFailure::new(kind, reason))
            };
            let result = match runner.run_tool(task) {
                Ok(()) => answer
                    .await
                    .unwrap_or_else(|_| broke_off("the tool ended without a result")),
                Err(error) => broke_off(&error.to_string()),
            };
            stop.disarm();
            result
        }
        .boxed()
    }
}

impl stepwell_io::Approver for Runner {
    fn decide(&self, invocation: run::ToolInvocation) -> BoxFuture<'static, run::Decision> {
        let runner = Arc::clone(&self.0);
        async move {
            let (reply, answer) = Reply::new();
            let id = next_id();
            let task = Arc::new(ApprovalTask {
                id,
                invocation: invocation.into(),
                reply,
            });
            let of = Arc::clone(&runner);
            let mut stop = StopOnDrop::new(move || of.cancel(id));
            let no_answer = || CallbackError::Failed {
                reason: "the question ended without an answer".to_owned(),
            };
            let decision = match runner.ask_approval(task) {
                Ok(()) => answer.await.map_err(|_| no_answer()),
                Err(error) => Err(error),
            };
            stop.disarm();
            decision
                .unwrap_or_else(|error| could_not_ask(&error))
                .into()
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
