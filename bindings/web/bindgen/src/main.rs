//! What the program `wasm-bindgen` does for the npm package, by the library that is in that program. Cargo keeps the
//! library and the module's own wasm-bindgen at one version, and nothing has to be installed.

use anyhow::Context as _;
use std::path::PathBuf;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let module = arguments.next().context("the module is not given")?;
    let folder = arguments.next().context("the folder is not given")?;
    Bindgen::new()
        .input_path(module)
        .web(true)?
        .typescript(true)
        .omit_default_module_path(false)
        .out_name("stepwell")
        .generate(folder)
}
