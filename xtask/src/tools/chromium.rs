//! Debian's Chromium, for tests that need a browser. It is driven by `playwright-core`, which brings no browser of its
//! own.

use super::apt;
use crate::{log::Log, process};
use anyhow::Context as _;

/// The headless program takes half the processor time of the complete browser, which draws its tabs and bars though
/// they are not seen.
const WITHOUT_WINDOWS: &str = "chromium-headless-shell";

/// The browser's program.
pub(crate) fn ensure(log: &mut Log) -> anyhow::Result<String> {
    let is_there = || find().is_some();
    apt::ensure_that(log, is_there, "chromium", &[WITHOUT_WINDOWS])?;
    find().context("chromium is gone again")
}

fn find() -> Option<String> {
    let names = [
        WITHOUT_WINDOWS,
        "chromium",
        "chromium-browser",
        "google-chrome",
    ];
    let name = names.into_iter().find(|name| process::exists(name))?;
    let folders = std::env::var_os("PATH")?;
    let mut paths = std::env::split_paths(&folders).map(|folder| folder.join(name));
    Some(
        paths
            .find(|path| path.is_file())?
            .to_string_lossy()
            .into_owned(),
    )
}
