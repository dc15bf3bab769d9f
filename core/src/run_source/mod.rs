//! Backends that assign the ids of threads and runs before a run's stream is opened.
//!
//! A plain AG-UI agent accepts any ids from the client, and needs nothing of this. If a backend assigns them itself, a
//! run with [`RunIds::Host`](crate::run::RunIds::Host) asks for the run of each hop with
//! [`Effect::CreateRun`](crate::run::Effect::CreateRun), and the host sends the requests of this module.

mod rest;
mod soliplex;

pub use rest::{CreatedThread, RunRequests, RunSourceError};
pub use soliplex::{Soliplex, SoliplexRun};
