//! Programs and hosts with durable turns that are lost again and again.

use super::{Proved, run_tests, say_figures};
use crate::{
    context::Context,
    log::Log,
    tools::{
        npm,
        postgres::{self, Postgres},
        restate,
    },
};
use anyhow::{Context as _, anyhow};
use std::thread;

/// The package, and its test in `kills`.
const STORMS: [(&str, &str); 8] = [
    ("stepwell-io", "sqlite"),
    ("stepwell-io", "postgres"),
    ("stepwell", "sqlite"),
    ("stepwell", "postgres"),
    ("stepwell", "restate"),
    ("stepwell", "restate_nodes"),
    ("stepwell", "hunted_postgres"),
    ("stepwell", "hunted_restate"),
];

pub(super) fn storms(context: &Context, log: &mut Log) -> Proved {
    let oracle = context.root.join("tests/ag-ui-oracle");
    npm::ensure(log, &oracle)?;
    let oracle = oracle.join("oracle.mjs");
    let restate = restate::program(context, log)?;
    let programs = context.integration_tests(log, "kills")?;
    let storm = |(package, test): (&str, &str)| {
        let mut log = Log::create(&context.scratch(), &format!("prove-kills-{package}-{test}"))?;
        // Each run has a server of its own: it ends all connections to that server.
        let server = Postgres::start(&mut log)?;
        let program = programs.iter().find(|program| program.package == package);
        let program = program.with_context(|| format!("{package} has no such tests"))?;
        let mut kills = program.command();
        kills
            .args(["--test-threads", "1", "--exact", test])
            .env("STEPWELL_KILLS", "200")
            .env("STEPWELL_HOST_KILLS", "200")
            .env("STEPWELL_HUNTED_SECONDS", "60")
            .env("STEPWELL_AG_UI_ORACLE", &oracle)
            .env(postgres::VARIABLE, server.url())
            .env(restate::VARIABLE, &restate);
        let killed = run_tests(&mut log, &mut kills);
        say_figures(&mut log)?;
        killed.with_context(|| format!("{test} of {package}: see {}", log.path().display()))
    };
    // Side by side: for most of the time they wait.
    thread::scope(|scope| {
        let storms = STORMS.map(|of| scope.spawn(move || storm(of)));
        let ended = storms.map(|storm| storm.join().map_err(|_| anyhow!("a storm panicked"))?);
        ended.into_iter().collect()
    })
}

pub(super) fn hosts(context: &Context, log: &mut Log) -> Proved {
    let server = Postgres::start(log)?;
    for program in context.integration_tests(log, "serve")? {
        let mut tests = program.command();
        tests
            .args(["two_hosts", "take_over", "--nocapture"])
            // One after the other: the time of a take-over is measured.
            .args(["--test-threads", "1"])
            .env("STEPWELL_CATCH_UPS", "200")
            .env("STEPWELL_TAKE_OVERS", "10")
            .env(postgres::VARIABLE, server.url());
        run_tests(log, &mut tests)?;
    }
    Ok(())
}
