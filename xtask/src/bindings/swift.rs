//! Swift: the list of public names that the generated source is compared with.

use super::{Language, swift_names};
use crate::{context::Context, log::Log};
use anyhow::{Context as _, bail};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The package.
pub(crate) fn package(context: &Context) -> PathBuf {
    context.root.join("bindings/swift")
}

/// The C header of the library.
pub(crate) fn header(package: &Path) -> PathBuf {
    package.join("Sources/StepwellFFI/StepwellFFI.h")
}

/// Generates, then writes the public names it found to the checked-in list.
pub(crate) fn update_names(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    super::generate(context, log, Language::Swift)?;
    let package = package(context);
    let list = list(&package);
    fs::write(&list, found(&package)?.join("\n") + "\n")?;
    Ok(list)
}

/// Compares the public names of the generated source with the checked-in list, both ways.
pub(crate) fn check_names(package: &Path) -> anyhow::Result<usize> {
    let list = list(package);
    let listed =
        fs::read_to_string(&list).with_context(|| format!("cannot read {}", list.display()))?;
    let listed: BTreeSet<_> = listed.lines().map(str::to_owned).collect();
    let found: BTreeSet<_> = found(package)?.into_iter().collect();
    if listed != found {
        let names = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
            let names: Vec<_> = one.difference(other).cloned().collect();
            names.join(", ")
        };
        bail!(
            "the public names are not those of bindings/swift/public-names.txt: gone [{}], new [{}]; if that is meant, \
             run `cargo xtask bindings swift --update-names`",
            names(&listed, &found),
            names(&found, &listed)
        );
    }
    Ok(found.len())
}

fn list(package: &Path) -> PathBuf {
    package.join("public-names.txt")
}

fn generated(package: &Path) -> PathBuf {
    package.join("Sources/StepwellBindings/Generated/StepwellBindings.swift")
}

fn found(package: &Path) -> anyhow::Result<Vec<String>> {
    let source = generated(package);
    let source =
        fs::read_to_string(&source).with_context(|| format!("cannot read {}", source.display()))?;
    Ok(swift_names::public_names(&source))
}
