//! Scenario files: runs as data, which every language plays.
//!
//! `tests/scenarios/README.md` in the project's repository describes the form.

mod config;
mod step;

pub use config::config;
pub use step::step;
