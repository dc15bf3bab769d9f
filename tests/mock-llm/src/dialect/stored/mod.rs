//! Answers that a provider stores: their addresses, what their events say of them, and the provider's refusals.

mod interactions;
mod responses;

use serde_json::Value;

use super::{Dialect, Refusal};

/// The form of a dialect's stored answers.
pub(crate) trait StoredForm: Sync {
    /// The dialect that has it.
    fn dialect(&self) -> Dialect;

    /// The beginning of the paths of stored answers.
    fn paths(&self) -> &'static str;

    /// The id of the answer at this position; `in_background` counts those that are made in the background.
    fn id(&self, position: usize, in_background: Option<usize>) -> String;

    /// The name of the header with the key.
    fn key_header(&self) -> &'static str;

    /// The name of the field of a query that names the last event that the client has.
    fn after(&self) -> &'static str;

    /// Returns the number of the event that a query names.
    ///
    /// # Errors
    /// It names none.
    fn number(&self, named: &str) -> Result<u64, Refusal>;

    /// Reads a frame, or a body that is the answer itself. Of bytes that are neither nothing is noted.
    fn read(&self, bytes: &[u8]) -> Noted;

    /// Returns the answer as a request for it finds it.
    fn shown(&self, answer: Value, request: &Value) -> Value;

    /// Returns an answer as it is once it was cancelled.
    fn cancelled(&self, answer: &Value) -> Value;

    /// Returns the event that ends the streams of an answer that was cancelled.
    fn cancelled_event(&self, answer: &Value, number: u64) -> Vec<u8>;

    /// Returns how the provider says this.
    fn refusal(&self, refused: Refused<'_>) -> Refusal;
}

/// What a frame says of its answer: the number of the event, and the answer as an object.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Noted {
    pub(crate) number: Option<u64>,
    pub(crate) answer: Option<Value>,
}

/// Why a request about a stored answer is refused.
#[derive(Clone, Copy)]
pub(crate) enum Refused<'a> {
    /// There is no answer with this id.
    Unknown(&'a str),
    /// The key is not that of the answer.
    WrongKey,
    /// An answer that was not made in the background cannot be cancelled.
    Synchronous,
    /// An answer with this status cannot be cancelled.
    Ended(&'a str),
    /// The answer was made without this field, so it cannot be streamed.
    NotCreatedWith(&'a str),
    /// The answer is no longer streamed.
    TooOld,
}

/// All forms.
const ALL: [&dyn StoredForm; 2] = [&responses::Responses, &interactions::Interactions];

/// Returns the form of the stored answers below this path.
pub(crate) fn of_path(path: &str) -> Option<&'static dyn StoredForm> {
    ALL.into_iter().find(|form| path.starts_with(form.paths()))
}

/// Returns the form of a dialect's stored answers, if it has some.
pub(crate) fn of(dialect: Dialect) -> Option<&'static dyn StoredForm> {
    ALL.into_iter().find(|form| form.dialect() == dialect)
}

/// Returns whether the provider has finished an answer.
pub(crate) fn is_final(answer: &Value) -> bool {
    !matches!(
        answer["status"].as_str(),
        Some("queued" | "in_progress") | None
    )
}

/// Returns the JSON of a frame, or of a body.
fn json(bytes: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(bytes).ok()?;
    let data = text.lines().find_map(|line| line.strip_prefix("data: "));
    serde_json::from_str(data.unwrap_or(text)).ok()
}
