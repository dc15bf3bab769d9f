//! Stands in for the C compilers of other machines (the NDK's, Xcode's) while only Rust is type-checked: crates that carry
//! C code build it before anything of theirs is checked, and no linker ever sees what came of it.

use crate::context::Context;
use anyhow::Context as _;
use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf, process::Command};

/// An empty file at what follows `-o`.
const COMPILER: &str = r#"#!/bin/sh
for argument; do
    if [ "$previous" = -o ]; then : > "$argument"; fi
    previous=$argument
done
"#;

/// An empty file at the second argument.
const ARCHIVER: &str = "#!/bin/sh\n: > \"$2\"\n";

/// Gives `cargo check --target TARGET` compilers that make nothing.
pub(crate) fn check(context: &Context, cargo: &mut Command, target: &str) -> anyhow::Result<()> {
    let folder = context.target.join("xtask/no-c");
    let sdk = folder.join("sdk");
    fs::create_dir_all(&sdk).with_context(|| format!("cannot make {}", sdk.display()))?;
    let script = |name: &str, text: &str| -> anyhow::Result<PathBuf> {
        let path = folder.join(name);
        fs::write(&path, text)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)))
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    };
    let target = target.replace('-', "_");
    cargo
        .env(format!("CC_{target}"), script("cc", COMPILER)?)
        .env(format!("AR_{target}"), script("ar", ARCHIVER)?)
        // Else Xcode is asked where it is.
        .env("SDKROOT", sdk);
    Ok(())
}
