//! `docs/features.md`: what Rust's agent can, and by which name each language has it, or why not. The rows come from the
//! code; `features.toml` has what no rule gives.

mod languages;
mod rust;
mod sources;
mod table;

use crate::{context::Context, log::Log};
use anyhow::{Context as _, bail};
use languages::Known;
use std::fs;
use table::Table;

/// The table, in the repository.
const DOCUMENT: &str = "docs/features.md";
/// Where names and reasons stand that no rule gives.
const NAMES: &str = "xtask/src/features/features.toml";

/// Says what the table lacks, or that the document is another.
pub(crate) fn check(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let (table, text) = made(context)?;
    let written = fs::read_to_string(context.root.join(DOCUMENT)).unwrap_or_default();
    if written != text {
        bail!("{DOCUMENT} is not what comes of the code: run `cargo xtask features`");
    }
    log.say(&format!("{} features", table.len()))
}

/// `cargo xtask features`: writes the document.
pub(crate) fn write(context: &Context) -> anyhow::Result<()> {
    let (_, text) = made(context)?;
    let file = context.root.join(DOCUMENT);
    fs::write(&file, text).with_context(|| format!("cannot write {DOCUMENT}"))?;
    println!("wrote {DOCUMENT}");
    Ok(())
}

/// The table, and the document made of it.
fn made(context: &Context) -> anyhow::Result<(Table, String)> {
    let known = Known::read(&context.root)?;
    let given = fs::read_to_string(context.root.join(NAMES))
        .with_context(|| format!("cannot read {NAMES}"))?;
    let given = toml::from_str(&given).with_context(|| format!("{NAMES} cannot be read"))?;
    let (table, faults) = Table::make(&known, given);
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    let text = table.document();
    Ok((table, text))
}
