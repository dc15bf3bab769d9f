//! Tests for what is built on [`stepwell_core`]: a simulated world around a run, a scripted model that speaks every
//! dialect without a socket, and invariants that [proptest](https://docs.rs/proptest) checks over any configuration.
#![forbid(unsafe_code)]
// Enums that may grow are matched with `_`, which is unreachable where the core is built with `exhaustive`.
#![allow(unreachable_patterns)]

pub mod chaos;
mod configs;
pub mod history;
mod invariants;
pub mod reply;
pub mod scenario;
mod stored;
pub mod world;

pub use configs::{Setting, settings};
pub use invariants::{Failure, InvariantCheck, Tools, check_invariants};
pub use stored::StoredTurn;
pub use world::{World, config};

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
