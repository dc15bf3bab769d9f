//! Small faults put into the machine and the registry, one at a time: how many do the tests find?
//!
//! cargo-mutants says which faults there are. It would build the tests anew for each; here one build holds nearly all of
//! them, and a switch puts one on. The few that cannot stand beside the right code cargo-mutants tries itself.

mod accepted;
mod build;
mod list;
mod notes;
mod trial;

use super::{Options, Step};
use crate::{context::Context, log::Log, process, tools::cargo_tools};
use accepted::Accepted;
use anyhow::{Context as _, bail};
use list::Mutant;
use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    str::FromStr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};
use trial::{Suite, Verdict};

pub(super) const STEP: Step = Step {
    name: "mutants",
    about: "faults put into core/src/run, core/src/journal and core/src/registry; `mutants 0/8` does an eighth, --only those that match",
    run,
};

/// So many of a hundred faults are to be found at least.
const ENOUGH: usize = 95;

/// One of equal parts, from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shard {
    index: u32,
    of: u32,
}

impl Shard {
    /// In turns, so that each shard is a fair sample.
    fn has(self, number: usize) -> bool {
        number % self.of as usize == self.index as usize
    }
}

impl FromStr for Shard {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let parts = text.split_once('/');
        let shard = parts.and_then(|(index, of)| {
            Some(Self {
                index: index.parse().ok()?,
                of: of.parse().ok()?,
            })
        });
        match shard {
            Some(shard) if shard.index < shard.of => Ok(shard),
            _ => bail!("`{text}` is no shard: the first of eight is 0/8"),
        }
    }
}

/// So far apart in the list are two mutants that are tried one after the other.
const STRIDE: usize = 40;

/// The tests within the core's own files.
const LIB: &str = "stepwell_core";

/// A folder of the core, and the tests that know it: others would cost hours and find nothing more.
struct Part {
    folder: &'static str,
    /// Each with what the names of its tests hold.
    tests: &'static [(&'static str, &'static str)],
    /// They ask whether the generators come everywhere, and take longer than all the others.
    skipped: &'static [&'static str],
}

impl Part {
    fn targets(&self) -> impl Iterator<Item = &'static str> {
        self.tests.iter().map(|(target, _)| *target)
    }
}

const PARTS: &[Part] = &[
    Part {
        folder: "core/src/registry/",
        tests: &[("parts", "registry::"), (LIB, "registry::")],
        skipped: &[],
    },
    Part {
        folder: "core/src/journal/",
        tests: &[("run", ""), (LIB, "journal::")],
        skipped: &[
            "crashes::crashes_hit_every_state_and_every_moment",
            "invariants::mad_runs_come_everywhere",
        ],
    },
    Part {
        folder: "core/src/run/",
        // What a run stores is held by the tests that read it back.
        tests: &[("run", ""), (LIB, "run::"), ("session", "")],
        skipped: &[
            "crashes::crashes_hit_every_state_and_every_moment",
            "invariants::mad_runs_come_everywhere",
        ],
    },
];

fn run(context: &Context, log: &mut Log, options: &Options) -> anyhow::Result<String> {
    let program = cargo_tools::installed(context, log, "cargo-mutants")?;
    let accepted = Accepted::load(&context.root)?;
    let all = listed(context, log, &program, "")?;
    let asked = match &options.only {
        Some(only) => listed(context, log, &program, only)?,
        None => all.clone(),
    };
    // Where a body lies is known by all of them, not only by those that are asked for.
    let bodies: BTreeSet<_> = all.iter().filter_map(Mutant::body).collect();
    let shard = options.shard.unwrap_or(Shard { index: 0, of: 1 });
    let (mutants, alone): (Vec<_>, Vec<_>) = asked
        .into_iter()
        .enumerate()
        .filter_map(|(number, mutant)| shard.has(number).then_some(mutant))
        .partition(|mutant| mutant.is_within(&bodies));

    let mut found = Found::default();
    try_all(context, log, &all, &mutants, options.go_on, &mut found)?;
    for part in PARTS {
        let of_part = alone
            .iter()
            .filter(|mutant| mutant.file.starts_with(part.folder));
        let names: Vec<_> = of_part.map(|mutant| mutant.name.as_str()).collect();
        if !names.is_empty() {
            let output = context.scratch().join("mutants").join("alone");
            try_alone(context, log, &program, part, &names, &output)?;
            found.add(&output.join("mutants.out"), &names)?;
        }
    }

    let unlisted: Vec<_> = found
        .missed
        .iter()
        .filter(|mutant| !accepted.allows(mutant))
        .collect();
    for mutant in &unlisted {
        log.say(&format!("lives: {mutant}"))?;
    }
    for mutant in &found.late {
        log.say(&format!("no verdict in time: {mutant}"))?;
    }
    if options.only.is_none() && options.shard.is_none() {
        for mutant in accepted.dead(&found.missed) {
            log.say(&format!("listed, but does not live: {mutant}"))?;
        }
    }
    let line = found.line();
    if !found.is_enough() {
        bail!("{line}: fewer than {ENOUGH} of 100");
    }
    if !unlisted.is_empty() {
        let count = unlisted.len();
        bail!("{line}; {count} live and are not in core/mutants-accepted");
    }
    Ok(line)
}

