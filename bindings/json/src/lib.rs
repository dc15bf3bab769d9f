//! The sans-IO API in JSON: the inputs and outputs of a run, for languages that have JSON but no bindings of their own.
//!
//! Names and values are those of the core in camel case: `maxToolRounds`, `executingTools`. AG-UI's messages and events
//! are those of the protocol, unchanged. The TypeScript types of the web's package (`shapes.d.ts`, which
//! `cargo xtask package web` makes) have the form of every value.
#![forbid(unsafe_code)]

mod call;
mod chat;
mod context;
mod history;
mod machine;
mod media;
mod outputs;
mod read;
mod refused;
mod registry;
mod session;
mod start;

pub use chat::Chat;
pub use machine::Machine;
pub use refused::Refused;
pub use registry::Registry;
pub use session::{media_part, session};
