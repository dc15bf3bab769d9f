//! What the clients of hosts have in common, whether the hosts are processes (`kills`) or live in this one under a seed
//! (`simulation`): where their choices come from, how they read a stream, what they make of a log, and which rules hold of
//! what they were told.
#![allow(dead_code)] // each uses a part of it

pub(crate) mod chance;
pub(crate) mod findings;
pub(crate) mod fold;
pub(crate) mod frames;
pub(crate) mod view;

use serde_json::{Value, json};

/// The tool that clients have.
pub(crate) const TOOL: &str = "where";

/// What a turn or a run is posted with whose client has the tool.
pub(crate) fn tools() -> Value {
    json!([{"name": TOOL, "description": "Where the user is."}])
}
