use super::Suite;
use crate::{context::Context, log::Log, packages::web, process, tools::rustup};
use anyhow::{Context as _, ensure};
use std::{fs, path::Path};
use wasmparser::{Parser, Payload};

pub(super) const SUITE: Suite = Suite {
    name: "wasm",
    about: "the core, linked for wasm32-unknown-unknown, asks its host for nothing; with JSON Schemas, as the npm package \
            has it, for nothing but by wasm-bindgen",
    run,
};

const TARGET: &str = "wasm32-unknown-unknown";

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    rustup::target(log, TARGET)?;
    let folder = context.root.join("xtask/wasm-check");
    // The check lies outside the workspace, since it builds for another target; it takes the workspace's versions.
    fs::copy(context.root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    // Not optimised: that takes minutes, and leaves out imports at most.
    log.build(
        process::cargo()
            .args(["build", "--target", TARGET])
            .current_dir(&folder)
            .env("CARGO_TARGET_DIR", &context.target),
    )?;
    let built = context.target.join(TARGET).join("debug");
    let core = built.join("stepwell_wasm_check.wasm");
    check(log, "the core", &core, "check", |_| false)?;
    // `jsonschema` seeds its hash tables through the browser.
    let web = web::module(context, log)?;
    let by_the_browser = |module: &str| module.starts_with("__wbindgen_");
    check(log, "the npm package", &web, "machine_", by_the_browser)
}

/// Looks what a module asks of its host. That it exports what it is for shows that there is something in it.
fn check(
    log: &mut Log,
    what: &str,
    path: &Path,
    export: &str,
    is_allowed: fn(&str) -> bool,
) -> anyhow::Result<()> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let module = read(&bytes)?;
    ensure!(
        module.exports.iter().any(|name| name.starts_with(export)),
        "{what} exports no `{export}…`: nothing of the core is linked into it"
    );
    let foreign: Vec<_> = module
        .imports
        .iter()
        .filter(|(module, _)| !is_allowed(module))
        .collect();
    ensure!(foreign.is_empty(), "{what} imports {foreign:?}");
    log.say(&format!("{what}: {} imports", module.imports.len()))
}

struct Module {
    /// Module and name of each import.
    imports: Vec<(String, String)>,
    exports: Vec<String>,
}

fn read(bytes: &[u8]) -> anyhow::Result<Module> {
    let mut module = Module {
        imports: Vec::new(),
        exports: Vec::new(),
    };
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import?;
                    module
                        .imports
                        .push((import.module.to_owned(), import.name.to_owned()));
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    module.exports.push(export?.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok(module)
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn reads_imports_and_exports() {
        // (module (import "env" "now" (func)) (export "check" (func 0)))
        let bytes = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x02\x0b\x01\x03env\x03now\0\0\x07\x09\x01\x05check\0\0";
        let module = read(bytes).unwrap();
        assert_eq!(module.imports, [("env".to_owned(), "now".to_owned())]);
        assert_eq!(module.exports, ["check"]);
        assert!(read(b"not wasm").is_err());
    }
}
