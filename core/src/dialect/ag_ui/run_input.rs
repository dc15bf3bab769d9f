//! A request as an AG-UI server reads it.
//!
//! Source: AG-UI 1.0 (run input, processing): what is unknown is passed over with a warning, what is malformed is
//! refused before the run begins.

use super::compatibility::{drop_null, upgrade_input};
use super::enforcement::{Warnings, enforce};
use crate::event::{DEEPEST, Event, EventError, RunAgentInput, is_within};
use serde_json::{Map, Value, json};

/// Fields that clients of other languages like to send as null.
const OFTEN_NULL: [&str; 6] = [
    "protocolVersion",
    "parentRunId",
    "state",
    "tools",
    "context",
    "resume",
];

/// Why a body is no [`RunAgentInput`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunInputError {
    /// It is not JSON.
    #[error("the body is not JSON: {0}")]
    Json(String),
    /// It is JSON of another shape.
    #[error("the body is not a RunAgentInput: {0}")]
    Malformed(String),
}

/// Reads the body of a request that starts a run, and what there is to warn of: the old shapes that were put into the
/// words of 1.0, and the things that 1.0 does not know.
///
/// # Errors
/// The body is not JSON, or a field is missing or malformed.
pub fn read_run_input(body: &[u8]) -> Result<(RunAgentInput, Vec<String>), RunInputError> {
    let malformed = |reason: &str| RunInputError::Malformed(reason.to_owned());
    let value: Value =
        serde_json::from_slice(body).map_err(|error| RunInputError::Json(error.to_string()))?;
    let Value::Object(mut input) = value else {
        return Err(malformed("it is not a JSON object"));
    };
    let mut warnings = Warnings::default();
    for field in OFTEN_NULL {
        drop_null(&mut input, field, "input", &mut warnings);
    }
    upgrade_input(&mut input, &mut warnings);
    let input = Value::Object(input);
    if !is_within(&input, DEEPEST) {
        return Err(malformed(&format!("it nests deeper than {DEEPEST} levels")));
    }
    // The shapes are known by the event that repeats a request.
    let mut event = Map::new();
    for (name, value) in [
        ("type", json!("RUN_STARTED")),
        ("threadId", json!("")),
        ("runId", json!("")),
        ("input", input),
    ] {
        event.insert(name.to_owned(), value);
    }
    enforce(&mut event, &mut warnings);
    match Event::from_object(event) {
        Ok(Event::RunStarted(event)) => match event.input {
            Some(input) => Ok((*input, warnings.texts)),
            None => Err(malformed("it has a part that AG-UI 1.0 does not know")),
        },
        Ok(_) => Err(malformed("it is none")),
        Err(EventError::Malformed { reason, .. }) => Err(RunInputError::Malformed(reason)),
        Err(error) => Err(malformed(&error.to_string())),
    }
}
