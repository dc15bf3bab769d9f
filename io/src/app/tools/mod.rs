//! The app's tools: their code, its context, and what it reports while it runs.

pub(crate) mod context;
pub(crate) mod fault;
pub(crate) mod handler;
pub(crate) mod notes;
pub(crate) mod source;
#[cfg(feature = "macros")]
pub(crate) mod typed;
