use super::Step;
use crate::process;
use anyhow::ensure;

/// How many seeds happen.
const SEEDS: u32 = 100_000;

pub(super) const STEP: Step = Step {
    name: "simulation",
    about: "the host in one process under 100,000 seeds, with its own engine and with one that behaves as Restate does: kills, restarts, other providers, a store that fails, and clients that do as they please",
    run: |context, log, _| {
        log.run_unbounded(
            process::cargo()
                .args(["test", "--release", "-p", "stepwell", "--bin", "stepwell"])
                .args(["--features", "restate", "simulation", "--", "--nocapture"])
                // One after the other: each takes all processors.
                .args(["--test-threads", "1"])
                .current_dir(&context.root)
                .env("STEPWELL_SEEDS", SEEDS.to_string())
                .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true")
                // Beside the property tests, which are built so too.
                .env("CARGO_TARGET_DIR", context.target.join("prove")),
        )?;
        let text = std::fs::read_to_string(log.path())?;
        let said: Vec<_> = text.lines().filter_map(seeds).collect();
        ensure!(
            said.len() == 2,
            "{} engines in the log, and not two",
            said.len()
        );
        Ok(said.join("; "))
    },
};

/// What came of them; the name of a test may stand in front of it.
fn seeds(line: &str) -> Option<&str> {
    let end = line.find(" seeds of the host, ")?;
    let start = line[..end].rfind(' ').map_or(0, |space| space + 1);
    Some(&line[start..])
}

#[cfg(test)]
mod tests {
    use super::seeds;

    #[test]
    fn reads_what_came_of_the_seeds() {
        assert_eq!(
            seeds("test what_was_told ... 20 seeds of the host, Local: 3 hours in 1.0 s"),
            Some("20 seeds of the host, Local: 3 hours in 1.0 s")
        );
        assert_eq!(seeds("test what_was_told ... ok"), None);
    }
}
