//! What the suites need that is not Rust, and how it is had.

pub(crate) mod apt;
pub(crate) mod built_cargo;
pub(crate) mod cargo_tools;
pub(crate) mod chromium;
pub(crate) mod first_contact;
pub(crate) mod mock_llm;
pub(crate) mod npm;
pub(crate) mod postgres;
pub(crate) mod restate;
pub(crate) mod rustup;
pub(crate) mod swift;
pub(crate) mod venv;

/// A need of a suite that this machine cannot meet: the suite is skipped for this reason.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unavailable(pub(crate) String);
