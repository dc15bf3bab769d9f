//! The proofs by tools that others have made.

use super::{Options, Proved};
use crate::{
    context::Context,
    log::Log,
    process,
    tools::{cargo_tools, venv::Venv},
};
use anyhow::{Context as _, ensure};
use std::{ffi::OsString, fs};

/// The longest body that is tried, in bytes.
const MAX_FUZZED_BYTES: u32 = 4096;

pub(super) fn fuzz(context: &Context, log: &mut Log, options: &Options) -> Proved {
    let program = cargo_tools::installed(context, log, "cargo-fuzz")?;
    let project = context.root.join("core/fuzz");
    let mut list = process::command(&program);
    list.args(["fuzz", "list", "--fuzz-dir"]).arg(&project);
    let targets = log.read(list.current_dir(&project))?;
    let is_wanted = |target: &&str| options.only.as_deref().is_none_or(|only| only == *target);
    let targets: Vec<_> = targets.lines().filter(is_wanted).collect();
    ensure!(!targets.is_empty(), "core/fuzz has no such target");
    for target in targets {
        log.say(&format!("{target}: {} s", options.seconds))?;
        let corpus = context.scratch().join("fuzz").join(target);
        fs::create_dir_all(&corpus)?;
        let mut command = process::command(&program);
        command
            // Without a sanitizer it runs on stable Rust; what it looks for here are panics and broken promises.
            .args(["fuzz", "run", "--sanitizer", "none", "--fuzz-dir"])
            .arg(&project)
            .arg(target)
            .arg(&corpus);
        let known = ["seeds", "found"].map(|kind| project.join(kind).join(target));
        command.args(known.iter().filter(|folder| folder.is_dir()));
        let mut artifacts = OsString::from("-artifact_prefix=");
        artifacts.push(&corpus);
        artifacts.push("-found-");
        command
            .arg("--")
            .arg(format!("-max_total_time={}", options.seconds))
            .arg(format!("-max_len={MAX_FUZZED_BYTES}"))
            .arg("-print_final_stats=1")
            .arg(artifacts)
            .current_dir(&project)
            .env("CARGO_TARGET_DIR", context.scratch().join("fuzz-target"));
        log.run_unbounded(&mut command).with_context(|| {
            format!("{target}: see core/fuzz/README.md for what to do with what was found")
        })?;
    }
    Ok(())
}

pub(super) fn prices(context: &Context, log: &mut Log) -> Proved {
    // The newest, not the version that the table was made from: what has changed since is what is looked for.
    let requirements = context.scratch().join("prices.txt");
    fs::write(&requirements, "genai-prices\n")?;
    let venv = Venv::ensure(context, log, "venv-prices", &requirements)?;
    venv.install(context, log, |uv| uv.args(["--upgrade", "genai-prices"]))?;
    let mut compare = venv.python();
    compare
        .arg(context.root.join("tests/prices/prices.py"))
        .arg(context.root.join("core/llm/src/provider/prices/table.rs"));
    let compared = log.run(&mut compare);
    compared
        .context("prices differ: `tests/prices/prices.py TABLE --write` takes the new ones over")
}

/// The settings of the property tests with a mutant: a few cases suffice, since each mutant gets all tests, and the
/// smallest failing case is not needed.
const PROPERTIES: [(&str, &str); 4] = [
    ("PROPTEST_CASES", "8"),
    ("PROPTEST_RNG_SEED", "1"),
    ("PROPTEST_MAX_SHRINK_ITERS", "0"),
    ("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1"),
];

pub(super) fn mutants(context: &Context, log: &mut Log, options: &Options) -> Proved {
    let program = cargo_tools::installed(context, log, "cargo-mutants")?;
    let mut command = process::command(program);
    // `.cargo/mutants.toml` selects the mutants and their tests.
    command
        .args(["mutants", "--package", "stepwell-core", "--colors=never"])
        .arg("--output")
        .arg(context.scratch())
        .current_dir(&context.root)
        .envs(PROPERTIES)
        .env("RUST_BACKTRACE", "0")
        .env_remove("CARGO_TARGET_DIR");
    for (option, value) in [("--shard", &options.shard), ("--re", &options.only)] {
        command.args(value.iter().flat_map(|value| [option, value.as_str()]));
    }
    let status = log.status_unbounded(&mut command)?;
    log.say(&log.tail(1)?)?;
    // 3: with some mutants the tests did not end, which finds them too.
    ensure!(
        matches!(status.code(), Some(0 | 3)),
        "target/xtask/mutants.out/missed.txt lists the mutants that no test found ({status})"
    );
    Ok(())
}
