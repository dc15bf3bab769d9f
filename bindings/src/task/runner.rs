//! The driver's ports, each of which hands the app a task and waits for its answer.

use super::{
    ApprovalTask, ChooseModelTask, CreateRunTask, CredentialsTask, DecodeOutputTask,
    InstructionsTask, QuestionTask, Reply, StopOnDrop, TaskRunner, ToolTask, TrimContextTask,
    next_id,
};
use crate::error::CallbackError;
use crate::hook::HookTask;
use crate::json_value::JsonValue;
use crate::model_choice::chosen;
use crate::output::taken;
use crate::tool::{core_answer, could_not_ask, not_asked};
use crate::tool_context::ToolContext;
use crate::trace;
use crate::trim::kept;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use std::sync::Arc;
use stepwell_core::RunId;
use stepwell_core::event::Message;
use stepwell_core::run;
use stepwell_core::tool::ToolFailure;
use stepwell_io::HttpClient;
use stepwell_io::tool::ToolAnswer;

/// The app's event loop, as the driver calls it.
pub(crate) struct Runner(pub(crate) Arc<dyn TaskRunner>);

/// Hands a task to the runner, and waits for the answer. Dropping the future stops the task.
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

impl stepwell_io::tool::ToolHandler for Runner {
    fn call(
        &self,
        call: stepwell_io::tool::ToolContext,
    ) -> BoxFuture<'static, Result<ToolAnswer, ToolFailure>> {
        let runner = Arc::clone(&self.0);
        async move {
            let context = ToolContext::new(call);
            let spans = JsonValue::of(&trace::open_spans());
            let begin = |runner: &dyn TaskRunner, id, reply| {
                runner.run_tool(Arc::new(ToolTask {
                    id,
                    context,
                    spans,
                    reply,
                }))
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

impl stepwell_io::tool::Approver for Runner {
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
}

impl stepwell_io::tool::Answerer for Runner {
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

impl stepwell_io::host::RunSource for Runner {
    fn create_run(
        &self,
        _client: HttpClient,
        new: stepwell_io::host::NewRun,
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

impl stepwell_io::config::Trimmer for Runner {
    fn trim(
        &self,
        overflow: run::ContextOverflow,
        messages: Vec<Message>,
    ) -> BoxFuture<'static, Option<stepwell_io::config::Trimmed>> {
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

impl stepwell_io::config::ModelChooser for Runner {
    fn choose(&self, context: run::HopContext) -> BoxFuture<'static, u32> {
        let runner = Arc::clone(&self.0);
        async move {
            let context = context.into();
            let begin = |runner: &dyn TaskRunner, id, reply| {
                runner.choose_model(Arc::new(ChooseModelTask { id, context, reply }))
            };
            chosen(answered(runner, "no model was chosen", begin).await)
        }
        .boxed()
    }
}

impl stepwell_io::output::OutputDecoder for Runner {
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

impl stepwell_io::credentials::CredentialSource for Runner {
    fn credentials(
        &self,
        request: stepwell_io::credentials::CredentialRequest,
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

impl stepwell_io::hook::HookHandler for Runner {
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

impl stepwell_io::config::InstructionsSource for Runner {
    fn instructions(
        &self,
        request: stepwell_io::config::InstructionsRequest,
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
