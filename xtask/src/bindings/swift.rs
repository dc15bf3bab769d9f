//! Swift: the generated sources of the two targets of the package.

use super::{
    library::{GENERATOR, Library, SWIFT_GENERATOR, empty},
    swift_docs, swift_errors, swift_names, swift_payloads, swift_tasks,
};
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

/// Writes the Swift source, the C header and the module map.
pub(crate) fn generate(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    let made = context.made.swift.get(|| write(context, log))?;
    Ok(made.clone())
}

fn write(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    let library = Library::build(context, log)?;
    let package = package(context);
    let generate = |log: &mut Log, kinds: &[&str], folder: PathBuf| {
        empty(&folder)?;
        log.run(
            library
                .generator(SWIFT_GENERATOR)
                .args(["--config", "uniffi.toml"])
                .args(kinds)
                .arg(&library.path)
                .arg(folder),
        )
    };
    let sources = package.join("Sources/Stepwell/Generated");
    generate(log, &["--swift-sources"], sources.clone())?;
    log.run(
        library
            .generator(GENERATOR)
            .arg("swift-options")
            .arg(&library.path)
            .arg(&sources),
    )?;
    let source = generated(&package);
    let text = fs::read_to_string(&source)?;
    fs::write(
        sources.join("ErrorParts.swift"),
        swift_errors::parts(&text)?,
    )?;
    let text = swift_tasks::with_carried_closures(&text)?;
    let text = swift_payloads::with_payloads(&text)?;
    fs::write(&source, swift_docs::in_swift(&text))?;
    let module = [
        "--headers",
        "--modulemap",
        "--module-name",
        "StepwellFFI",
        "--modulemap-filename",
        "module.modulemap",
    ];
    generate(log, &module, package.join("Sources/StepwellFFI"))?;
    Ok(package.join("Sources"))
}

/// Generates, then writes the public names it found to the checked-in list.
pub(crate) fn update_names(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    generate(context, log)?;
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
    package.join("Sources/Stepwell/Generated/Stepwell.swift")
}

fn found(package: &Path) -> anyhow::Result<Vec<String>> {
    let source = generated(package);
    let source =
        fs::read_to_string(&source).with_context(|| format!("cannot read {}", source.display()))?;
    Ok(swift_names::public_names(&source))
}
