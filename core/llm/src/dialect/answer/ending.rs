//! The end of an answer: its reason and its usage.

use super::super::Sink;
use super::super::error::{ApiErrorKind, StreamError};
use super::{AnswerWriter, Phase, whole, with_metadata};
use crate::event::{Common, Metadata, RunFinished, TokenUsage, Violation};

/// The warning about an answer that ends without a reason.
pub(in super::super) const NO_STOP_REASON: &str =
    "the answer ends without a word on why it stopped: it may have been cut off";

/// Returns the failure of an answer whose stop reason is tool calls, but that has no call.
pub(in super::super) fn no_call() -> StreamError {
    StreamError::of_kind(
        ApiErrorKind::UnreadableOutput,
        "no_call",
        "the answer says that the model called a tool, and there is no call in it",
    )
}

/// Returns the failure of a stream that ends without an answer and without a reason.
pub(in super::super) fn no_answer() -> StreamError {
    StreamError::of_kind(
        ApiErrorKind::ServerError,
        "no_answer",
        "the stream ended, and there was no answer in it",
    )
}

impl AnswerWriter {
    /// Names the model in the usage, once both are known.
    pub(in super::super) fn name_usage(&mut self) {
        if let Some(usage) = &mut self.usage
            && usage.model.is_none()
        {
            usage.model.clone_from(&self.model);
        }
    }

    /// Closes what is open, and finishes the run.
    pub(in super::super) fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), Violation> {
        self.start(sink)?;
        self.close(sink)?;
        for slot in 0..self.calls.len() {
            self.end_call(slot, sink)?;
        }
        self.phase = Phase::Over;
        let finished = RunFinished {
            thread_id: self.ids.thread_id.clone(),
            run_id: self.ids.run_id.clone(),
            usage: self.token_usage(),
            common: self.stop_metadata(),
            ..RunFinished::default()
        };
        whole(sink, finished)
    }

    /// Fails the run. Open items are not closed, since they were cut off.
    pub(in super::super) fn fail(
        &mut self,
        error: StreamError,
        sink: &mut dyn Sink,
    ) -> Result<(), Violation> {
        self.phase = Phase::Over;
        let usage = self.token_usage();
        whole(sink, error.into_event(usage, self.stop_reason.as_deref()))
    }

    fn token_usage(&self) -> Option<Vec<TokenUsage>> {
        self.usage.clone().map(|usage| {
            vec![TokenUsage {
                model: self.model.clone(),
                ..usage
            }]
        })
    }

    fn stop_metadata(&self) -> Option<Box<Common>> {
        let reason = self.stop_reason.as_deref()?;
        let mut metadata = Metadata::new();
        metadata.insert("stopReason".to_owned(), reason.into());
        Some(with_metadata(metadata))
    }
}
