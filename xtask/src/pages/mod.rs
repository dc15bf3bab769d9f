//! README and the pages of the site: what is code in them, what runs it, and the site that is made of them.

pub(crate) mod check;
mod marks;
mod page;
mod recording;
pub(crate) mod reference;
pub(crate) mod site;
pub(crate) mod steps;

pub(crate) use page::Page;

use crate::context::Context;
use anyhow::Context as _;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Where a user begins: the steps of each are run in order by `cargo xtask prove first-steps`.
pub(crate) const GETTING_STARTED: &[&str] = &[
    "README.md",
    "docs/rust.md",
    "docs/python.md",
    "docs/kotlin.md",
    "bindings/web/README.md",
    "docs/server.md",
];

/// Every page whose text is written for users, by its path from the root.
pub(crate) fn all(context: &Context) -> anyhow::Result<Vec<Page>> {
    let mut files = vec![
        "README.md".into(),
        "bindings/web/README.md".into(),
        PathBuf::from("docs"),
    ];
    let mut pages = Vec::new();
    while let Some(path) = files.pop() {
        let full = context.root.join(&path);
        if full.is_dir() {
            for entry in fs::read_dir(&full)? {
                files.push(path.join(entry?.file_name()));
            }
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(read(context, &path)?);
        }
    }
    pages.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(pages)
}

/// One page, by its path from the root.
pub(crate) fn read(context: &Context, path: &Path) -> anyhow::Result<Page> {
    let text = fs::read_to_string(context.root.join(path))
        .with_context(|| format!("cannot read {}", path.display()))?;
    Page::parse(path, &text).with_context(|| format!("in {}", path.display()))
}
