use super::Suite;
use crate::{context::Context, log::Log};
use anyhow::{Context as _, bail};
use cargo_metadata::{CargoOpt, MetadataCommand};
use spdx::{Expression, ParseMode};

pub(super) const SUITE: Suite = Suite {
    name: "licences",
    about: "every crate we build on may be used under a permissive licence",
    run,
};

/// Licences that ask for no more than a notice, and the Mozilla one, which asks for changes to its own files.
const ACCEPTED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-1-Clause",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let metadata = MetadataCommand::new()
        .manifest_path(context.root.join("Cargo.toml"))
        .features(CargoOpt::AllFeatures)
        .exec()
        .context("cannot read the dependencies")?;
    let mut offenders = Vec::new();
    for package in &metadata.packages {
        let licence = package.license.as_deref();
        log.write(&format!(
            "{} {}: {}",
            package.name,
            package.version,
            licence.unwrap_or("none stated")
        ))?;
        if !licence.is_some_and(acceptable) {
            offenders.push(format!(
                "{} {} ({})",
                package.name,
                package.version,
                licence.unwrap_or("none stated")
            ));
        }
    }
    if !offenders.is_empty() {
        bail!("not under an accepted licence: {}", offenders.join(", "));
    }
    log.say(&format!("{} crates", metadata.packages.len()))
}

/// Whether the expression leaves a way that needs accepted licences only.
///
/// An addition such as `WITH LLVM-exception` only ever permits more.
fn acceptable(expression: &str) -> bool {
    Expression::parse_mode(expression, ParseMode::LAX).is_ok_and(|expression| {
        expression.evaluate(|requirement| {
            requirement
                .license
                .id()
                .is_some_and(|licence| ACCEPTED.contains(&licence.name))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::acceptable;

    #[test]
    fn one_accepted_way_is_enough_and_all_of_a_conjunction_must_be() {
        for yes in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0-only OR MIT",
            "Apache-2.0 WITH LLVM-exception",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
        ] {
            assert!(acceptable(yes), "{yes}");
        }
        for no in [
            "GPL-3.0-only",
            "MIT AND LGPL-2.1-only",
            "LicenseRef-own",
            "nonsense words",
            "",
        ] {
            assert!(!acceptable(no), "{no}");
        }
    }
}
