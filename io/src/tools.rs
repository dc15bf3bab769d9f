use futures::FutureExt;
use futures::future::BoxFuture;
use std::collections::HashMap;
use std::fmt::Display;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use stepwell_core::run::{Decision, ToolInvocation};
use stepwell_core::tool::{ToolFailure, ToolFailureKind, ToolOutput, ToolResult};

/// The code of a tool. Any async closure from a call to a result is one:
/// `|call| async move { Ok::<_, std::io::Error>("done") }`.
pub trait ToolHandler: Send + Sync + 'static {
    /// Runs the tool. Dropping the future cancels it.
    fn call(&self, invocation: ToolInvocation) -> BoxFuture<'static, ToolResult>;
}

impl<F, Fut, T, E> ToolHandler for F
where
    F: Fn(ToolInvocation) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T, E>> + Send + 'static,
    T: Into<ToolOutput>,
    E: Display,
{
    fn call(&self, invocation: ToolInvocation) -> BoxFuture<'static, ToolResult> {
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

/// Asks the person whether a tool may run.
pub trait Approver: Send + Sync + 'static {
    /// Asks. Dropping the future stops asking.
    fn decide(&self, invocation: ToolInvocation) -> BoxFuture<'static, Decision>;
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
) -> ToolResult {
    let name = invocation.name.clone();
    let Some(handler) = handler else {
        return Err(ToolFailure::error(format!(
            "`{name}` has no code in this app"
        )));
    };
    // The closure itself may panic, not only its future.
    let guarded = AssertUnwindSafe(async move { handler.call(invocation).await }).catch_unwind();
    guarded.await.unwrap_or_else(|panic| {
        let reason = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no reason given".to_owned());
        Err(ToolFailure::new(
            ToolFailureKind::Panicked,
            format!("`{name}` broke off: {reason}"),
        ))
    })
}
