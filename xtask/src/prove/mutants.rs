//! Small faults put into the machine and the registry, one at a time: how many do the tests find?

use super::{Options, Step, accepted::Accepted};
use crate::{context::Context, log::Log, process, tools::cargo_tools};
use anyhow::{Context as _, bail};
use std::{fs, str::FromStr};

pub(super) const STEP: Step = Step {
    name: "mutants",
    about: "faults put into core/src/run and core/src/registry, by cargo-mutants; hours, so `mutants 0/8` does an eighth",
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

/// A folder of the core, and the tests that know it: others would cost hours and find nothing more.
const PARTS: &[(&str, &[&str])] = &[
    ("registry", &["--lib", "--test", "registry"]),
    (
        "run",
        &[
            "--test",
            "run",
            "--",
            // They ask whether the generators come everywhere, and take longer than all the others.
            "--skip",
            "crashes_hit_every_state_and_every_moment",
            "--skip",
            "mad_runs_come_everywhere",
        ],
    ),
];

fn run(context: &Context, log: &mut Log, options: &Options) -> anyhow::Result<String> {
    let program = cargo_tools::installed(context, log, "cargo-mutants")?;
    let accepted = Accepted::load(&context.root)?;
    // The shards of one division are summed up, whichever of them were run.
    let Shard { index, of } = options.shard.unwrap_or(Shard { index: 0, of: 1 });
    let kind = if options.only.is_none() {
        "all"
    } else {
        "some"
    };
    let folder = context.scratch().join(format!("mutants-{kind}-{of}"));
    for (part, tests) in PARTS {
        let output = folder.join(format!("{part}-{index}"));
        fs::create_dir_all(&output)?;
        let name = format!(
            "^core/src/{part}/.*{}",
            options.only.as_deref().unwrap_or("")
        );
        let mut command = process::command(&program);
        command
            .args(["mutants", "--package", "stepwell-core", "--jobs", "1"])
            // In turns, so that each shard is a fair sample.
            .args([
                "--shard",
                &format!("{index}/{of}"),
                "--sharding",
                "round-robin",
            ])
            .args(["--re", &name])
            .args(["--colors", "never", "--no-times", "--caught", "--unviable"])
            .arg("--output")
            .arg(&output)
            .arg("--")
            .args(*tests)
            .current_dir(&context.root)
            // Each mutant gets the whole run of tests, so a few cases of each property do.
            .env("PROPTEST_CASES", "4")
            // That a case fails is enough: the smallest one is not looked for.
            .env("PROPTEST_MAX_SHRINK_ITERS", "0")
            .env("RUST_BACKTRACE", "0")
            .env_remove("CARGO_TARGET_DIR");
        let status = log.status_unbounded(&mut command)?;
        // 2: some were missed. 3: some ran out of time.
        if !matches!(status.code(), Some(0 | 2 | 3)) {
            bail!("cargo-mutants came to no result: {status}");
        }
    }

    let mut found = Found::default();
    let mut runs = 0;
    for run in fs::read_dir(&folder)? {
        runs += 1;
        found.add(&run?.path().join("mutants.out"))?;
    }
    let unlisted: Vec<_> = found
        .missed
        .iter()
        .filter(|mutant| !accepted.allows(mutant))
        .collect();
    for mutant in &unlisted {
        log.say(&format!("lives: {mutant}"))?;
    }
    if options.only.is_none() && runs == PARTS.len() * of as usize {
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

/// What became of the mutants.
#[derive(Debug, Default)]
struct Found {
    caught: usize,
    timed_out: usize,
    unviable: usize,
    missed: Vec<String>,
}

impl Found {
    /// Adds the lists of one run; each has a mutant a line.
    fn add(&mut self, folder: &std::path::Path) -> anyhow::Result<()> {
        let list = |name: &str| -> anyhow::Result<Vec<String>> {
            let path = folder.join(name);
            let text = fs::read_to_string(&path)
                .with_context(|| format!("cargo-mutants left no {}", path.display()))?;
            Ok(text.lines().map(str::to_owned).collect())
        };
        self.caught += list("caught.txt")?.len();
        self.timed_out += list("timeout.txt")?.len();
        self.unviable += list("unviable.txt")?.len();
        self.missed.extend(list("missed.txt")?);
        Ok(())
    }

    /// Those that compile.
    fn viable(&self) -> usize {
        self.caught + self.timed_out + self.missed.len()
    }

    /// A test that no longer ends has found the fault too.
    fn is_enough(&self) -> bool {
        (self.caught + self.timed_out) * 100 >= self.viable() * ENOUGH
    }

    fn line(&self) -> String {
        let died = self.caught + self.timed_out;
        let ratio = 100.0 * died as f64 / self.viable().max(1) as f64;
        format!(
            "{died} of {} mutants died ({ratio:.1} of 100): {} caught, {} timed out, {} missed; {} did not compile",
            self.viable(),
            self.caught,
            self.timed_out,
            self.missed.len(),
            self.unviable
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Found, Shard};

    #[test]
    fn a_shard_is_one_of_some() {
        assert_eq!("0/8".parse::<Shard>().unwrap(), Shard { index: 0, of: 8 });
        for text in ["8/8", "1", "a/2", "1/0", "-1/2"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }

    #[test]
    fn ninety_five_of_a_hundred_are_enough() {
        let found = |caught, missed: usize| Found {
            caught,
            timed_out: 1,
            unviable: 7,
            missed: vec![String::new(); missed],
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
