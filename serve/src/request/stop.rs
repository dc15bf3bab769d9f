//! What a client asks for that stops a run.

use super::input::check_ids;
use super::{Refused, RefusedReason};
use serde::Deserialize;
use stepwell_core::ThreadId;
use stepwell_io::RunId;

/// The body of `POST /agent/stop`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StopRequest {
    /// The conversation.
    pub thread_id: ThreadId,
    /// The run; the thread's run under way if it is not named.
    pub run_id: Option<RunId>,
}

impl StopRequest {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// The body is not JSON, or does not name a thread.
    pub fn read(body: &[u8]) -> Result<Self, Refused> {
        let request: Self = serde_json::from_slice(body).map_err(|error| {
            let (reason, what) = match error.classify() {
                serde_json::error::Category::Data => (
                    RefusedReason::InvalidInput,
                    "the body does not say what to stop, as `{threadId, runId}`",
                ),
                _ => (RefusedReason::InvalidJson, "the body is not JSON"),
            };
            Refused::new(reason, format!("{what}: {error}"))
        })?;
        let run = request.run_id.as_ref().map(|run| ("runId", run.as_str()));
        let ids = [("threadId", request.thread_id.as_str())];
        let ids: Vec<_> = ids.into_iter().chain(run).collect();
        check_ids("what says which run to stop", &ids)?;
        Ok(request)
    }
}
