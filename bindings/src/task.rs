//! Tools and approvals for languages whose code must run on the app's own event loop, as Python's must: the app is
//! handed a task, and answers it whenever it is done, from any thread.

use crate::effect::ToolInvocation;
use crate::error::CallbackError;
use crate::event::ToolFailureKind;
use crate::tool::{Decision, could_not_ask};
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
    /// Asks the person whether a tool may run.
    fn ask_approval(&self, task: Arc<ApprovalTask>) -> Result<(), CallbackError>;
    /// Stops the task of this id: its answer is no longer wanted.
    fn cancel(&self, task: u64) -> Result<(), CallbackError>;
}

/// Where a task's one answer goes.
#[derive(Debug)]
struct Reply<T>(Mutex<Option<oneshot::Sender<T>>>);

impl<T> Reply<T> {
    fn new() -> (Self, oneshot::Receiver<T>) {
        let (sender, receiver) = oneshot::channel();
        (Self(Mutex::new(Some(sender))), receiver)
    }

    /// Whether the answer was still wanted.
    fn give(&self, answer: T) -> bool {
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        sender.is_some_and(|sender| sender.send(answer).is_ok())
    }
}

static NEXT: AtomicU64 = AtomicU64::new(1);

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

/// A question to the person: whether a tool may run. A task that is dropped without an answer counts as no.
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

    /// What the person said. Says whether it was still wanted.
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
            let id = NEXT.fetch_add(1, Ordering::Relaxed);
            let task = Arc::new(ToolTask {
                id,
                invocation: invocation.into(),
                reply,
            });
            let mut stop = StopOnDrop::new(&runner, id);
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
            let id = NEXT.fetch_add(1, Ordering::Relaxed);
            let task = Arc::new(ApprovalTask {
                id,
                invocation: invocation.into(),
                reply,
            });
            let mut stop = StopOnDrop::new(&runner, id);
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
struct StopOnDrop(Option<(Arc<dyn TaskRunner>, u64)>);

impl StopOnDrop {
    fn new(runner: &Arc<dyn TaskRunner>, id: u64) -> Self {
        Self(Some((Arc::clone(runner), id)))
    }

    fn disarm(&mut self) {
        self.0 = None;
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        if let Some((runner, id)) = self.0.take()
            && let Err(error) = runner.cancel(id)
        {
            tracing::warn!(target: "stepwell", %error, "the app could not stop a task");
        }
    }
}
