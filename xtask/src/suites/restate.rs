//! The engine of many hosts.

use super::Suite;
use crate::context::Context;
use crate::log::Log;
use crate::tools::postgres::{Postgres, VARIABLE};
use crate::tools::restate;

pub(super) const SUITE: Suite = Suite {
    name: "restate",
    about: "what every engine holds to, with `local` and with Restate's server: hosts on one PostgreSQL that are killed, replaced, frozen and cut off, each write of theirs, and Restate that is killed",
    run,
};

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let program = restate::program(context, log)?;
    let server = Postgres::start(log)?;
    for tests in context.integration_tests(log, "serve")? {
        let mut tests = tests.command();
        tests
            .args(["engines", "--nocapture"])
            // Hosts of one test would take over what those of another leave.
            .args(["--test-threads", "1"])
            .env(VARIABLE, server.url())
            .env(restate::VARIABLE, &program);
        log.run(&mut tests)?;
    }
    for kills in context.integration_tests(log, "kills")? {
        let mut kills = kills.command();
        kills
            .arg("restate")
            .args(["--test-threads", "1"])
            .env(VARIABLE, server.url())
            .env(restate::VARIABLE, &program);
        log.run(&mut kills)?;
    }
    let text = std::fs::read_to_string(log.path())?;
    let said = |line: &&str| {
        ["take-over, ", "zombie: ", " harms (seed "]
            .iter()
            .any(|words| line.contains(words))
    };
    for line in text.lines().filter(said) {
        log.say(line)?;
    }
    Ok(())
}
