//! The shapes in the languages whose sources are committed: TypeScript and Dart.

use super::library::Library;
use crate::{context::Context, log::Log};

use super::library::GENERATOR;

/// Writes them where their packages have them, or says which is not as it should be.
pub(crate) fn write(context: &Context, log: &mut Log, compares: bool) -> anyhow::Result<()> {
    let library = Library::build(context, log)?;
    generate(&library, log, compares)
}

fn generate(library: &Library, log: &mut Log, compares: bool) -> anyhow::Result<()> {
    let mut generator = library.generator(GENERATOR);
    generator.arg("shapes");
    if compares {
        generator.arg("--check");
    }
    log.run(generator.arg(&library.path))
}
