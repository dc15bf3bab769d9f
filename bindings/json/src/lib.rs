//! The sans-IO API in JSON: what goes into a run and what comes of it, for languages that have JSON but no bindings of
//! their own.
//!
//! Names and values are those of the core in camel case: `maxToolRounds`, `executingTools`. AG-UI's messages and events
//! are those of the protocol, unchanged. The TypeScript types of the web's package (`bindings/web/src/shapes.d.ts`) have
//! the form of every value.
#![forbid(unsafe_code)]

mod call;
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

pub use context::Overflow;
pub use history::{History, StoredTurns};
pub use machine::Machine;
pub use media::NewPart;
pub use outputs::Outputs;
pub use read::read;
pub use refused::Refused;
pub use registry::Registry;
pub use session::{no_instructions, not_stored, session};
pub use start::Start;
pub use stepwell_ffi::{
    HookAnswer, Outcome, RunConfig, RunHandle, RunRegistry, StateKind, ThreadKey,
};