/// The mutants whose names match.
fn listed(
    context: &Context,
    log: &mut Log,
    program: &Path,
    only: &str,
) -> anyhow::Result<Vec<Mutant>> {
    let mut command = process::command(program);
    command
        .args(["mutants", "--list", "--json", "--package", "stepwell-core"])
        .current_dir(&context.root);
    for part in PARTS {
        command.args(["--re", &format!("^{}.*{only}", part.folder)]);
    }
    let text = log.read(&mut command)?;
    serde_json::from_str(&text).context("cannot read the list of cargo-mutants")
}

/// Tries mutants that stand in one build, on all processors.
fn try_all(
    context: &Context,
    log: &mut Log,
    all: &[Mutant],
    mutants: &[Mutant],
    go_on: bool,
    found: &mut Found,
) -> anyhow::Result<()> {
    let names = PARTS.iter().flat_map(Part::targets);
    let built = build::build(context, log, all, mutants, &arguments(names))?;
    let mut suites = Vec::new();
    for part in PARTS {
        for (test, of) in part.tests {
            let program = built.tests.get(*test);
            let program = program.with_context(|| format!("the test `{test}` was not built"))?;
            let suite = Suite::measured(program, &built.folder, of, part.skipped)?;
            suites.push((part.folder, suite));
        }
    }
    let mut notes = built.notes;
    let mut left = Vec::new();
    for (number, mutant) in mutants.iter().enumerate() {
        if notes.unviable.contains(&mutant.name) {
            found.unviable += 1;
        } else if go_on && notes.caught.contains(&mutant.name) {
            found.caught += 1;
        } else if go_on && notes.no_end.contains(&mutant.name) {
            found.no_end += 1;
        } else {
            left.push(number);
        }
    }
    if go_on {
        let before = found.caught + found.no_end;
        log.say(&format!(
            "{before} were found before, {} are left",
            left.len()
        ))?;
    }
    // Those that lived first. Not file by file, so that what was tried when somebody stops it is a fair sample.
    left.sort_by_key(|number| {
        (
            !notes.lived.contains(&mutants[*number].name),
            number % STRIDE,
            *number,
        )
    });
    let next = AtomicUsize::new(0);
    let shared = Mutex::new((log, found, &mut notes));
    let work = || -> anyhow::Result<()> {
        while let Some(&number) = left.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mutant = &mutants[number];
            let mut verdict = Verdict::Lived;
            for (folder, suite) in &suites {
                if mutant.file.starts_with(folder) && verdict == Verdict::Lived {
                    verdict = suite.verdict(number)?;
                }
            }
            let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
            let (log, found, notes) = &mut *shared;
            notes.add(&mutant.name, verdict)?;
            log.write(&format!("{verdict:?}: {}", mutant.name))?;
            found.count(verdict, &mutant.name);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            worker
                .join()
                .map_err(|_| anyhow::anyhow!("a worker failed"))??;
        }
        Ok(())
    })
}

/// How cargo is told which tests, each once.
fn arguments(targets: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let argument = |target| match target {
        LIB => vec!["--lib"],
        test => vec!["--test", test],
    };
    let targets: BTreeSet<_> = targets.collect();
    targets.into_iter().flat_map(argument).collect()
}

