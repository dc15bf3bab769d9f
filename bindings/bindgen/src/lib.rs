//! Generates the sources of the other languages from one definition in Rust: the records, enums and methods that uniffi
//! describes in the bindings' library, with their documentation. The templates are in `templates`, and the forms that
//! only one language has are in `forms`. Other parts, such as the methods of a language's classes, are written by hand
//! in its package.
#![forbid(unsafe_code)]

mod dart;
mod doc;
mod forms;
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
use askama::Template;
use camino::Utf8Path;
use std::{env, fs};

/// The settings of uniffi's generators.
const CONFIG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../uniffi.toml");

/// Runs the program: `LANGUAGE LIBRARY FOLDER` writes a language's sources. For Python maturin passes the arguments of
/// uniffi's own program.
///
/// # Errors
/// The library cannot be read, or has something that a language has no form for; a file cannot be written.
pub fn main() -> anyhow::Result<()> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let write = match arguments[..] {
        ["dart", ..] => dart::write,
        ["kotlin", ..] => kotlin::write,
        ["swift", ..] => swift::write,
        ["typescript", ..] => typescript::write,
        _ => return write_python(&arguments),
    };
    let [_, library, folder] = arguments[..] else {
        bail!("the arguments are not LANGUAGE LIBRARY FOLDER: {arguments:?}");
    };
    write(library.as_ref(), folder.as_ref())
}

fn write_python(arguments: &[&str]) -> anyhow::Result<()> {
    uniffi::uniffi_bindgen_main();
    let mut words = arguments.iter();
    let is_folder = words.any(|word| *word == "--out-dir");
    let folder = words.next().filter(|_| is_folder);
    match (folder, arguments.last()) {
        (Some(folder), Some(library)) if arguments.contains(&"python") => {
            python::write(library.as_ref(), folder.as_ref())
        }
        _ => Ok(()),
    }
}

/// Writes a file from its template.
fn write(folder: &Utf8Path, name: &str, template: &impl Template) -> anyhow::Result<()> {
    let file = folder.join(name);
    let text = template
        .render()
        .with_context(|| format!("cannot make {name}"))?;
    fs::write(&file, text + "\n").with_context(|| format!("cannot write {file}"))
}
