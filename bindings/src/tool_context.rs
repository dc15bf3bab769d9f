use crate::effect::ToolInvocation;
use crate::error::StepwellError;
use crate::machine::any_json;
use crate::question::{Question, UserAnswer};
use std::sync::Arc;
use stepwell_core::run;

/// The reports and questions of a tool's code while it runs.
#[derive(Debug, uniffi::Object)]
pub struct ToolContext(stepwell_io::tool::ToolContext);

impl ToolContext {
    pub(crate) fn new(context: stepwell_io::tool::ToolContext) -> Arc<Self> {
        Arc::new(Self(context))
    }
}

#[uniffi::export]
impl ToolContext {
    /// Returns the call: its arguments, its id, the thread, the turn, the run and the attempt.
    pub fn invocation(&self) -> ToolInvocation {
        self.0.invocation().clone().into()
    }

    /// Reports the call's progress: from 0 to 1, if that is known, and what the call is doing. The event `ToolProgress`
    /// shows the progress. For an app that is too slow to show every report, only the last is shown.
    #[uniffi::method(default(fraction = None, message = ""))]
    pub fn report(&self, fraction: Option<f64>, message: String) {
        self.0.report(fraction, message);
    }

    /// Shows a partial result, text or JSON as text, which replaces the previous one: the event `ToolPartialResult`.
    /// The model gets only the final result. A partial result of more than 256 KiB is not shown.
    pub fn partial(&self, content: String) {
        self.0.partial(content);
    }

    /// Asks the user, by the agent's answerer, and waits for the answer, which fits the question's schema. Without an
    /// answerer, and when `Timeouts.approval` is over, the question is declined. The tool's own clock is paused
    /// meanwhile.
    ///
    /// An idempotent tool that is run again after a crash and asks the same question gets the earlier answer.
    pub async fn ask(&self, question: Question) -> Result<UserAnswer, StepwellError> {
        let question = run::Question::new(
            question.message,
            any_json("the question's schema", question.schema)?,
        );
        let answer = self.0.ask(question).await.map_err(run::Misuse::from)?;
        Ok(answer.into())
    }

    /// Returns whether the result is no longer wanted: the call was cancelled, ran out of time, or is over.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}
