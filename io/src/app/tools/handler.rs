//! The app's code of tools.

use crate::app::tools::context::ToolContext;
use crate::base::catch_panic;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Display;
use std::marker::PhantomData;
use std::sync::Arc;
use stepwell_core::event::{ContentPart, MessageContent};
use stepwell_core::tool::{ToolFailure, ToolFailureKind, ToolOutput};

/// The answer of a tool.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ToolAnswer {
    /// The tool is done.
    Finished(ToolOutput),
    /// The result comes later, in minutes or days, by [`TurnHandle::resolve_call`](crate::turn::TurnHandle::resolve_call).
    Deferred,
}

/// Any output is an answer: `"done"`, a `String`, a JSON value.
impl<T: Into<ToolOutput>> From<T> for ToolAnswer {
    fn from(output: T) -> Self {
        Self::Finished(output.into())
    }
}

/// The code of a tool. Any async closure from a [`ToolContext`], which holds the call, to an
/// [answer](IntoToolAnswer) is a handler: `|call| async move { "done" }`. It returns [`ToolAnswer::Deferred`] if the
/// result comes later. `D` is the type of the app's value that the code needs.
///
/// Calls run concurrently, each in its own task. A panic is an error of its call. For code that blocks there is
/// [`AgentBuilder::blocking_tool`](crate::AgentBuilder::blocking_tool).
pub trait ToolHandler<D = ()>: Send + Sync + 'static {
    /// Runs the tool. Dropping the future cancels the call, and its result is dropped.
    fn call(&self, call: ToolContext<D>) -> BoxFuture<'static, Result<ToolAnswer, ToolFailure>>;
}

impl<D, F, Fut> ToolHandler<D> for F
where
    F: Fn(ToolContext<D>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoToolAnswer> + Send + 'static,
{
    fn call(&self, call: ToolContext<D>) -> BoxFuture<'static, Result<ToolAnswer, ToolFailure>> {
        let answer = self(call);
        async move { answer.await.into_tool_answer() }.boxed()
    }
}

/// The answer of a tool's code: a text, a number, JSON, [media](crate::media), a [`ToolAnswer`], or any other value in
/// [`Json`]. Of a `Result`, the error is `Display`, and the model reads it.
///
/// ```
/// use serde::Serialize;
/// use stepwell_io::tool::{IntoToolAnswer, Json};
///
/// #[derive(Serialize)]
/// struct Forecast { degrees: f64 }
///
/// # fn is_answer(_: impl IntoToolAnswer) {}
/// # is_answer("done");
/// # is_answer(42);
/// # is_answer(Json(Forecast { degrees: 21.5 }));
/// # is_answer(Err::<Json<Forecast>, _>("nobody knows so far ahead"));
/// ```
#[diagnostic::on_unimplemented(
    message = "a tool cannot answer with `{Self}`",
    note = "wrap the value in `Json(…)` if it is `Serialize`, or return a `Result` of such an answer"
)]
pub trait IntoToolAnswer {
    /// Returns the answer.
    ///
    /// # Errors
    /// The tool has failed, or its result cannot be written as JSON.
    fn into_tool_answer(self) -> Result<ToolAnswer, ToolFailure>;
}

/// A value that a tool's code answers with, as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoToolAnswer for Json<T> {
    fn into_tool_answer(self) -> Result<ToolAnswer, ToolFailure> {
        match serde_json::to_value(self.0) {
            Ok(value) => Ok(value.into()),
            Err(error) => Err(not_json(&error)),
        }
    }
}

pub(crate) fn not_json(error: &serde_json::Error) -> ToolFailure {
    ToolFailure::error(format!("its result is no JSON: {error}"))
}

impl<T: IntoToolAnswer, E: Display> IntoToolAnswer for Result<T, E> {
    fn into_tool_answer(self) -> Result<ToolAnswer, ToolFailure> {
        match self {
            Ok(answer) => answer.into_tool_answer(),
            Err(error) => Err(ToolFailure::error(error.to_string())),
        }
    }
}

impl IntoToolAnswer for ToolAnswer {
    fn into_tool_answer(self) -> Result<ToolAnswer, ToolFailure> {
        Ok(self)
    }
}

impl IntoToolAnswer for () {
    fn into_tool_answer(self) -> Result<ToolAnswer, ToolFailure> {
        Ok("done".into())
    }
}

macro_rules! answers {
    ($($as_it_is:ty),*; $($as_json:ty),* $(,)?) => {
        $(
            impl IntoToolAnswer for $as_it_is {
                fn into_tool_answer(self) -> Result<ToolAnswer, ToolFailure> {
                    Ok(self.into())
                }
            }
        )*
        $(
            impl IntoToolAnswer for $as_json {
                fn into_tool_answer(self) -> Result<ToolAnswer, ToolFailure> {
                    Json(self).into_tool_answer()
                }
            }
        )*
    };
}

answers!(
    String, &'static str, Value, ToolOutput, MessageContent, ContentPart, Vec<ContentPart>;
    bool, i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, f32, f64,
);

/// A tool whose code blocks.
pub(crate) struct Blocking<F>(pub(crate) Arc<F>);

impl<D, F, R> ToolHandler<D> for Blocking<F>
where
    D: 'static,
    F: Fn(ToolContext<D>) -> R + Send + Sync + 'static,
    R: IntoToolAnswer,
{
    fn call(&self, call: ToolContext<D>) -> BoxFuture<'static, Result<ToolAnswer, ToolFailure>> {
        let code = Arc::clone(&self.0);
        async move {
            let work = move || code(call).into_tool_answer();
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

/// A tool whose code needs a value of the app's.
pub(crate) struct WithDeps<D, H>(H, PhantomData<fn(D)>);

impl<D, H> WithDeps<D, H> {
    pub(crate) fn new(handler: H) -> Self {
        Self(handler, PhantomData)
    }
}

impl<D: 'static, H: ToolHandler<D>> ToolHandler for WithDeps<D, H> {
    fn call(&self, call: ToolContext) -> BoxFuture<'static, Result<ToolAnswer, ToolFailure>> {
        self.0.call(call.with_type())
    }
}

/// The code of all tools, by name.
pub(crate) type Handlers = HashMap<String, Arc<dyn ToolHandler>>;

/// Why a call has no answer.
pub(crate) struct FailedCall {
    /// The failure as the model is told.
    pub(crate) failure: ToolFailure,
    /// The text of a panic, which may say anything, and is for the developer.
    pub(crate) panic: Option<String>,
}

/// Runs a tool. A panic in its code, or a failure that another language's code reports as one, is an error of the tool,
/// of which the model is told only that there was one, unless the app wants to `show` it the text.
pub(crate) async fn run(
    handler: Option<Arc<dyn ToolHandler>>,
    call: ToolContext,
    show: bool,
) -> Result<ToolAnswer, FailedCall> {
    let name = call.name.clone();
    let failed = |failure| FailedCall {
        failure,
        panic: None,
    };
    let Some(handler) = handler else {
        let failure = ToolFailure::error(format!("`{name}` has no code in this app"));
        return Err(failed(failure));
    };
    let panic = match catch_panic(async move { handler.call(call).await }).await {
        Ok(Err(failure)) if failure.kind == ToolFailureKind::Panicked => failure.message,
        Ok(answer) => return answer.map_err(failed),
        Err(panic) => panic,
    };
    let message = match show {
        true => format!("`{name}` failed because of a mistake in its code: {panic}"),
        false => format!("`{name}` failed because of a mistake in its code"),
    };
    Err(FailedCall {
        failure: ToolFailure::new(ToolFailureKind::Panicked, message),
        panic: Some(panic),
    })
}
