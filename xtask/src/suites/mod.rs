//! The suites, in the order in which they run: the quick ones first.

mod ag_ui_backend;
mod ag_ui_oracle;
mod ag_ui_server;
mod clippy;
mod conformance;
mod core_dependencies;
mod demo;
mod docs;
mod format;
mod kotlin;
mod licences;
mod mcp;
pub(crate) mod model;
mod python;
mod rust;
mod sans_io;
mod store_postgres;
mod swift;
mod swift_package;
mod targets;
pub(crate) mod threads;
mod versions;
mod wasm;

use crate::{context::Context, log::Log};

/// One suite: passed when `run` gives `Ok`, skipped when its error is [`crate::tools::Unavailable`], else failed.
pub(crate) struct Suite {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) run: fn(&Context, &mut Log) -> anyhow::Result<()>,
}

/// Every suite.
pub(crate) const ALL: &[Suite] = &[
    format::SUITE,
    versions::SUITE,
    core_dependencies::SUITE,
    licences::SUITE,
    clippy::SUITE,
    sans_io::SUITE,
    docs::SUITE,
    rust::SUITE,
    model::SUITE,
    threads::SUITE,
    demo::SUITE,
    ag_ui_server::SUITE,
    mcp::SUITE,
    store_postgres::SUITE,
    ag_ui_backend::SUITE,
    conformance::SUITE,
    ag_ui_oracle::SUITE,
    wasm::SUITE,
    targets::SUITE,
    python::SUITE,
    kotlin::SUITE,
    swift::SUITE,
    swift_package::SUITE,
];
