//! `stepwell serve` over real HTTP.

#![allow(clippy::unwrap_used)] // the lint knows test functions, not their helpers

#[allow(dead_code)] // the test `kills` has the rest
mod audit;
mod bounds;
mod client_tools;
mod compaction;
mod connections;
mod cross_origin;
mod engines;
#[path = "../support/file.rs"]
mod file;
mod interrupts;
mod issuer;
mod journals;
mod json_web_tokens;
mod keep_alive;
#[cfg(unix)]
#[path = "../../../io/tests/store/line.rs"]
mod line;
mod log;
mod mcp;
mod metrics;
mod model;
mod models;
mod page;
#[path = "../support/program.rs"]
mod program;
mod providers;
mod refusals;
mod restarts;
#[allow(dead_code)] // the test `kills` has the rest
mod restate;
mod resume_cases;
mod resumed_runs;
mod revived;
mod runs;
#[cfg(unix)]
mod secrets;
mod server;
mod sessions;
mod stopping;
mod store_away;
mod stream;
mod take_over;
mod threads;
mod tool_progress;
mod tool_questions;
mod two_hosts;
mod users;
mod valid;
