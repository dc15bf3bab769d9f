//! `stepwell serve` over real HTTP.

#![allow(clippy::unwrap_used)] // the lint knows test functions, not their helpers

mod connections;
mod cross_origin;
mod interrupts;
mod keep_alive;
mod mcp;
mod metrics;
mod model;
mod providers;
mod refusals;
mod restarts;
mod runs;
mod server;
mod sessions;
mod stopping;
mod stream;
mod threads;
mod two_hosts;
mod valid;
