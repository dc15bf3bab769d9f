//! AG-UI: the event model, the order of events, the dialect.

#![allow(clippy::unwrap_used)] // the lint knows test functions, not their helpers

mod announced;
mod any_event;
mod chunks;
mod compatibility;
mod conformance;
mod enforcement;
mod event_model;
mod order;
mod properties;
mod protobuf;
mod request;
mod run_input;
mod stream;
mod support;
