use super::Suite;
use crate::{context::Context, log::Log, process};
use anyhow::{Context as _, bail};

pub(super) const SUITE: Suite = Suite {
    name: "core-dependencies",
    about: "the core depends on no runtime, network, clock or random number",
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
        for default_features in [false, true] {
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
            if !default_features {
                command.arg("--no-default-features");
            }
            let exceptions = if default_features { ALLOWED_BELOW } else { &[] };
            let found = offenders(&log.read(&mut command)?, exceptions)?;
            if !found.is_empty() {
                bail!(
                    "{}{}: {}",
                    target.unwrap_or("this machine"),
                    if default_features {
                        ""
                    } else {
                        " without default features"
                    },
                    found.join("; ")
                );
            }
        }
    }
    Ok(())
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
