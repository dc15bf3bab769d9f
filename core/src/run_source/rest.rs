use crate::dialect::{ApiError, HttpRequest};
use crate::{RunId, ThreadId};
use serde_json::Value;

/// The requests by which a REST backend is asked for threads and runs, and how its answers are read. It sends nothing:
/// the host does.
pub trait RunRequests {
    /// Asks for a new thread.
    fn create_thread(&self) -> HttpRequest;

    /// Reads the answer to [`create_thread`](Self::create_thread), given its status.
    ///
    /// # Errors
    /// The backend refused, or what it answers cannot be read.
    fn thread_created(&self, status: u16, body: &[u8]) -> Result<CreatedThread, RunSourceError>;

    /// Asks for the next run of a thread, which continues `parent`.
    fn create_run(&self, thread_id: &ThreadId, parent: Option<&RunId>) -> HttpRequest;

    /// Reads the answer to [`create_run`](Self::create_run), given its status.
    ///
    /// # Errors
    /// The backend refused, or what it answers cannot be read.
    fn run_created(&self, status: u16, body: &[u8]) -> Result<RunId, RunSourceError>;
}

/// A thread that a backend has made.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct CreatedThread {
    /// The thread's id.
    pub thread_id: ThreadId,
    /// The thread's first run, if the backend created one with it: the run that the first hop asks for.
    pub run_id: Option<RunId>,
    /// The initial state; null if there is none.
    pub state: Value,
}

/// The reasons why a backend provided no thread or run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum RunSourceError {
    /// The backend answered with a status other than 2xx.
    #[error("the backend refused: {0}")]
    Refused(ApiError),
    /// The backend's answer has an unexpected form.
    #[error("the backend's answer cannot be read: {0}")]
    Unreadable(String),
}

/// The JSON of an answer.
pub(super) fn answer(status: u16, body: &[u8]) -> Result<Value, RunSourceError> {
    if !(200..300).contains(&status) {
        return Err(RunSourceError::Refused(ApiError::from_body(status, body)));
    }
    serde_json::from_slice(body).map_err(|error| RunSourceError::Unreadable(error.to_string()))
}
