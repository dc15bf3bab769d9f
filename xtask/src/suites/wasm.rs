use super::Suite;
use crate::{context::Context, log::Log, process, tools::rustup};
use anyhow::{Context as _, bail, ensure};
use std::fs;
use wasmparser::{Parser, Payload};

pub(super) const SUITE: Suite = Suite {
    name: "wasm",
    about: "the core, linked for wasm32-unknown-unknown, asks its host for nothing",
    run,
};

const TARGET: &str = "wasm32-unknown-unknown";

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    rustup::target(log, TARGET)?;
    let folder = context.root.join("xtask/wasm-check");
    // The check lies outside the workspace, since it builds for another target; it takes the workspace's versions.
    fs::copy(context.root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    // Not optimised: that takes minutes, and leaves out imports at most.
    for (arguments, is_allowed) in [
        (&[][..], (|_| false) as fn(&str) -> bool),
        // `jsonschema` seeds its hash tables through the browser.
        (&["--features", "json-schema"], |module| {
            module.starts_with("__wbindgen_")
        }),
    ] {
        log.build(
            process::cargo()
                .args(["build", "--target", TARGET])
                .args(arguments)
                .current_dir(&folder)
                .env("CARGO_TARGET_DIR", &context.target),
        )?;
        let built = context
            .target
            .join(TARGET)
            .join("debug")
            .join("stepwell_wasm_check.wasm");
        let bytes = fs::read(&built).with_context(|| format!("cannot read {}", built.display()))?;
        let module = read(&bytes)?;
        ensure!(
            module.exports.iter().any(|name| name == "check"),
            "the module exports no `check`: nothing of the core is linked into it"
        );
        let foreign: Vec<_> = module
            .imports
            .iter()
            .filter(|(module, _)| !is_allowed(module))
            .collect();
        if !foreign.is_empty() {
            bail!("the module built with {arguments:?} imports {foreign:?}");
        }
        log.say(&format!(
            "built with [{}]: {} imports",
            arguments.join(" "),
            module.imports.len()
        ))?;
    }
    Ok(())
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
