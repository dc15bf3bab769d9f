//! Backends that give out the ids of threads and runs before a run's stream is opened.
//!
//! A plain AG-UI agent takes whatever ids the client makes: it needs nothing of this. Where a backend makes them itself,
//! a run with [`RunIds::Host`](crate::run::RunIds::Host) asks for the run of each hop with
//! [`Effect::CreateRun`](crate::run::Effect::CreateRun), and the host sends the requests that are here.

mod rest;
mod soliplex;

pub use rest::{CreatedThread, RunRequests, RunSourceError};
pub use soliplex::{Soliplex, SoliplexRun};
