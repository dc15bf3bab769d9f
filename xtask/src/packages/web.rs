//! The npm package: the module with its JavaScript, as wasm-bindgen makes it, and the classes over it in TypeScript.

use crate::{
    bindings::{self, Language},
    context::Context,
    log::Log,
    process,
    tools::{npm, rustup},
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The types of an import of the module, for a bundler that emits the module as a file.
const WASM_TYPES: &str =
    "/** The address of the module. */\ndeclare const address: string;\nexport default address;\n";

const TARGET: &str = "wasm32-unknown-unknown";

/// Makes the package, and reports its size.
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
    let profile = if context.in_suites { "debug" } else { "web" };
    let built = context.target.join(TARGET).join(profile);
    built.join("stepwell_web.wasm")
}

/// Compiles the module as it is published; suites use one that is not optimised, which is compiled in half the time.
fn compile_module(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let mut cargo = process::cargo();
    cargo
        .args(["rustc", "-p", "stepwell-web", "--lib"])
        .current_dir(&context.root);
    if context.in_suites {
        // The module is stripped as in the profile: the names take longer to read than all the rest.
        cargo.args(["--target", TARGET, "--", "-C", "strip=symbols"]);
    } else {
        cargo.args(["--profile", "web", "--target", TARGET]);
    }
    log.build(&mut cargo)
}

fn package(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    rustup::target(log, TARGET)?;
    compile_module(context, log)?;
    let folder = super::emptied(context.target.join("package/web"))?;
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
    bindings::generate(context, log, Language::Web)?;
    compile(context, log, &folder)?;
    fs::write(folder.join("stepwell_bg.wasm.d.ts"), WASM_TYPES)?;
    for file in ["README.md", "package.json"] {
        fs::copy(sources.join(file), folder.join(file))?;
    }
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(context.root.join(licence), folder.join(licence))?;
    }
    let size = fs::metadata(folder.join("stepwell_bg.wasm"))?.len();
    log.say(&format!("the npm package's module: {size} bytes"))?;
    Ok(folder)
}

/// Compiles the TypeScript, next to the types of the module.
fn compile(context: &Context, log: &mut Log, folder: &Path) -> anyhow::Result<()> {
    let tests = context.root.join("bindings/web/tests");
    npm::ensure(log, &tests)?;
    // The compiler reads it next to its imports.
    let sources = context.emptied("web-js")?;
    super::copied(&context.root.join("bindings/web/js"), &sources)?;
    super::copied(
        &folder.join("stepwell.d.ts"),
        &sources.join("stepwell.d.ts"),
    )?;
    log.build(
        process::command("node")
            .arg("node_modules/typescript/bin/tsc")
            .arg("-p")
            .arg(&sources)
            .arg("--outDir")
            .arg(folder)
            .current_dir(&tests),
    )?;
    Ok(())
}
