use super::Suite;
use crate::{context::Context, log::Log, process};
use anyhow::{Context as _, bail, ensure};
use std::collections::BTreeSet;

pub(super) const SUITE: Suite = Suite {
    name: "core-dependencies",
    about: "the core depends on no runtime, network, clock or random number; core and io on few crates, and on nothing \
            that changes an app's own HTTP client",
    run,
};

/// Crates that do IO, keep time, draw random numbers or start threads.
const BANNED: &[&str] = &[
    "async-executor",
    "async-io",
    "async-std",
    "chrono",
    "crossbeam-channel",
    "curl",
    "fastrand",
    "futures-executor",
    "futures-timer",
    "getrandom",
    "gloo-timers",
    "hyper",
    "instant",
    "isahc",
    "jiff",
    "js-sys",
    "mio",
    "nix",
    "oorandom",
    "polling",
    "quanta",
    "rand",
    "rand_core",
    "rayon",
    "reqwest",
    "rustix",
    "smol",
    "socket2",
    "time",
    "tokio",
    "ureq",
    "wasm-bindgen",
    "web-sys",
    "web-time",
    "windows-sys",
];

/// The exceptions: what is allowed, below which dependency only, and why.
///
/// `jsonschema` seeds its hash tables; it is a feature, and without it the core has no exception.
const ALLOWED_BELOW: &[(&str, &str)] = &[
    ("getrandom", "jsonschema"),
    // How getrandom gets its seed in a browser.
    ("wasm-bindgen", "jsonschema"),
    ("js-sys", "jsonschema"),
];

/// `None` is the machine this runs on.
const TARGETS: &[Option<&str>] = &[
    None,
    Some("wasm32-unknown-unknown"),
    Some("aarch64-apple-ios"),
    Some("aarch64-linux-android"),
];

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    for target in TARGETS {
        for json_schema in [false, true] {
            let mut command = process::cargo();
            command
                .args([
                    "tree",
                    "-p",
                    "stepwell-core",
                    "--edges",
                    "normal",
                    "--no-dedupe",
                ])
                .args(["--prefix", "depth", "--format", " {p}"])
                .current_dir(&context.root);
            if let Some(target) = target {
                command.args(["--target", target]);
            }
            if json_schema {
                command.args(["--features", "json-schema"]);
            }
            let exceptions = if json_schema { ALLOWED_BELOW } else { &[] };
            let found = offenders(&log.read(&mut command)?, exceptions)?;
            if !found.is_empty() {
                bail!(
                    "{}{}: {}",
                    target.unwrap_or("this machine"),
                    if json_schema { " with json-schema" } else { "" },
                    found.join("; ")
                );
            }
        }
    }
    for (package, features, most) in MOST {
        let crates = crates(context, log, package, features)?;
        log.say(&format!(
            "{package} {}: {} crates",
            features.join(" "),
            crates.len()
        ))?;
        ensure!(
            crates.len() <= *most,
            "{package} {} depends on {} crates, and may on {most}",
            features.join(" "),
            crates.len()
        );
    }
    // Cargo gives a crate the features that anyone asks for: with reqwest among these, an app's own would have TLS in it
    // for which nobody has chosen a provider, and panic.
    let all = ["--features", "mcp,postgres,sqlite"];
    let crates = crates(context, log, "stepwell-io", &all)?;
    ensure!(
        !crates.iter().any(|name| name.starts_with("reqwest ")),
        "stepwell-io depends on reqwest, where the app has not asked for that"
    );
    Ok(())
}

/// The most crates that a package may bring: with itself, and with what builds them.
const MOST: &[(&str, &[&str], usize)] = &[
    ("stepwell-core", &[], 60),
    ("stepwell-io", &["--no-default-features"], 120),
];

/// The crates that a package depends on, on this machine: name and version.
fn crates(
    context: &Context,
    log: &mut Log,
    package: &str,
    features: &[&str],
) -> anyhow::Result<BTreeSet<String>> {
    let tree = log.read(
        process::cargo()
            .args(["tree", "-p", package, "--edges", "normal,build"])
            .args(["--prefix", "none", "--format", "{p}"])
            .args(features)
            .current_dir(&context.root),
    )?;
    let name = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let lines = tree.lines().filter(|line| !line.is_empty());
    Ok(lines.map(name).collect())
}

/// The paths to banned crates in the output of `cargo tree --prefix depth --format ' {p}'`.
fn offenders(tree: &str, allowed_below: &[(&str, &str)]) -> anyhow::Result<Vec<String>> {
    let mut path: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    for line in tree.lines().filter(|line| !line.is_empty()) {
        let mut words = line.split_whitespace();
        let depth: usize = words
            .next()
            .and_then(|word| word.parse().ok())
            .context("cargo tree gave no depth")?;
        let name = words.next().context("cargo tree gave no name")?;
        path.truncate(depth);
        let allowed = allowed_below
            .iter()
            .any(|(what, below)| *what == name && path.contains(below));
        path.push(name);
        if BANNED.contains(&name) && !allowed {
            found.push(path.join(" > "));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{ALLOWED_BELOW, offenders};

    const TREE: &str =
        "0 core v0.1.0 (/core)\n1 jsonschema v1\n2 ahash v0.8\n3 getrandom v0.3\n1 serde v1\n";

    #[test]
    fn an_exception_holds_below_its_dependency_only() {
        assert!(offenders(TREE, ALLOWED_BELOW).unwrap().is_empty());
        assert_eq!(
            offenders(TREE, &[]).unwrap(),
            ["core > jsonschema > ahash > getrandom"]
        );
        let elsewhere = format!("{TREE}2 getrandom v0.3\n");
        assert_eq!(
            offenders(&elsewhere, ALLOWED_BELOW).unwrap(),
            ["core > serde > getrandom"]
        );
    }

    #[test]
    fn a_banned_crate_is_named_with_its_path() {
        assert_eq!(
            offenders("0 core v0.1.0\n1 a v1\n2 tokio v1\n", ALLOWED_BELOW).unwrap(),
            ["core > a > tokio"]
        );
    }
}
