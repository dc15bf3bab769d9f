//! The compiler of the one build, `linter.sh`.

use crate::context::Context;
use std::{fs, os::unix::fs::PermissionsExt as _, process::Command};

/// Sets cargo up so that it compiles the workspace's own packages with it.
pub(crate) fn set_up(context: &Context, cargo: &mut Command) -> anyhow::Result<()> {
    let folder = context.scratch().join("tools");
    let linter = context.made.linter.get(|| {
        fs::create_dir_all(&folder)?;
        // Another run may be using the one that is there.
        let new = folder.join(format!("linter-{}", std::process::id()));
        fs::write(&new, include_str!("linter.sh"))?;
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755))?;
        let linter = folder.join("linter");
        fs::rename(&new, &linter)?;
        Ok(linter)
    })?;
    cargo.env("RUSTC_WORKSPACE_WRAPPER", linter);
    Ok(())
}
