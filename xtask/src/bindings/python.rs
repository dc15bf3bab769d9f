//! Python: the generated module and the library, inside the package's sources.

use super::{
    library::{Library, empty},
    sources::Sources,
};
use crate::{context::Context, log::Log};
use std::{fs, path::PathBuf};

/// For whoever builds or tests in the package's own folder.
pub(crate) static SOURCES: Sources = Sources::new();

/// Writes `stepwell/_ffi` as the wheel has it, so that the sources can be used without building a wheel.
pub(crate) fn generate(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    let made = context.made.python.get(|| {
        let library = Library::build(context, log)?;
        write(context, log, &library)
    })?;
    Ok(made.clone())
}

fn write(context: &Context, log: &mut Log, library: &Library) -> anyhow::Result<PathBuf> {
    let folder = context.root.join("bindings/python/src/stepwell/_ffi");
    empty(&folder)?;
    library.generate(log, "python", &folder)?;
    fs::write(
        folder.join("__init__.py"),
        "from .stepwell_ffi import *  # NOQA\n",
    )?;
    if let Some(name) = library.path.file_name() {
        fs::copy(&library.path, folder.join(name))?;
    }
    Ok(folder)
}
