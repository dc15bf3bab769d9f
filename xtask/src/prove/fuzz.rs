//! The fuzz targets of `core/fuzz`, each for as long as it is given.

use super::{Options, Step};
use crate::{context::Context, log::Log, process, tools::cargo_tools};
use anyhow::{Context as _, bail};
use std::{ffi::OsString, fs};

pub(super) const STEP: Step = Step {
    name: "fuzz",
    about: "the framers and every dialect under libFuzzer, ten minutes each; `--only anthropic` runs one target",
    run,
};

/// The longest body that is tried, in bytes.
const LONGEST: u32 = 4096;

fn run(context: &Context, log: &mut Log, options: &Options) -> anyhow::Result<String> {
    let program = cargo_tools::installed(context, log, "cargo-fuzz")?;
    let project = context.root.join("core/fuzz");
    let mut executions = 0;
    let mut targets = 0;
    for target in self::targets(context)? {
        if options.only.as_ref().is_some_and(|only| *only != target) {
            continue;
        }
        log.say(&format!("{target}: {} s", options.seconds))?;
        let corpus = context.scratch().join("fuzz").join(&target);
        fs::create_dir_all(&corpus)?;
        let start = fs::read_to_string(log.path())?.len();
        let mut command = process::command(&program);
        command
            // Without a sanitizer it runs on stable Rust; what it looks for here are panics and broken promises.
            .args(["fuzz", "run", "--sanitizer", "none", "--fuzz-dir"])
            .arg(&project)
            .arg(&target)
            .arg(&corpus);
        for kind in ["seeds", "found"] {
            let folder = project.join(kind).join(&target);
            if folder.is_dir() {
                command.arg(folder);
            }
        }
        let mut artifacts = OsString::from("-artifact_prefix=");
        artifacts.push(&corpus);
        artifacts.push("-found-");
        command
            .arg("--")
            .arg(format!("-max_total_time={}", options.seconds))
            .arg(format!("-max_len={LONGEST}"))
            .arg("-print_final_stats=1")
            .arg(artifacts)
            .current_dir(context.root.join("core"))
            .env("CARGO_TARGET_DIR", context.scratch().join("fuzz-target"));
        log.run_unbounded(&mut command).with_context(|| {
            format!("{target}: see core/fuzz/README.md for what to do with what was found")
        })?;
        let text = fs::read_to_string(log.path())?;
        executions += text.get(start..).and_then(executed).unwrap_or(0);
        targets += 1;
    }
    if targets == 0 {
        bail!("no target of core/fuzz was named");
    }
    Ok(format!(
        "{targets} targets, {} s each, {executions} bodies tried, nothing found",
        options.seconds
    ))
}

/// The names of the targets, from the manifest.
fn targets(context: &Context) -> anyhow::Result<Vec<String>> {
    let manifest = fs::read_to_string(context.root.join("core/fuzz/Cargo.toml"))?;
    let binaries = manifest.split("[[bin]]").skip(1);
    let name = |binary: &str| {
        let line = binary.lines().find_map(|line| line.strip_prefix("name = "));
        line.map(|name| name.trim_matches('"').to_owned())
    };
    Ok(binaries.filter_map(name).collect())
}

/// The number that libFuzzer's statistics give.
fn executed(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::executed;

    #[test]
    fn reads_the_statistics() {
        let text = "Done 12 runs\nstat::number_of_executed_units: 1234\nstat::average: 3\n";
        assert_eq!(executed(text), Some(1234));
        assert_eq!(executed("Done"), None);
    }
}
