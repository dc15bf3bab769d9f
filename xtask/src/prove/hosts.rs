use super::Step;
use crate::tools::postgres::{Postgres, VARIABLE};
use anyhow::Context as _;

/// Turns that begin on one host and are followed on the other.
const CATCH_UPS: u32 = 200;

pub(super) const STEP: Step = Step {
    name: "hosts",
    about: "two hosts on one PostgreSQL: 200 turns that begin on one and are followed on the other from anywhere on",
    run: |context, log, _| {
        let server = Postgres::start(log)?;
        for program in context.integration_tests(log, "serve")? {
            let mut tests = program.command();
            tests
                .args(["two_hosts", "--nocapture"])
                .env("STEPWELL_CATCH_UPS", CATCH_UPS.to_string())
                .env(VARIABLE, server.url());
            log.run_unbounded(&mut tests)?;
        }
        let text = std::fs::read_to_string(log.path())?;
        let said = text.lines().find_map(catch_ups);
        Ok(said.context("no catch-ups in the log")?.to_owned())
    },
};

/// What came of them; the name of a test may stand in front of it.
fn catch_ups(line: &str) -> Option<&str> {
    let end = line.find(" catch-ups: ")?;
    let start = line[..end].rfind(' ').map_or(0, |space| space + 1);
    Some(&line[start..])
}

#[cfg(test)]
mod tests {
    use super::catch_ups;

    #[test]
    fn reads_what_came_of_the_catch_ups() {
        let line = "test two_hosts::x ... 200 catch-ups: 4000 events, each once";
        assert_eq!(
            catch_ups(line),
            Some("200 catch-ups: 4000 events, each once")
        );
        assert_eq!(catch_ups("test two_hosts::x ... ok"), None);
    }
}
