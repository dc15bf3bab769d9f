//! The app's code of tools.

use crate::app::tools::context::ToolContext;
use crate::base::catch_panic;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::collections::HashMap;
use std::fmt::Display;
use std::sync::Arc;
use stepwell_core::tool::{ToolFailure, ToolFailureKind, ToolOutput};

/// The answer of a tool.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolAnswer {
    /// The tool is done.
    Finished(ToolOutput),
    /// The result comes later, in minutes or days, by [`TurnHandle::finish_call`](crate::TurnHandle::finish_call).
    Deferred,
}

/// Any output is an answer: `"done"`, a `String`, a JSON value.
impl<T: Into<ToolOutput>> From<T> for ToolAnswer {
    fn from(output: T) -> Self {
        Self::Finished(output.into())
    }
}

/// The code of a tool. Any async closure from a [`ToolContext`], which holds the call, to a result is a handler:
/// `|call| async move { Ok::<_, std::io::Error>("done") }`. It returns [`ToolAnswer::Deferred`] if the result comes
/// later.
///
/// Calls run concurrently, each in its own task. A panic is an error of its call. For code that blocks there is
/// [`AgentBuilder::blocking_tool`](crate::AgentBuilder::blocking_tool).
pub trait ToolHandler: Send + Sync + 'static {
    /// Runs the tool. Dropping the future cancels the call, and its result is dropped.
    fn call(&self, call: ToolContext) -> BoxFuture<'static, Result<ToolAnswer, ToolFailure>>;
}

impl<F, Fut, T, E> ToolHandler for F
where
    F: Fn(ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T, E>> + Send + 'static,
    T: Into<ToolAnswer>,
    E: Display,
{
    fn call(&self, call: ToolContext) -> BoxFuture<'static, Result<ToolAnswer, ToolFailure>> {
        let result = self(call);
        async move {
            result
                .await
                .map(Into::into)
                .map_err(|error| ToolFailure::error(error.to_string()))
        }
        .boxed()
    }
}

/// A tool whose code blocks.
pub(crate) struct Blocking<F>(pub(crate) Arc<F>);

impl<F, T, E> ToolHandler for Blocking<F>
where
    F: Fn(ToolContext) -> Result<T, E> + Send + Sync + 'static,
    T: Into<ToolAnswer>,
    E: Display,
{
    fn call(&self, call: ToolContext) -> BoxFuture<'static, Result<ToolAnswer, ToolFailure>> {
        let code = Arc::clone(&self.0);
        async move {
            let work = move || match code(call) {
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

/// The code of all tools, by name.
pub(crate) type Handlers = HashMap<String, Arc<dyn ToolHandler>>;

/// Runs a tool. A panic in its code is an error of the tool.
pub(crate) async fn run(
    handler: Option<Arc<dyn ToolHandler>>,
    call: ToolContext,
) -> Result<ToolAnswer, ToolFailure> {
    let name = call.name.clone();
    let Some(handler) = handler else {
        return Err(ToolFailure::error(format!(
            "`{name}` has no code in this app"
        )));
    };
    let called = catch_panic(async move { handler.call(call).await }).await;
    called.unwrap_or_else(|panic| {
        let message = format!("`{name}` broke off: {panic}");
        Err(ToolFailure::new(ToolFailureKind::Panicked, message))
    })
}
