use std::fmt::Display;
use std::sync::{Arc, OnceLock};
use stepwell_core::run::{Failure, Outcome};
use tokio_util::sync::CancellationToken;

/// A mistake in the program that a running tool has found. It ends the turn, so that the developer sees it and the
/// model does not.
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

    /// Ends the turn: the tool cannot run as it is set up.
    pub(crate) fn tool(&self, tool: &str, error: &dyn Display) {
        tracing::error!(target: "stepwell", tool, %error, "the tool is not set up: the turn fails");
        let failure = Failure::ToolNotSetUp {
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
