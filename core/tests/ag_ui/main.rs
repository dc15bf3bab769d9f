//! The AG-UI dialect.

#![allow(clippy::unwrap_used)] // the lint knows test functions, not their helpers

mod any_event;
mod chunks;
mod compatibility;
mod conformance;
mod enforcement;
mod middleware;
mod properties;
mod protobuf;
mod request;
mod run_input;
mod stream;
mod support;
