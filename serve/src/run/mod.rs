//! Runs, as clients post them.

mod attach;
mod of_turn;
mod prepared;
mod server;
mod writer;

pub use of_turn::run_of;
pub use prepared::PreparedRun;
pub use server::{AgUiServer, Cursor, RunLimits};
