use crate::config::ToolDefinition;
use crate::effect::ToolInvocation;
use crate::error::{CallbackError, ToolError};
use crate::json_value::JsonValue;
use crate::media::{ContentPart, content};
use crate::question::{Question, UserAnswer};
use crate::tool_context::ToolContext;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::sync::Arc;
use stepwell_core::run;
use stepwell_core::tool::{ToolFailure, ToolFailureKind};
use stepwell_io::tool::ToolAnswer;

/// The code of a tool, written in the app's language.
#[uniffi::export(foreign)]
#[async_trait::async_trait]
pub trait ToolHandler: Send + Sync {
    /// Runs the tool and returns the result for the model: text, JSON as text, or media. Calls may run in parallel. An
    /// error, or an exception, is the tool's own: the model is shown the error and the turn continues. When the turn is
    /// cancelled, so is the call. A tool whose result comes later returns `ToolError.Deferred`. `context` identifies
    /// the call, and takes the tool's reports and questions while it runs.
    async fn call(
        &self,
        invocation: ToolInvocation,
        context: Arc<ToolContext>,
    ) -> Result<ToolOutput, ToolError>;
}

/// The result of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, uniffi::Record)]
pub struct ToolOutput {
    /// Text, or JSON as text. With parts, an empty text is left out.
    pub text: String,
    /// The parts that follow the text, in order: media, and texts between them.
    #[uniffi(default)]
    pub parts: Vec<ContentPart>,
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self {
            text,
            parts: Vec::new(),
        }
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// Asks the user whether a tool may run, in the app's own way.
#[uniffi::export(foreign)]
#[async_trait::async_trait]
pub trait Approver: Send + Sync {
    /// Asks the user. A failure counts as a denial.
    async fn decide(&self, invocation: ToolInvocation) -> Result<Decision, CallbackError>;
}

/// Asks the user the questions of running tools, in the app's own way.
#[uniffi::export(foreign)]
#[async_trait::async_trait]
pub trait Answerer: Send + Sync {
    /// Asks the user. An answer that does not fit the question's schema, and a failure, count as declined.
    async fn ask(
        &self,
        invocation: ToolInvocation,
        question: Question,
    ) -> Result<UserAnswer, CallbackError>;
}

/// The user's decision on a tool call.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum Decision {
    /// The call may run.
    Granted,
    /// The call may not run.
    Denied {
        /// Why, for the model to read.
        reason: Option<String>,
    },
    /// The call may run with other arguments than the model's, and the model is informed. If the arguments do not fit
    /// the tool, the call is denied for that reason.
    Edited {
        /// The arguments: a JSON text that fits the tool's schema.
        arguments: JsonValue,
    },
}

/// A tool with its code.
#[derive(Clone, uniffi::Record)]
pub struct AgentTool {
    /// How the model sees the tool, and how the tool may be run.
    pub definition: ToolDefinition,
    /// The code of the tool.
    pub handler: Arc<dyn ToolHandler>,
}

/// A tool's code in the app, as the driver calls it.
pub(crate) struct Handler(pub(crate) Arc<dyn ToolHandler>);

impl stepwell_io::tool::ToolHandler for Handler {
    fn call(
        &self,
        call: stepwell_io::tool::ToolContext,
    ) -> BoxFuture<'static, Result<ToolAnswer, ToolFailure>> {
        let handler = Arc::clone(&self.0);
        async move {
            let invocation = call.invocation().clone().into();
            match handler.call(invocation, ToolContext::new(call)).await {
                Ok(ToolOutput { text, parts }) => match content(text, parts) {
                    Ok(content) => Ok(ToolAnswer::Finished(content.into())),
                    Err(error) => Err(ToolFailure::new(
                        ToolFailureKind::Panicked,
                        error.to_string(),
                    )),
                },
                Err(ToolError::Deferred) => Ok(ToolAnswer::Deferred),
                Err(ToolError::Failed { reason }) => Err(ToolFailure::error(reason)),
                Err(ToolError::Unexpected { reason }) => {
                    Err(ToolFailure::new(ToolFailureKind::Panicked, reason))
                }
            }
        }
        .boxed()
    }
}

/// The app's way to ask the user, as the driver calls it.
pub(crate) struct Asking(pub(crate) Arc<dyn Approver>);

impl stepwell_io::tool::Approver for Asking {
    fn decide(&self, invocation: run::ToolInvocation) -> BoxFuture<'static, run::Decision> {
        let approver = Arc::clone(&self.0);
        async move {
            approver
                .decide(invocation.into())
                .await
                .unwrap_or_else(|error| could_not_ask(&error))
                .into()
        }
        .boxed()
    }
}

/// Asks the app's answerer.
pub(crate) async fn answered(
    answerer: Arc<dyn Answerer>,
    invocation: run::ToolInvocation,
    question: run::Question,
) -> run::UserAnswer {
    let answer = answerer.ask(invocation.into(), question.into()).await;
    answer.map_or_else(|error| not_asked(&error), core_answer)
}

/// Returns the answer for a failed answerer: the user was not asked, so the question is declined.
pub(crate) fn not_asked(error: &CallbackError) -> run::UserAnswer {
    tracing::warn!(target: "stepwell", %error, "the user could not be asked");
    run::UserAnswer::declined("the user could not be asked")
}

/// Converts an answer of the app.
pub(crate) fn core_answer(answer: UserAnswer) -> run::UserAnswer {
    match answer {
        UserAnswer::Given { value } => match serde_json::from_str(value.as_str()) {
            Ok(value) => run::UserAnswer::Given { value },
            Err(error) => run::UserAnswer::declined(format!("the answer is no JSON: {error}")),
        },
        UserAnswer::Declined { reason } => run::UserAnswer::Declined { reason },
    }
}

/// Returns the decision for a failed approver: the user was not asked, so the call is denied.
pub(crate) fn could_not_ask(error: &CallbackError) -> Decision {
    tracing::warn!(target: "stepwell", %error, "the user could not be asked");
    Decision::Denied {
        reason: Some("the user could not be asked".to_owned()),
    }
}

impl From<Decision> for run::Decision {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Granted => Self::Granted,
            Decision::Denied { reason } => Self::Denied { reason },
            Decision::Edited { arguments } => Self::Edited {
                arguments: arguments.into_text(),
            },
        }
    }
}
