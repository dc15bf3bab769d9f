//! The Swift package: its sources with those that are generated, and the XCFramework where there is a Mac.

use super::{copied, emptied};
use crate::{
    bindings::{self, Language},
    context::Context,
    log::Log,
    process,
};
use anyhow::{Context as _, ensure};
use std::{fs, path::PathBuf};

/// Makes the package: without the XCFramework where there is no Mac.
pub(crate) fn make(context: &Context, log: &mut Log) -> anyhow::Result<PathBuf> {
    bindings::generate(context, log, Language::Swift)?;
    let sources = bindings::swift::package(context);
    let folder = emptied(context.target.join("package/swift"))?;
    for part in ["Package.swift", "README.md", "Sources"] {
        copied(&sources.join(part), &folder.join(part))?;
    }
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        copied(&context.root.join(licence), &folder.join(licence))?;
    }
    if !process::exists("xcodebuild") {
        log.say("without the XCFramework: that takes a Mac with Xcode")?;
        return Ok(folder);
    }
    log.run(process::command("bash").arg(sources.join("Scripts/xcframework.sh")))?;
    let archive = context.target.join("package/StepwellFFI.xcframework.zip");
    if archive.exists() {
        fs::remove_file(&archive)?;
    }
    log.run(
        process::command("ditto")
            .args(["-c", "-k", "--sequesterRsrc", "--keepParent"])
            .arg("StepwellFFI.xcframework")
            .arg(&archive)
            .current_dir(&sources),
    )?;
    log.say(&format!(
        "the XCFramework, zipped: {} bytes",
        fs::metadata(&archive)?.len()
    ))?;
    let checksum = log.read(
        process::command("swift")
            .args(["package", "compute-checksum"])
            .arg(&archive)
            .current_dir(&folder),
    )?;
    let manifest = folder.join("Package.swift");
    let text = fs::read_to_string(&manifest)?;
    fs::write(&manifest, with_checksum(&text, checksum.trim())?)?;
    Ok(folder)
}

/// Returns the manifest of a release, which has the checksum of the XCFramework's archive.
fn with_checksum(manifest: &str, checksum: &str) -> anyhow::Result<String> {
    ensure!(
        checksum.len() == 64 && checksum.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "`{checksum}` is no checksum"
    );
    let (before, after) = manifest
        .split_once("let checksum = \"\"")
        .context("Package.swift has no line `let checksum = \"\"`")?;
    Ok(format!("{before}let checksum = \"{checksum}\"{after}"))
}

#[cfg(test)]
mod tests {
    use super::with_checksum;

    #[test]
    fn the_manifest_gets_the_checksum() {
        let manifest = include_str!("../../../bindings/swift/Package.swift");
        let checksum = "0123456789abcdef".repeat(4);
        let written = with_checksum(manifest, &checksum).unwrap();
        assert!(written.contains(&format!("let checksum = \"{checksum}\"\n")));
        assert!(with_checksum(manifest, "error: no such file").is_err());
        assert!(
            with_checksum(&written, &checksum).is_err(),
            "it is there already"
        );
    }
}
