//! Reads what a client asks for.

use crate::request::refused::{Refused, RefusedReason};
use stepwell_core::dialect::{RunInputError, read_run_input};
use stepwell_core::event::RunAgentInput;

/// The most messages of a conversation. A few bytes of a body may become a hundred times as many in memory.
const MOST_MESSAGES: usize = 100_000;

/// The longest id, in bytes.
pub const LONGEST_ID: usize = 512;

/// Checks the media type of a body.
///
/// # Errors
/// The type is not JSON's. A browser sends other types to any server without asking first: this check is a protection
/// too.
pub fn check_content_type(content_type: Option<&str>) -> Result<(), Refused> {
    let media_type = content_type.unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let message = "send the body as `Content-Type: application/json`";
    Err(Refused::new(RefusedReason::UnsupportedMediaType, message))
}

/// Reads the body of a request for a run.
///
/// # Errors
/// The body is not JSON, or not a `RunAgentInput` that can be run. The message names the place.
pub fn read_input(body: &[u8]) -> Result<RunAgentInput, Refused> {
    let (input, warnings) = read_run_input(body).map_err(|error| {
        let reason = match &error {
            RunInputError::Json(_) => RefusedReason::InvalidJson,
            _ => RefusedReason::InvalidInput,
        };
        Refused::new(reason, error.to_string())
    })?;
    for warning in warnings {
        // The warning repeats the names of fields, which the client chose.
        tracing::debug!(target: "stepwell", warning, "a request was not wholly understood");
    }
    check_messages(input.messages.len())?;
    let ids = [
        ("threadId", input.thread_id.as_str()),
        ("runId", input.run_id.as_str()),
    ];
    check_ids("a RunAgentInput", &ids)?;
    Ok(input)
}

pub(crate) fn check_messages(count: usize) -> Result<(), Refused> {
    if count <= MOST_MESSAGES {
        return Ok(());
    }
    let message =
        format!("/messages has {count} entries, and may have {MOST_MESSAGES}: send fewer");
    Err(Refused::new(RefusedReason::InvalidInput, message))
}

/// Checks ids by their names in the request, which error messages call `what`.
pub(crate) fn check_ids(what: &str, ids: &[(&str, &str)]) -> Result<(), Refused> {
    for (name, id) in ids {
        let is_valid = (1..=LONGEST_ID).contains(&id.len()) && !id.chars().any(char::is_control);
        if !is_valid {
            let message = format!(
                "the body is not {what}: /{name} has 1 to {LONGEST_ID} bytes and no control characters"
            );
            return Err(Refused::new(RefusedReason::InvalidInput, message));
        }
    }
    Ok(())
}
