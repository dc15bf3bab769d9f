//! Kotlin: the generated sources beside the hand-written ones.

use super::library::{Library, empty};
use crate::{context::Context, log::Log};
use std::path::PathBuf;

/// Writes `bindings/kotlin/src/generated/kotlin`.
pub(crate) fn generate(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    let library = Library::build(context, log, "uniffi-bindgen")?;
    let folder = context.root.join("bindings/kotlin/src/generated/kotlin");
    empty(&folder)?;
    library.generate(log, "kotlin", &folder)?;
    Ok(folder)
}
