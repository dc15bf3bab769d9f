//! The order check against a plain reading of the table, and row by row.

#![allow(clippy::unwrap_used)] // the lint knows test functions, not their helpers

mod oracle;
mod rows;
mod table;
mod verifier;
mod walks;

use serde_json::Value;
use stepwell_core::event::{Event, EventRef, Order, Rule};

fn event(json: &Value) -> Event {
    serde_json::from_value(json.clone()).unwrap_or_else(|error| panic!("{json}: {error}"))
}

fn check(order: &mut Order, json: &Value) -> Result<(), Rule> {
    let event = event(json);
    order
        .check(EventRef::from(&event))
        .map_err(|violation| violation.rule)
}

fn tagged(mut event: Value, tag: Option<&str>) -> Value {
    if let Some(tag) = tag {
        event["subagentRunId"] = tag.into();
    }
    event
}
