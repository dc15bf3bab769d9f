//! Generates the bindings from the built library; what is generated is not committed.

pub(crate) mod kotlin;
mod library;
pub(crate) mod python;
mod sources;
pub(crate) mod swift;
mod swift_names;

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
    match made {
        Ok(folder) => {
            println!("generated {}", folder.display());
            Ok(())
        }
        Err(error) => {
            eprintln!("{}", log.tail(80)?);
            Err(error)
        }
    }
}
