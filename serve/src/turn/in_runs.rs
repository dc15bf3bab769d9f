//! The runs that a turn is reported in.

use super::brought::{Brought, RunTerms};
use crate::engine::CommandReply;
use serde_json::json;
use stepwell_core::event::{Common, Event, PROTOCOL_VERSION, RunAgentInput, RunStarted};
use stepwell_io::RunId;
use stepwell_io::store::TurnKey;

/// The run that a turn will continue in.
pub(crate) struct NextRun {
    pub(super) terms: RunTerms,
    pub(super) brought: Brought,
    /// Notified once the run is about to begin.
    pub(super) reply: CommandReply,
}

/// Returns the event of a run's beginning.
pub(crate) fn started(key: &TurnKey, run: &RunId, terms: Option<&RunTerms>) -> Event {
    RunStarted {
        thread_id: key.thread.thread.clone(),
        run_id: run.clone(),
        protocol_version: Some(PROTOCOL_VERSION.to_owned()),
        parent_run_id: terms.and_then(|terms| terms.parent.clone()),
        common: terms.and_then(|terms| {
            let message = terms.message.as_ref()?;
            let metadata = [("messageId".to_owned(), json!(message))];
            Some(Box::new(Common {
                metadata: Some(metadata.into_iter().collect()),
                ..Common::default()
            }))
        }),
        ..RunStarted::default()
    }
    .into()
}

/// Returns the input that names a run in its end.
pub(crate) fn input(key: &TurnKey, run: &RunId) -> RunAgentInput {
    RunAgentInput {
        thread_id: key.thread.thread.clone(),
        run_id: run.clone(),
        ..RunAgentInput::default()
    }
}
