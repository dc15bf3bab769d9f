//! The suites, in the order in which they begin.

mod ag_ui_backend;
mod ag_ui_oracle;
mod ag_ui_server;
mod ai_sdk;
mod android;
pub(crate) mod architecture;
mod clippy;
mod conformance;
mod copilotkit;
mod demo;
mod dependencies;
mod docs;
mod features;
mod flutter;
pub(crate) mod format;
mod install;
mod kotlin;
mod mcp;
pub(crate) mod model;
mod page;
mod python;
mod request_types;
mod restate;
mod ring;
mod rust;
mod store_postgres;
mod swift;
mod swift_package;
mod targets;
pub(crate) mod threads;
pub(crate) mod versions;
mod wasm;
mod web;
mod workflows;

use crate::{context::Context, log::Log};

/// One suite: passed when `run` gives `Ok`, skipped when its error is [`crate::tools::Unavailable`], else failed.
pub(crate) struct Suite {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) run: fn(&Context, &mut Log) -> anyhow::Result<()>,
}

/// Every suite: what needs no build, then the build, those that download or wait much, and the others from the longest to
/// the shortest, so that no long one is left for the end.
pub(crate) const ALL: &[Suite] = &[
    format::SUITE,
    versions::SUITE,
    architecture::SUITE,
    features::SUITE,
    dependencies::SUITE,
    clippy::SUITE,
    page::SUITE,
    python::SUITE,
    kotlin::SUITE,
    android::SUITE,
    swift_package::SUITE,
    rust::SUITE,
    install::SUITE,
    targets::SUITE,
    model::SUITE,
    web::SUITE,
    store_postgres::SUITE,
    restate::SUITE,
    ring::SUITE,
    demo::SUITE,
    docs::SUITE,
    wasm::SUITE,
    ag_ui_server::SUITE,
    ai_sdk::SUITE,
    ag_ui_backend::SUITE,
    copilotkit::SUITE,
    threads::SUITE,
    conformance::SUITE,
    ag_ui_oracle::SUITE,
    request_types::SUITE,
    mcp::SUITE,
    flutter::SUITE,
    swift::SUITE,
    workflows::SUITE,
];
