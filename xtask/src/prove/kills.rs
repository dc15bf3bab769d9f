use super::Step;
use crate::process;
use crate::tools::postgres::{Postgres, VARIABLE};
use anyhow::ensure;

/// Kills on each store.
const KILLS: u32 = 200;

pub(super) const STEP: Step = Step {
    name: "kills",
    about: "a program with durable turns is killed 200 times on SQLite and on PostgreSQL, and every turn ends",
    run: |context, log, _| {
        let server = Postgres::start(log)?;
        log.run_unbounded(
            process::cargo()
                .args(["test", "-p", "stepwell-io", "--features", "postgres"])
                .args(["--test", "kills", "--", "--test-threads", "1"])
                .env("STEPWELL_KILLS", KILLS.to_string())
                .env(VARIABLE, server.url())
                .current_dir(&context.root),
        )?;
        let text = std::fs::read_to_string(log.path())?;
        let verdicts: Vec<_> = text.lines().filter_map(verdict).collect();
        ensure!(
            verdicts.len() == 2,
            "of two stores {} were killed on",
            verdicts.len()
        );
        Ok(verdicts.join("; "))
    },
};

/// `sqlite: 200 kills …` of a line of the test.
fn verdict(line: &str) -> Option<String> {
    let (name, said) = line.strip_prefix("test ")?.split_once("...")?;
    let said = said.trim();
    let kills = said.contains(" kills (seed ");
    kills.then(|| format!("{}: {said}", name.trim()))
}

#[cfg(test)]
mod tests {
    use super::verdict;

    #[test]
    fn reads_what_came_of_the_kills() {
        let line = "test sqlite   ... 30 kills (seed 1): 81 turns ended";
        let expected = "sqlite: 30 kills (seed 1): 81 turns ended";
        assert_eq!(verdict(line).as_deref(), Some(expected));
        assert_eq!(verdict("test postgres ... ignored"), None);
    }
}
