use super::Step;
use crate::tools::npm;
use crate::tools::postgres::{Postgres, VARIABLE};
use crate::tools::restate;
use anyhow::ensure;

/// Kills of a program on each store, and how often each kind of harm is done to hosts.
const KILLS: u32 = 200;

/// For how many seconds the host of one turn is killed each second.
const HUNTED: u32 = 60;

pub(super) const STEP: Step = Step {
    name: "kills",
    about: "a program with durable turns is killed 200 times on SQLite and on PostgreSQL; on both, and behind Restate, 200 times each hosts are killed, replaced, frozen, cut off and disconnected, and Restate is killed; the host of one turn is killed each second for a minute: every turn ends, and all messages are as the official AG-UI client folds them",
    run: |context, log, _| {
        let server = Postgres::start(log)?;
        let oracle = context.root.join("tests/ag-ui-oracle");
        npm::ensure(log, &oracle)?;
        let restate = restate::program(context, log)?;
        // The program of the tests of `io`, and the host.
        for program in context.integration_tests(log, "kills")? {
            let mut kills = program.command();
            kills
                .args(["--test-threads", "1"])
                .env("STEPWELL_KILLS", KILLS.to_string())
                .env("STEPWELL_HOST_KILLS", KILLS.to_string())
                .env("STEPWELL_HUNTED_SECONDS", HUNTED.to_string())
                .env("STEPWELL_AG_UI_ORACLE", oracle.join("oracle.mjs"))
                .env(VARIABLE, server.url())
                .env(restate::VARIABLE, &restate);
            log.run_unbounded(&mut kills)?;
        }
        let text = std::fs::read_to_string(log.path())?;
        let verdicts: Vec<_> = text.lines().filter_map(verdict).collect();
        ensure!(
            verdicts.len() == 8,
            "a program and hosts on two stores, hosts behind Restate and behind three of it, and the host of a turn with each engine: of these eight \
             {} came to harm",
            verdicts.len()
        );
        let who = ["host"; 6].into_iter().chain(["program"; 2]);
        let of = who.zip(verdicts);
        let lines = of.map(|(who, verdict)| format!("{who} on {verdict}"));
        Ok(lines.collect::<Vec<_>>().join("; "))
    },
};

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
