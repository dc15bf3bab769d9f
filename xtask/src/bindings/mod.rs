//! Generates the bindings from the built library; what is generated is not committed.

pub(crate) mod kotlin;
mod library;
pub(crate) mod python;
pub(crate) mod shapes;
pub(crate) mod swift;
mod swift_docs;
mod swift_errors;
mod swift_names;
mod swift_payloads;
mod swift_tasks;

use crate::{context::Context, log::Log};
use anyhow::bail;
use clap::ValueEnum;

/// A language with bindings.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    Python,
    Kotlin,
    Swift,
}

/// `cargo xtask bindings LANGUAGE`.
pub(crate) fn command(
    context: &Context,
    language: Language,
    update_names: bool,
) -> anyhow::Result<()> {
    if update_names && language != Language::Swift {
        bail!("--update-names is for swift only");
    }
    let mut log = Log::create(&context.scratch(), "bindings")?;
    let made = match language {
        Language::Python => python::generate(context, &mut log),
        Language::Kotlin => kotlin::generate(context, &mut log),
        Language::Swift if update_names => swift::update_names(context, &mut log),
        Language::Swift => swift::generate(context, &mut log),
    };
    let folder = told(&log, made)?;
    println!("generated {}", folder.display());
    Ok(())
}

/// `cargo xtask shapes`.
pub(crate) fn shapes(context: &Context, compares: bool) -> anyhow::Result<()> {
    let mut log = Log::create(&context.scratch(), "shapes")?;
    let written = shapes::write(context, &mut log, compares);
    told(&log, written)
}

/// Shows what the commands said, if one failed.
fn told<T>(log: &Log, made: anyhow::Result<T>) -> anyhow::Result<T> {
    if made.is_err() {
        eprintln!("{}", log.tail(80)?);
    }
    made
}
