//! Python: the generated module and the library, inside the package's sources.

use super::library::{Library, empty};
use crate::{context::Context, log::Log};
use std::{fs, path::PathBuf, sync::Mutex};

/// For whoever builds or tests in the package's own folder.
pub(crate) static SOURCES: Mutex<()> = Mutex::new(());

/// Writes `stepwell/_ffi` as the wheel has it, so that the sources can be used without building a wheel.
pub(crate) fn generate(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    let made = context.made.python.get(|| {
        let library = Library::build(context, log)?;
        let folder = context.root.join("bindings/python/src/stepwell/_ffi");
        empty(&folder)?;
        library.generate(log, "python", &folder)?;
        let module = "from .stepwell_ffi import *  # NOQA\n";
        fs::write(folder.join("__init__.py"), module)?;
        if let Some(name) = library.path.file_name() {
            fs::copy(&library.path, folder.join(name))?;
        }
        Ok(folder)
    })?;
    Ok(made.clone())
}
