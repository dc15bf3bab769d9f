//! The suites, in the order in which they begin.

mod android;
mod comparison;
mod dependencies;
mod docs;
mod install;
mod languages;
pub(crate) mod model;
mod page;
mod peers;
mod ring;
mod rust;
mod stores;
pub(crate) mod swift_package;
pub(crate) mod targets;
pub(crate) mod threads;
mod versions;
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
    rust::FORMAT,
    versions::SUITE,
    dependencies::SUITE,
    rust::CLIPPY,
    rust::FEATURES,
    page::SUITE,
    languages::PYTHON,
    languages::KOTLIN,
    android::SUITE,
    swift_package::SUITE,
    rust::RUST,
    install::SUITE,
    targets::SUITE,
    peers::REACT_CLIENTS,
    model::SUITE,
    languages::WEB,
    stores::POSTGRES,
    stores::RESTATE,
    ring::SUITE,
    docs::SUITE,
    peers::AG_UI_SERVER,
    peers::AI_SDK,
    comparison::SUITE,
    peers::AG_UI_BACKEND,
    peers::COPILOTKIT,
    peers::DURABLE_STREAMS,
    threads::SUITE,
    peers::AG_UI_ORACLE,
    peers::REQUEST_TYPES,
    peers::MCP,
    languages::FLUTTER,
    languages::SWIFT,
    workflows::SUITE,
];
