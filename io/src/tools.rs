//! The app's code: tools, and whoever asks the user about them.

use futures::FutureExt;
use futures::future::BoxFuture;
use std::any::Any;
use std::collections::HashMap;
use std::fmt::Display;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use stepwell_core::run::{Decision, ToolInvocation};
use stepwell_core::tool::{Rejection, ToolFailure, ToolFailureKind, ToolOutput, ToolRegistry};
use tokio_util::sync::CancellationToken;

/// What a tool answers.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolAnswer {
    /// It is done.
    Finished(ToolOutput),
    /// It has begun something whose result comes later, in minutes or days, by
    /// [`TurnHandle::finish_call`](crate::TurnHandle::finish_call).
    Deferred,
}

/// Whatever is an output is an answer: `"done"`, a `String`, a JSON value.
impl<T: Into<ToolOutput>> From<T> for ToolAnswer {
    fn from(output: T) -> Self {
        Self::Finished(output.into())
    }
}

/// The code of a tool. Any async closure from a call to a result is one:
/// `|call| async move { Ok::<_, std::io::Error>("done") }`. It gives [`ToolAnswer::Deferred`] if the result comes
/// later.
///
/// Calls run side by side, each in a task of its own. A panic is that call's error. For code that blocks there is
/// [`AgentBuilder::blocking_tool`](crate::AgentBuilder::blocking_tool).
pub trait ToolHandler: Send + Sync + 'static {
    /// Runs the tool. Dropping the future cancels it: nobody waits for it then, and what it still gives is dropped.
    fn call(
        &self,
        invocation: ToolInvocation,
    ) -> BoxFuture<'static, Result<ToolAnswer, ToolFailure>>;
}

impl<F, Fut, T, E> ToolHandler for F
where
    F: Fn(ToolInvocation) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T, E>> + Send + 'static,
    T: Into<ToolAnswer>,
    E: Display,
{
    fn call(
        &self,
        invocation: ToolInvocation,
    ) -> BoxFuture<'static, Result<ToolAnswer, ToolFailure>> {
        let result = self(invocation);
        async move {
            result
                .await
                .map(Into::into)
                .map_err(|error| ToolFailure::error(error.to_string()))
        }
        .boxed()
    }
}

/// Tells a tool on a thread of its own that its call was cancelled: the turn no longer waits for it.
#[derive(Clone, Debug)]
pub struct Cancellation(CancellationToken);

impl Cancellation {
    /// Whether the call was cancelled, or ran out of time. To be asked now and then by code that blocks.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until the call is cancelled.
    pub async fn cancelled(&self) {
        self.0.cancelled().await;
    }
}

/// A tool whose code blocks.
pub(crate) struct Blocking<F>(pub(crate) Arc<F>);

impl<F, T, E> ToolHandler for Blocking<F>
where
    F: Fn(ToolInvocation, Cancellation) -> Result<T, E> + Send + Sync + 'static,
    T: Into<ToolAnswer>,
    E: Display,
{
    fn call(
        &self,
        invocation: ToolInvocation,
    ) -> BoxFuture<'static, Result<ToolAnswer, ToolFailure>> {
        let code = Arc::clone(&self.0);
        async move {
            let token = CancellationToken::new();
            // A thread cannot be dropped: it is told.
            let _told_when_dropped = token.clone().drop_guard();
            let work = move || match code(invocation, Cancellation(token)) {
                Ok(answer) => Ok(answer.into()),
                Err(error) => Err(ToolFailure::error(error.to_string())),
            };
            match tokio::task::spawn_blocking(work).await {
                Ok(result) => result,
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    Err(error) => Err(ToolFailure::error(error.to_string())),
                },
            }
        }
        .boxed()
    }
}

/// Asks the user whether a tool may run. Any async closure from a call to a decision does.
///
/// How long they may take is [`Timeouts::approval`](stepwell_core::run::Timeouts::approval): then the question is
/// dropped, and the model told. A panic counts as no.
pub trait Approver: Send + Sync + 'static {
    /// Asks. Dropping the future stops asking.
    fn decide(&self, invocation: ToolInvocation) -> BoxFuture<'static, Decision>;

    /// Asks again: the arguments that the user put in the place of the model's do not fit the tool, for the reason
    /// given. Without code of its own the call is denied, with that reason.
    fn decide_again(
        &self,
        invocation: ToolInvocation,
        misfit: Rejection,
    ) -> BoxFuture<'static, Decision> {
        tracing::warn!(target: "stepwell", tool = invocation.name, "edited arguments do not fit");
        // It repeats the arguments.
        tracing::debug!(target: "stepwell", %misfit);
        let reason = Some(format!("they edited the arguments, and {misfit}"));
        std::future::ready(Decision::Denied { reason }).boxed()
    }
}

impl<F, Fut> Approver for F
where
    F: Fn(ToolInvocation) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Decision> + Send + 'static,
{
    fn decide(&self, invocation: ToolInvocation) -> BoxFuture<'static, Decision> {
        self(invocation).boxed()
    }
}

/// The code of all tools, by name.
pub(crate) type Handlers = HashMap<String, Arc<dyn ToolHandler>>;

/// Runs a tool apart from everything else: a panic in it is that tool's error.
pub(crate) async fn run(
    handler: Option<Arc<dyn ToolHandler>>,
    invocation: ToolInvocation,
) -> Result<ToolAnswer, ToolFailure> {
    let name = invocation.name.clone();
    let Some(handler) = handler else {
        return Err(ToolFailure::error(format!(
            "`{name}` has no code in this app"
        )));
    };
    // The closure itself may panic, not only its future.
    let guarded = AssertUnwindSafe(async move { handler.call(invocation).await }).catch_unwind();
    guarded.await.unwrap_or_else(|panic| {
        let message = format!("`{name}` broke off: {}", panic_text(&*panic));
        Err(ToolFailure::new(ToolFailureKind::Panicked, message))
    })
}

/// Asks until the answer is one that the machine takes.
pub(crate) async fn decide(
    approver: Option<Arc<dyn Approver>>,
    tools: &ToolRegistry,
    invocation: ToolInvocation,
) -> Decision {
    let denied = |reason: &str| Decision::Denied {
        reason: Some(reason.to_owned()),
    };
    let Some(approver) = approver else {
        return denied("this app has no way to ask the user");
    };
    let asking = async {
        let mut decision = approver.decide(invocation.clone()).await;
        while let Decision::Edited { arguments } = &decision {
            let Err(misfit) = tools.check(&invocation.name, arguments) else {
                break;
            };
            decision = approver.decide_again(invocation.clone(), misfit).await;
        }
        decision
    };
    let asked = AssertUnwindSafe(asking).catch_unwind().await;
    asked.unwrap_or_else(|panic| {
        tracing::error!(target: "stepwell", panic = panic_text(&*panic), "the approver broke off");
        denied("the user could not be asked")
    })
}

pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no reason given")
}
