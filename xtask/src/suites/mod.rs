//! The suites, in the order in which they run: the quick ones first.

mod ag_ui_backend;
mod ag_ui_oracle;
mod ag_ui_server;
mod clippy;
mod conformance;
mod core_dependencies;
mod demo;
mod docs;
mod flutter;
mod format;
mod kotlin;
mod licences;
mod mcp;
pub(crate) mod model;
mod page;
mod python;
mod ring;
mod rust;
mod sans_io;
mod store_postgres;
mod swift;
mod swift_package;
mod targets;
pub(crate) mod threads;
mod versions;
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

/// Those that keep one core busy for minutes, or wait much: they run beside the others, one after another.
/// What they set up (a Python environment, npm packages) is theirs alone, and none of them builds the bindings' library,
/// which has other features while a generator is built.
pub(crate) const BESIDE: &[&str] = &[
    "model",
    "threads",
    "page",
    "mcp",
    "store-postgres",
    "ag-ui-server",
    "ag-ui-backend",
    "ag-ui-oracle",
    "wasm",
    "targets",
    "flutter",
    "workflows",
];

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
    page::SUITE,
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
    flutter::SUITE,
    workflows::SUITE,
    web::SUITE,
    ring::SUITE,
];

#[cfg(test)]
mod tests {
    use super::{ALL, BESIDE};

    #[test]
    fn those_that_run_beside_the_others_are_suites() {
        let is_known = |name: &&str| ALL.iter().any(|suite| suite.name == *name);
        assert!(BESIDE.iter().all(is_known));
    }
}
