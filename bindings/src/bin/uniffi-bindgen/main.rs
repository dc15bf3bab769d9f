//! Generates the Kotlin and Python bindings, and the shapes (events, effects, outcomes, the configuration …) in the
//! languages that have classes of their own for them, from the one definition in Rust: the records and enums of this
//! package, with their documentation. What a language has beside them, such as a method, is written by hand there.
//!
//! Those of Python, and the options of an agent in Python and Kotlin, are made beside their bindings, so that whatever
//! builds the package has them: maturin runs this program. Swift's options `uniffi-bindgen swift-options LIBRARY FOLDER`
//! writes. Those that are committed `uniffi-bindgen shapes [--check] LIBRARY` writes, or compares.
#![forbid(unsafe_code)]

mod dart;
mod doc;
mod hidden;
mod json;
mod kotlin;
mod methods;
mod model;
mod python;
mod read;
mod swift;
mod typescript;

use anyhow::{Context as _, bail};
use camino::Utf8Path;
use model::{Method, Shapes};
use std::{env, fs};

fn main() -> anyhow::Result<()> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    if let ["shapes", options @ .., library] = &words[..] {
        return committed(library.as_ref(), options.contains(&"--check"));
    }
    if let ["swift-options", library, folder] = &words[..] {
        return swift::write((*library).as_ref(), (*folder).as_ref());
    }
    uniffi::uniffi_bindgen_main();
    let value = |option: &str| {
        let at = words.iter().position(|word| *word == option)?;
        words.get(at + 1)
    };
    let (Some(folder), Some(library)) = (value("--out-dir"), words.last()) else {
        return Ok(());
    };
    match value("--language") {
        Some(&"python") => python::write((*library).as_ref(), (*folder).as_ref()),
        Some(&"kotlin") => kotlin::write((*library).as_ref(), (*folder).as_ref()),
        _ => Ok(()),
    }
}

/// Writes the files that are committed, or says which is not what would be written.
fn committed(library: &Utf8Path, compares: bool) -> anyhow::Result<()> {
    let shapes = Shapes::read(library)?;
    let machine = Method::of(library, "RunMachine")?;
    let registry = Method::of(library, "RunRegistry")?;
    let bindings = Utf8Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = [
        ("flutter/lib/src/shapes.dart", dart::classes(&shapes)?),
        (
            "flutter/lib/src/machine_calls.dart",
            dart::machine(&shapes, &machine)?,
        ),
        (
            "flutter/lib/src/registry_calls.dart",
            dart::registry(&shapes, &registry)?,
        ),
        ("web/js/shapes.ts", typescript::types(&shapes)?),
        ("web/js/calls.ts", typescript::calls(&machine, &registry)),
    ];
    for (path, text) in files {
        let file = bindings.join(path);
        if !compares {
            fs::write(&file, text).with_context(|| format!("cannot write {file}"))?;
        } else if fs::read_to_string(&file).ok() != Some(text) {
            bail!("bindings/{path} is not what comes of bindings/src: run `cargo xtask shapes`");
        }
    }
    Ok(())
}
