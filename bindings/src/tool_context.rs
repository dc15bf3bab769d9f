use crate::effect::ToolInvocation;
use crate::error::StepwellError;
use crate::machine::any_json;
use crate::question::{Question, UserAnswer};
use std::sync::Arc;
use stepwell_core::run;

/// What a tool's code may ask and tell while it runs.
#[derive(Debug, uniffi::Object)]
pub struct ToolContext(stepwell_io::ToolContext);

impl ToolContext {
    pub(crate) fn new(context: stepwell_io::ToolContext) -> Arc<Self> {
        Arc::new(Self(context))
    }
}

#[uniffi::export]
impl ToolContext {
    /// The call: its arguments, its id, the thread, the turn, the run and the attempt.
    pub fn invocation(&self) -> ToolInvocation {
        self.0.invocation().clone().into()
    }

    /// Says how far the call has come: from 0 to 1, if that is known, and what it does now. The event `ToolProgress` shows
    /// it. Of what an app is too slow to show, the last is shown.
    #[uniffi::method(default(fraction = None, message = ""))]
    pub fn report(&self, fraction: Option<f64>, message: String) {
        self.0.report(fraction, message);
    }

    /// Shows what there is of the result so far, text or JSON as text, in the place of what was shown before: the event
    /// `ToolPartialResult`. The model is told the result alone. One of more than 256 KiB is not shown.
    pub fn partial(&self, content: String) {
        self.0.partial(content);
    }

    /// Asks the user, by the agent's answerer, and waits for the answer, which fits the question's schema. Without an
    /// answerer, and when `Timeouts.approval` is over, the question is declined. The tool's own time stands still meanwhile.
    ///
    /// An idempotent tool that is run again after a crash and asks the same is given the answer of before.
    pub async fn ask(&self, question: Question) -> Result<UserAnswer, StepwellError> {
        let question = run::Question::new(
            question.message,
            any_json("the question's schema", question.schema)?,
        );
        let answer = self.0.ask(question).await.map_err(run::Misuse::from)?;
        Ok(answer.into())
    }

    /// Whether nobody waits for the call any more: it was cancelled, ran out of time, or is over.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}
