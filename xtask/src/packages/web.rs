//! The npm package: the module, its JavaScript and types, as wasm-bindgen makes them.

use super::Package;
use crate::{context::Context, log::Log, process, tools::rustup};
use serde_json::json;
use std::{fs, path::PathBuf};

pub(super) const PACKAGE: Package = Package {
    name: "web",
    about: "the npm package",
    make,
};

const TARGET: &str = "wasm32-unknown-unknown";

/// Makes the package, and says how big it is.
pub(crate) fn make(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    let made = context.made.web.get(|| package(context, log))?;
    Ok(made.clone())
}

/// The module as the compiler makes it, before there is JavaScript for it.
pub(crate) fn module(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    make(context, log)?;
    Ok(compiled(context))
}

fn compiled(context: &Context) -> PathBuf {
    let built = context.target.join(TARGET).join("web");
    built.join("stepwell_web.wasm")
}

fn package(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    rustup::target(log, TARGET)?;
    log.build(
        process::cargo()
            .args(["build", "-p", "stepwell-web", "--lib", "--profile", "web"])
            .args(["--target", TARGET])
            .current_dir(&context.root),
    )?;
    let folder = context.target.join("package/web");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let mut bindgen = if context.in_suites {
        process::command(context.program(log, "stepwell-web-bindgen")?)
    } else {
        let mut cargo = process::cargo();
        cargo.args(["run", "-p", "stepwell-web-bindgen", "--"]);
        cargo
    };
    log.build(
        bindgen
            .arg(compiled(context))
            .arg(&folder)
            .current_dir(&context.root),
    )?;
    let sources = context.root.join("bindings/web");
    fs::copy(sources.join("README.md"), folder.join("README.md"))?;
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(context.root.join(licence), folder.join(licence))?;
    }
    let manifest = json!({
        "name": "stepwell",
        "version": context.version()?,
        "description": "The loop between a user, a language model and tools, without IO, for the web.",
        "license": "MIT OR Apache-2.0",
        "type": "module",
        "sideEffects": false,
        "main": "stepwell.js",
        "types": "stepwell.d.ts",
        "exports": {
            ".": { "types": "./stepwell.d.ts", "default": "./stepwell.js" },
            "./stepwell_bg.wasm": "./stepwell_bg.wasm",
        },
        "files": ["stepwell.js", "stepwell.d.ts", "stepwell_bg.wasm", "stepwell_bg.wasm.d.ts", "README.md", "LICENSE-*"],
    });
    fs::write(
        folder.join("package.json"),
        format!("{}\n", serde_json::to_string_pretty(&manifest)?),
    )?;
    let size = fs::metadata(folder.join("stepwell_bg.wasm"))?.len();
    log.say(&format!("the npm package's module: {size} bytes"))?;
    Ok(folder)
}
