//! Debian's Chromium, for what only a browser can show. It is driven by `playwright-core`, which brings none along.

use super::apt;
use crate::{log::Log, process};
use anyhow::Context as _;

/// The browser's program.
pub(crate) fn ensure(log: &mut Log) -> anyhow::Result<String> {
    apt::ensure_that(log, || find().is_some(), "chromium", &["chromium"])?;
    find().context("chromium is gone again")
}

fn find() -> Option<String> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let name = names.into_iter().find(|name| process::exists(name))?;
    let folders = std::env::var_os("PATH")?;
    let mut paths = std::env::split_paths(&folders).map(|folder| folder.join(name));
    let path = paths.find(|path| path.is_file())?;
    Some(path.to_string_lossy().into_owned())
}
