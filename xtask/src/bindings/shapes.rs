//! The shapes in the languages whose sources are committed: TypeScript and Dart.

use super::library::{GENERATOR, Library};
use crate::{context::Context, log::Log};

/// Writes them where their packages have them, or says which is not as it should be.
pub(crate) fn write(context: &Context, log: &mut Log, compares: bool) -> anyhow::Result<()> {
    let library = Library::build(context, log)?;
    let mut generator = library.generator(GENERATOR);
    generator.arg("shapes");
    if compares {
        generator.arg("--check");
    }
    log.run(generator.arg(&library.path))
}
