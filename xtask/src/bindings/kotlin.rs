//! Kotlin: the generated sources beside the hand-written ones.

use super::library::{Library, empty};
use crate::{context::Context, log::Log};
use std::{path::PathBuf, sync::Mutex};

/// For whoever builds or tests in the package's own folder.
pub(crate) static SOURCES: Mutex<()> = Mutex::new(());

/// Writes `bindings/kotlin/src/generated/kotlin`.
pub(crate) fn generate(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    let made = context.made.kotlin.get(|| {
        let library = Library::build(context, log)?;
        let folder = context.root.join("bindings/kotlin/src/generated/kotlin");
        empty(&folder)?;
        library.generate(log, "kotlin", &folder)?;
        Ok(folder)
    })?;
    Ok(made.clone())
}
