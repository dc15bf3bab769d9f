//! Generates the sources of the other languages from the built library. They are not committed.

mod library;
pub(crate) mod swift;
mod swift_names;

use crate::{context::Context, log::Log};
use anyhow::bail;
use clap::ValueEnum;
use library::{Library, empty};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
};

/// A language with generated sources.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    Python,
    Kotlin,
    Swift,
    Flutter,
    Web,
}

/// Locked by a suite that builds or tests in the Python package's own folder.
pub(crate) static PYTHON_SOURCES: Mutex<()> = Mutex::new(());

/// Locked by a suite that builds or tests in the Kotlin package's own folder.
pub(crate) static KOTLIN_SOURCES: Mutex<()> = Mutex::new(());

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
    let made = match update_names {
        true => swift::update_names(context, &mut log),
        false => generate(context, &mut log, language),
    };
    match &made {
        Ok(made) => println!("generated {}", made.display()),
        Err(_) => eprintln!("{}", log.tail(80)?),
    }
    made.map(drop)
}

/// Writes a language's sources where its package expects them, once in a run, and returns the folder.
pub(crate) fn generate(
    context: &Context,
    log: &mut Log,
    language: Language,
) -> anyhow::Result<PathBuf> {
    let made = context.made.bindings[language as usize].get(|| {
        let library = Library::build(context, log)?;
        let folder = context.root.join("bindings").join(match language {
            Language::Python => "python/src/stepwell/_ffi",
            Language::Kotlin => "kotlin/src/generated/kotlin",
            Language::Swift => "swift/Sources",
            Language::Flutter => "flutter/lib/src",
            Language::Web => "web/js",
        });
        match language {
            Language::Python => python(&library, log, &folder)?,
            Language::Kotlin => {
                empty(&folder)?;
                library.write(log, "kotlin", &folder)?;
            }
            Language::Swift => {
                empty(&folder.join("Stepwell/Generated"))?;
                empty(&folder.join("StepwellBindings/Generated"))?;
                empty(&folder.join("StepwellMachine/Generated"))?;
                empty(&folder.join("StepwellFFI"))?;
                library.write(log, "swift", &folder)?;
            }
            Language::Flutter => library.write(log, "dart", &folder)?,
            Language::Web => library.write(log, "typescript", &folder)?,
        }
        Ok(folder)
    })?;
    Ok(made.clone())
}

/// Writes what the wheel has in this folder, so that the sources can be used without a wheel.
fn python(library: &Library, log: &mut Log, folder: &Path) -> anyhow::Result<()> {
    empty(folder)?;
    library.write_python(log, folder)?;
    let module = "from .stepwell_ffi import *  # NOQA\n";
    fs::write(folder.join("__init__.py"), module)?;
    if let Some(name) = library.path.file_name() {
        fs::copy(&library.path, folder.join(name))?;
    }
    Ok(())
}
