use super::Suite;
use crate::{context::Context, log::Log};
use anyhow::{Context as _, ensure};
use cargo_metadata::MetadataCommand;
use std::fs;

pub(super) const SUITE: Suite = Suite {
    name: "versions",
    about: "every package has the version of the top-level Cargo.toml",
    run: check,
};

/// Files that cannot take the version from there, or must have a certain line for it, each with that line.
const LINES: &str = "\
CHANGELOG.md: ## Unreleased
bindings/flutter/android/build.gradle: version = \"VERSION\"
bindings/flutter/ios/stepwell.podspec: s.version = 'VERSION'
bindings/flutter/macos/stepwell.podspec: s.version = 'VERSION'
bindings/flutter/pubspec.yaml: version: VERSION
bindings/kotlin/pom.xml: <version>VERSION</version>
bindings/python/pyproject.toml: dynamic = [\"version\"]
bindings/swift/Package.swift: let version = \"VERSION\"
bindings/web/package.json: \"version\": \"VERSION\",
examples/flutter/pubspec.yaml: version: VERSION";

pub(crate) fn check(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let version = context.version()?;
    let mut workspace = MetadataCommand::new();
    workspace.manifest_path(context.root.join("Cargo.toml"));
    for package in &workspace.no_deps().exec()?.packages {
        ensure!(
            package.version.to_string() == version,
            "{} has version {}, not {version}: write `version.workspace = true`",
            package.name,
            package.version
        );
        let ours = package.dependencies.iter().filter(|one| one.path.is_some());
        for dependency in ours {
            let wanted = dependency.req.to_string();
            ensure!(
                wanted == "*" || wanted == format!("^{version}"),
                "{} asks for {} {wanted}, not {version}: see [workspace.dependencies]",
                package.name,
                dependency.name
            );
        }
    }
    for (path, line) in LINES.lines().filter_map(|line| line.split_once(": ")) {
        let text = fs::read_to_string(context.root.join(path))
            .with_context(|| format!("cannot read {path}"))?;
        let line = line.replace("VERSION", &version);
        let says = text.lines().any(|found| found.trim() == line);
        ensure!(says, "{path} does not say `{line}`");
    }
    log.say(&version)
}
