//! Builds what the settings name, for the commands that share it.

mod compaction;
mod endpoint;
pub(crate) mod mcp;
mod providers;
pub(crate) mod store;

pub(crate) use compaction::Compaction;
pub(crate) use endpoint::{endpoint, fallback, named};
pub(crate) use providers::add_providers;
