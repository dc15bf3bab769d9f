//! Runs that are kept nowhere, each for the one client that waits for it.

mod agent;
mod drive;
pub(crate) mod open_turn;
mod places;
mod resumed;
#[allow(clippy::module_inception)]
mod run;
mod server;
mod writer;

pub use places::Permit;
pub use run::{AgUiRun, run_of};
pub use server::{AgUiServer, Prepared, RunLimits};
