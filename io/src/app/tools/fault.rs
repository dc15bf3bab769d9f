use std::fmt::Display;
use std::sync::{Arc, OnceLock};
use stepwell_core::run::{Failure, Outcome};
use tokio_util::sync::CancellationToken;

/// What happens if a tool fails or panics: [`AgentBuilder::on_tool_error`](crate::AgentBuilder::on_tool_error).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnToolError {
    /// The model is told, and continues: the text of an error that the tool returned, and of a panic only that the tool
    /// failed.
    #[default]
    TellModel,
    /// The model is told, and continues: with the text of a panic too, which may hold addresses, queries and secrets.
    ShowModel,
    /// The turn fails with [`ErrorKind::ToolFailed`](crate::ErrorKind::ToolFailed), and the model is not told: for
    /// tests, in which a tool's error is the developer's to see.
    Fail,
}

/// A failure of a running tool that ends the turn.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    cancel: CancellationToken,
    first: Arc<OnceLock<Failure>>,
}

impl Fault {
    /// `cancel` stops the turn.
    pub(crate) fn new(cancel: CancellationToken) -> Self {
        Self {
            cancel,
            first: Arc::default(),
        }
    }

    /// Ends the turn: a tool has failed.
    pub(crate) fn tool(&self, tool: &str, error: &dyn Display) {
        let failure = Failure::ToolFailed {
            tool: tool.to_owned(),
            message: error.to_string(),
        };
        // A turn that was cancelled before ends as cancelled.
        if !self.cancel.is_cancelled() {
            let _ = self.first.set(failure);
        }
        self.cancel.cancel();
    }

    /// Returns the outcome of a turn whose machine ends with `outcome`.
    pub(crate) fn or(&self, outcome: &Outcome) -> Outcome {
        match (outcome, self.first.get()) {
            (Outcome::Cancelled, Some(failure)) => Outcome::Failed {
                failure: failure.clone(),
            },
            _ => outcome.clone(),
        }
    }
}
