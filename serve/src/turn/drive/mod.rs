//! Drives a turn to its end, or until it is released. A turn of a thread is reported as one run, however often it waits for
//! its user; one that a client has posted as a run is reported in runs, each of which ends where the turn waits for the user or
//! the client.

mod ask;
mod commands;
mod next;
mod replies;
mod report;
mod run;
mod runs;
mod state;

use state::Awaited;
pub(crate) use state::{CurrentRun, Drive, DriveEnd, EndedRun};
