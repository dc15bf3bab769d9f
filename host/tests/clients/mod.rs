//! The common parts of the clients of hosts, whether the hosts are processes (`kills`) or live in this one under a seed
//! (`simulation`): the source of their choices, how they read a stream, the state that they build from a log, and the
//! rules for what they receive.
#![allow(dead_code)] // each uses a part of it

pub(crate) mod chance;
pub(crate) mod findings;
pub(crate) mod fold;
pub(crate) mod frames;
pub(crate) mod view;

use serde_json::{Value, json};

/// The tool that clients have.
pub(crate) const TOOL: &str = "where";

/// The tools in the request for a turn or a run whose client has the tool.
pub(crate) fn tools() -> Value {
    json!([{"name": TOOL, "description": "Where the user is."}])
}
