//! `cargo xtask test quick`: what a change needs before it is shown to anyone: format, versions, the order of the modules, the
//! files that are generated and committed, Clippy, and the unit and scenario tests of the packages that it touches and of
//! those that depend on them.

use crate::{
    bindings::shapes::{self, GENERATOR},
    context::Context,
    features,
    log::Log,
    process::{self, Spent},
    suites::{architecture, format, versions},
    workspace::{self, Kind, TestProgram},
};
use anyhow::Context as _;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::ExitCode,
    time::Instant,
};

/// The integration tests that are quick too, and say most of a change.
const SCENARIOS: &str = "scenarios";

/// The package whose records and enums are the shapes of all languages, and where they are committed.
const SHAPES: &str = "stepwell-ffi";
const SHAPES_WRITTEN: &[&str] = &["bindings/web/", "bindings/flutter/"];

/// Files of the whole workspace.
const OF_ALL: &[&str] = &[
    "Cargo.toml",
    "Cargo.lock",
    ".cargo/config.toml",
    "clippy.toml",
];

/// Tests what has changed since the commit `since`; everything if nothing has.
pub(crate) fn run(context: &Context, since: &str) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let mut log = Log::create(&context.scratch(), "quick")?;
    let packages = packages(context);
    let changed = changed(context, &mut log, since)?;
    let affected = affected(&packages, &changed);
    log.say(&format!(
        "{} of {} packages",
        affected.len(),
        packages.len()
    ))?;

    let mut steps: Vec<(String, bool, Spent)> = Vec::new();
    let mut step = |log: &mut Log, name: &str, result: anyhow::Result<()>| {
        let before = steps
            .iter()
            .fold(Spent::default(), |mut sum, (_, _, spent)| {
                sum += *spent;
                sum
            });
        let mut spent = log.building();
        spent += log.testing();
        spent -= before;
        if let Err(error) = &result {
            println!("   {name}: {error:#}");
        }
        steps.push((name.to_owned(), result.is_ok(), spent));
        result.is_ok()
    };
    let result = format::check(context, &mut log);
    step(&mut log, "format", result);
    let result = versions::check(context, &mut log);
    step(&mut log, "versions", result);
    let result = architecture::check(context, &mut log);
    step(&mut log, "architecture", result);
    let result = features::check(context, &mut log);
    step(&mut log, "features", result);
    let built = build(context, &mut log);
    let (programs, result) = match built {
        Ok(programs) => (programs, Ok(())),
        Err(error) => (Vec::new(), Err(error)),
    };
    let is_built = step(&mut log, "clippy", result);
    let may_differ = affected.contains(SHAPES)
        || changed.iter().any(|file| {
            let mut folders = SHAPES_WRITTEN.iter();
            folders.any(|folder| file.starts_with(folder))
        });
    if is_built && may_differ {
        let result = build_generator(context, &mut log)
            .and_then(|()| shapes::check_built(context, &mut log));
        step(&mut log, "shapes", result);
    }
    let wanted = programs.iter().filter(|program| {
        affected.contains(&program.package)
            && (program.kind == Kind::Unit || program.name == SCENARIOS)
    });
    for program in wanted {
        let result = log.run(&mut program.command());
        let name = format!("{} of {}", program.name, program.package);
        if !step(&mut log, &name, result) {
            println!("{}", log.tail(40)?);
        }
    }

    println!("\n{:<40} {:>8}  result", "step", "seconds");
    for (name, passed, spent) in &steps {
        let result = if *passed { "passed" } else { "failed" };
        println!("{name:<40} {:>8.1}  {result}", spent.wall.as_secs_f64());
    }
    let passed = steps.iter().filter(|(_, passed, _)| *passed).count();
    println!(
        "\n{} tests, {:.1} s\n\n{passed} passed, {} failed",
        log.tests_passed()?,
        started.elapsed().as_secs_f64(),
        steps.len() - passed
    );
    Ok(if passed == steps.len() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Builds the unit tests and the scenarios, with the features that the whole run has: so they share what is built. What
/// has not changed is not compiled again.
fn build(context: &Context, log: &mut Log) -> anyhow::Result<Vec<TestProgram>> {
    let mut cargo = workspace::linting_cargo(context)?;
    cargo
        .args(["test", "--no-run", "--workspace", "--lib", "--bins"])
        .args(["--test", SCENARIOS])
        .args(workspace::FEATURES);
    workspace::programs(log, &mut cargo)
}

/// Builds the libraries and what reads the shapes from them, with the same features.
fn build_generator(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let mut cargo = workspace::linting_cargo(context)?;
    cargo
        .args(["build", "--workspace", "--lib", "--bin", GENERATOR])
        // With a test the dependencies have the features that tests want of them.
        .args(["--test", SCENARIOS])
        .args(workspace::FEATURES);
    log.build(&mut cargo)
}

/// The packages of the workspace: the folder of each, from the root, and the others that it depends on.
fn packages(context: &Context) -> BTreeMap<String, (String, BTreeSet<String>)> {
    let packages = context.workspace.packages.iter().map(|package| {
        let folder = package.manifest_path.parent();
        let folder = folder.and_then(|folder| folder.strip_prefix(&context.root).ok());
        let folder = folder.map(ToString::to_string).unwrap_or_default();
        let needed = package.dependencies.iter();
        let needed = needed.filter(|dependency| dependency.path.is_some());
        let needed = needed.map(|dependency| dependency.name.clone()).collect();
        (package.name.to_string(), (folder, needed))
    });
    packages.collect()
}

/// The files that differ from the commit, or are new, from the root.
fn changed(context: &Context, log: &mut Log, since: &str) -> anyhow::Result<Vec<String>> {
    let git = |arguments: &[&str]| {
        let mut git = process::command("git");
        git.args(arguments).current_dir(&context.root);
        git
    };
    let named = log
        .read(&mut git(&["diff", "--name-only", "--relative", since]))
        .with_context(|| format!("git does not say what has changed since {since}"))?;
    let new = log.read(&mut git(&["ls-files", "--others", "--exclude-standard"]))?;
    let files = named.lines().chain(new.lines());
    Ok(files.map(str::to_owned).collect())
}

/// The packages of these files, with all that depend on them; all packages if there are no files.
fn affected(
    packages: &BTreeMap<String, (String, BTreeSet<String>)>,
    changed: &[String],
) -> BTreeSet<String> {
    let all = || packages.keys().cloned().collect();
    if changed.is_empty() || changed.iter().any(|file| OF_ALL.contains(&file.as_str())) {
        return all();
    }
    let owner = |file: &String| {
        let holds = packages
            .iter()
            .filter(|(_, (folder, _))| Path::new(file).starts_with(folder));
        let nearest = holds.max_by_key(|(_, (folder, _))| folder.len());
        nearest.map(|(name, _)| name.clone())
    };
    let mut affected: BTreeSet<_> = changed.iter().filter_map(owner).collect();
    if changed
        .iter()
        .any(|file| file.starts_with("tests/scenarios/"))
    {
        // They are the core's, and every language's.
        affected.insert("stepwell-core".to_owned());
    }
    loop {
        let more = packages.iter().filter(|(name, (_, needed))| {
            !affected.contains(*name) && needed.iter().any(|name| affected.contains(name))
        });
        let more: Vec<_> = more.map(|(name, _)| name.clone()).collect();
        if more.is_empty() {
            return affected;
        }
        affected.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use super::affected;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn a_change_reaches_the_packages_above_it_and_no_other() {
        let package = |name: &str, folder: &str, needed: &[&str]| {
            let needed: BTreeSet<_> = needed.iter().map(ToString::to_string).collect();
            (name.to_owned(), (folder.to_owned(), needed))
        };
        let packages = BTreeMap::from([
            package("stepwell-core", "core", &[]),
            package("io", "io", &["stepwell-core"]),
            package("host", "host", &["io", "demo"]),
            package("demo", "host/demo", &["io"]),
            package("xtask", "xtask", &[]),
        ]);
        let of = |files: &[&str]| {
            let files: Vec<_> = files.iter().map(ToString::to_string).collect();
            let affected = affected(&packages, &files);
            affected.into_iter().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of(&["io/src/a.rs"]), "demo host io");
        assert_eq!(of(&["host/demo/src/a.rs"]), "demo host");
        assert_eq!(of(&["host/src/a.rs", "xtask/src/b.rs"]), "host xtask");
        assert_eq!(of(&["README.md"]), "");
        let all = "demo host io stepwell-core xtask";
        assert_eq!(
            of(&["tests/scenarios/a.json"]),
            "demo host io stepwell-core"
        );
        assert_eq!(of(&["Cargo.lock"]), all);
        assert_eq!(of(&[]), all);
    }
}
