use super::Step;
use crate::log::Log;
use crate::tools::npm;
use crate::tools::postgres::{Postgres, VARIABLE};
use crate::tools::restate;
use crate::workspace::TestProgram;
use anyhow::Context as _;
use std::path::Path;
use std::thread;

/// Kills of a program on each store, and how often each kind of harm is done to hosts.
const KILLS: u32 = 200;

/// For how many seconds the host of one turn is killed each second.
const HUNTED: u32 = 60;

/// What is killed, by the package of its tests; and the tests.
const STORMS: [(&str, &str, &[&str]); 2] = [
    ("program", "stepwell-io", &["sqlite", "postgres"]),
    (
        "host",
        "stepwell",
        &[
            "sqlite",
            "postgres",
            "restate",
            "restate_nodes",
            "hunted_postgres",
            "hunted_restate",
        ],
    ),
];

pub(super) const STEP: Step = Step {
    name: "kills",
    about: "a program with durable turns is killed 200 times on SQLite and on PostgreSQL; on both, and behind Restate, 200 times each hosts are killed, replaced, frozen, cut off and disconnected, and Restate is killed; the host of one turn is killed each second for a minute: every turn ends, and all messages are as the official AG-UI client folds them",
    run: |context, log, _| {
        let oracle = context.root.join("tests/ag-ui-oracle");
        npm::ensure(log, &oracle)?;
        let oracle = oracle.join("oracle.mjs");
        let restate = restate::program(context, log)?;
        let programs = context.integration_tests(log, "kills")?;
        let mut storms = Vec::new();
        for (who, package, tests) in STORMS {
            let program = programs.iter().find(|program| program.package == package);
            let program = program.with_context(|| format!("{package} has no such tests"))?;
            for test in tests {
                let scratch = context.scratch();
                let log = Log::create(&scratch, &format!("prove-kills-{who}-{test}"))?;
                let (oracle, restate) = (&oracle, &restate);
                let storm = move || storm(program, test, log, oracle, restate);
                storms.push((who, *test, storm));
            }
        }
        // Side by side: for most of the time they wait.
        let verdicts = thread::scope(|scope| {
            let begun: Vec<_> = storms
                .into_iter()
                .map(|(who, test, storm)| (who, test, scope.spawn(storm)))
                .collect();
            begun
                .into_iter()
                .map(|(who, test, storm)| {
                    let panicked = |_| Err(anyhow::anyhow!("its thread panicked"));
                    let verdict = storm.join().unwrap_or_else(panicked);
                    let verdict = verdict.with_context(|| {
                        format!("{who} on {test}: prove-kills-{who}-{test}.log")
                    })?;
                    Ok(format!("{who} on {verdict}"))
                })
                .collect::<Vec<_>>()
        });
        let verdicts: Vec<_> = verdicts.into_iter().collect::<anyhow::Result<_>>()?;
        Ok(verdicts.join("; "))
    },
};

/// Does one, on a server of its own: it ends the connections of all who have one there.
fn storm(
    program: &TestProgram,
    test: &str,
    mut log: Log,
    oracle: &Path,
    restate: &Path,
) -> anyhow::Result<String> {
    let server = Postgres::start(&mut log)?;
    let mut kills = program.command();
    kills
        .args(["--test-threads", "1", "--exact", test])
        .env("STEPWELL_KILLS", KILLS.to_string())
        .env("STEPWELL_HOST_KILLS", KILLS.to_string())
        .env("STEPWELL_HUNTED_SECONDS", HUNTED.to_string())
        .env("STEPWELL_AG_UI_ORACLE", oracle)
        .env(VARIABLE, server.url())
        .env(restate::VARIABLE, restate);
    log.run_unbounded(&mut kills)?;
    let text = std::fs::read_to_string(log.path())?;
    let verdict = text.lines().find_map(verdict);
    verdict.context("no verdict in the log")
}

/// `sqlite: 200 kills …` of a line of the test.
fn verdict(line: &str) -> Option<String> {
    let (name, said) = line.strip_prefix("test ")?.split_once("...")?;
    let said = said.trim();
    let mut words = [" kills (seed ", " harms (seed "].into_iter();
    let is_verdict = words.any(|words| said.contains(words));
    is_verdict.then(|| format!("{}: {said}", name.trim()))
}

#[cfg(test)]
mod tests {
    use super::verdict;

    #[test]
    fn reads_what_came_of_the_kills() {
        let line = "test sqlite   ... 30 kills (seed 1): 81 turns ended";
        let expected = "sqlite: 30 kills (seed 1): 81 turns ended";
        assert_eq!(verdict(line).as_deref(), Some(expected));
        let line = "test restate  ... 14 harms (seed 1): 2 times each";
        let expected = "restate: 14 harms (seed 1): 2 times each";
        assert_eq!(verdict(line).as_deref(), Some(expected));
        assert_eq!(verdict("test postgres ... ignored"), None);
    }
}