/// Lets cargo-mutants try mutants itself, with a build for each.
fn try_alone(
    context: &Context,
    log: &mut Log,
    program: &Path,
    part: &Part,
    names: &[&str],
    output: &Path,
) -> anyhow::Result<()> {
    fs::create_dir_all(output)?;
    let mut command = process::command(program);
    command.args(["mutants", "--package", "stepwell-core", "--jobs", "1"]);
    for name in names {
        command.args(["--re", &format!("^{}$", literally(name))]);
    }
    command
        .args(["--colors", "never", "--no-times", "--caught", "--unviable"])
        .args(["--baseline", "skip", "--timeout", "900"])
        .arg("--output")
        .arg(output)
        .arg("--")
        .args(arguments(part.targets()))
        .arg("--")
        .args(part.skipped.iter().flat_map(|name| ["--skip", name]))
        .current_dir(&context.root)
        .envs(trial::PROPERTIES.iter().copied())
        .env("RUST_BACKTRACE", "0")
        .env_remove("CARGO_TARGET_DIR");
    let status = log.status_unbounded(&mut command)?;
    // 2: some were missed. 3: some ran out of time.
    if !matches!(status.code(), Some(0 | 2 | 3)) {
        bail!("cargo-mutants came to no result: {status}");
    }
    Ok(())
}

/// A regular expression for a text as it is.
fn literally(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() * 2);
    for character in text.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(character) {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

/// What became of the mutants.
#[derive(Debug, Default)]
struct Found {
    caught: usize,
    no_end: usize,
    unviable: usize,
    missed: Vec<String>,
    /// Neither caught nor missed: the tests were stopped while they may have gone on.
    late: Vec<String>,
}

impl Found {
    fn count(&mut self, verdict: Verdict, name: &str) {
        match verdict {
            Verdict::Caught => self.caught += 1,
            Verdict::NoEnd => self.no_end += 1,
            Verdict::TooLate => self.late.push(name.to_owned()),
            Verdict::Lived => self.missed.push(name.to_owned()),
        }
    }

    /// Adds the lists that cargo-mutants left; each has a mutant a line. It tries some that it was not asked for, which
    /// the woven build has tried with all their tests: only `names` count.
    fn add(&mut self, folder: &Path, names: &[&str]) -> anyhow::Result<()> {
        let list = |name: &str| -> anyhow::Result<Vec<String>> {
            let path = folder.join(name);
            let text = fs::read_to_string(&path)
                .with_context(|| format!("cargo-mutants left no {}", path.display()))?;
            let asked = text.lines().filter(|line| names.contains(line));
            Ok(asked.map(str::to_owned).collect())
        };
        self.caught += list("caught.txt")?.len();
        self.late.extend(list("timeout.txt")?);
        self.unviable += list("unviable.txt")?.len();
        self.missed.extend(list("missed.txt")?);
        Ok(())
    }

    /// Those that compile.
    fn viable(&self) -> usize {
        self.caught + self.no_end + self.missed.len() + self.late.len()
    }

    /// A test that no longer ends has found the fault too.
    fn is_enough(&self) -> bool {
        (self.caught + self.no_end) * 100 >= self.viable() * ENOUGH
    }

    fn line(&self) -> String {
        let died = self.caught + self.no_end;
        let ratio = 100.0 * died as f64 / self.viable().max(1) as f64;
        format!(
            "{died} of {} mutants died ({ratio:.1} of 100): {} caught, {} without an end, {} missed, {} without a verdict; \
             {} did not compile",
            self.viable(),
            self.caught,
            self.no_end,
            self.missed.len(),
            self.late.len(),
            self.unviable
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Found, Shard, literally};

    #[test]
    fn a_shard_is_one_of_some() {
        assert_eq!("0/8".parse::<Shard>().unwrap(), Shard { index: 0, of: 8 });
        for text in ["8/8", "1", "a/2", "1/0", "-1/2"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_name_is_taken_literally() {
        assert_eq!(literally("a.rs: f -> u8"), r"a\.rs: f \-> u8");
    }

    #[test]
    fn ninety_five_of_a_hundred_are_enough() {
        let found = |caught, missed: usize| Found {
            caught,
            no_end: 1,
            unviable: 7,
            missed: vec![String::new(); missed],
            late: Vec::new(),
        };
        assert!(found(94, 5).is_enough());
        assert!(!found(93, 6).is_enough());
        assert!(
            found(94, 5)
                .line()
                .starts_with("95 of 100 mutants died (95.0 of 100)")
        );
        assert!(Found::default().is_enough());
    }
}
