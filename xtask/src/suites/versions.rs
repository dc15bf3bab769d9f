use super::Suite;
use crate::{context::Context, log::Log};
use anyhow::{Context as _, ensure};
use std::fs;

pub(super) const SUITE: Suite = Suite {
    name: "versions",
    about: "every package has the version of the top-level Cargo.toml",
    run: check,
};

pub(crate) fn check(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let version = context.version()?;
    for package in &context.workspace.packages {
        ensure!(
            package.version.to_string() == version,
            "{} has version {}, not {version}: write `version.workspace = true`",
            package.name,
            package.version
        );
        for dependency in package
            .dependencies
            .iter()
            .filter(|dependency| dependency.path.is_some())
        {
            let wanted = dependency.req.to_string();
            ensure!(
                wanted == "*" || wanted == format!("^{version}"),
                "{} asks for {} {wanted}, not {version}: see [workspace.dependencies]",
                package.name,
                dependency.name
            );
        }
    }

    let read = |path: &str| {
        fs::read_to_string(context.root.join(path)).with_context(|| format!("cannot read {path}"))
    };
    let pom = read("bindings/kotlin/pom.xml")?;
    let of_pom = between(
        &pom,
        "<artifactId>stepwell-kotlin</artifactId>",
        "<version>",
        "</version>",
    );
    ensure!(
        of_pom == Some(version.as_str()),
        "bindings/kotlin/pom.xml has version {of_pom:?}, not {version}"
    );
    let python = read("bindings/python/pyproject.toml")?;
    ensure!(
        python.lines().any(|line| line == "dynamic = [\"version\"]"),
        "bindings/python/pyproject.toml does not take its version from Cargo.toml: write `dynamic = [\"version\"]`"
    );
    // Manifests that cannot take it from elsewhere, with what stands before it.
    for (path, before) in [
        (
            "bindings/swift/Package.swift",
            "let version = \"VERSION\"\n",
        ),
        ("bindings/flutter/pubspec.yaml", "\nversion: VERSION\n"),
        (
            "bindings/flutter/android/build.gradle",
            "\nversion = \"VERSION\"\n",
        ),
        (
            "bindings/flutter/ios/stepwell.podspec",
            "\n  s.version = 'VERSION'\n",
        ),
        (
            "bindings/flutter/macos/stepwell.podspec",
            "\n  s.version = 'VERSION'\n",
        ),
        ("examples/flutter/pubspec.yaml", "\nversion: VERSION\n"),
    ] {
        let line = before.replace("VERSION", &version);
        ensure!(
            read(path)?.contains(&line),
            "{path} does not say `{}`",
            line.trim()
        );
    }
    let changes = read("CHANGELOG.md")?;
    ensure!(
        changes.contains("\n## Unreleased\n"),
        "CHANGELOG.md has no section `## Unreleased`"
    );
    log.say(&version)
}

/// What stands between `open` and `close`, after `from`.
fn between<'t>(text: &'t str, from: &str, open: &str, close: &str) -> Option<&'t str> {
    let rest = text.split_once(from)?.1.split_once(open)?.1;
    Some(rest.split_once(close)?.0)
}

#[cfg(test)]
mod tests {
    use super::between;

    #[test]
    fn finds_the_version_after_the_name() {
        let pom = "<version>9</version><artifactId>a</artifactId>\n<version>0.1.0</version>";
        assert_eq!(
            between(pom, "<artifactId>a</artifactId>", "<version>", "</version>"),
            Some("0.1.0")
        );
        assert_eq!(
            between(pom, "<artifactId>b</artifactId>", "<version>", "</version>"),
            None
        );
    }
}
