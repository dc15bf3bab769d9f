use super::Suite;
use crate::context::Context;
use crate::tools::postgres::{CONTROL, Postgres, VARIABLE};
use crate::{log::Log, process};
use anyhow::ensure;

pub(super) const SUITE: Suite = Suite {
    name: "store-postgres",
    about: "the rules of a store on a PostgreSQL server; hosts on one that are killed, and one that is stopped and read-only for a while",
    run,
};

/// Whether hosts of several tests would meet on the server.
fn tests_of_hosts(filter: &str) -> bool {
    matches!(filter, "two_hosts" | "take_over")
}

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let server = Postgres::start(log)?;
    // One after the other: the last of them stops the server.
    for (tests, filter) in [
        ("store", "postgres"),
        ("kills", "postgres"),
        ("serve", "two_hosts"),
        ("serve", "take_over"),
        ("serve", "store_away"),
    ] {
        for program in context.integration_tests(log, tests)? {
            let mut tests = program.command();
            tests
                .arg(filter)
                // Hosts of one test would take over what those of another leave.
                .args(tests_of_hosts(filter).then_some("--test-threads=1"))
                .env(VARIABLE, server.url())
                .env(CONTROL, server.control());
            log.run(&mut tests)?;
        }
    }
    // The bindings bring SQLite with their store; without the network inside they have no database at all.
    for (package, features, banned) in [
        ("stepwell-core", &[][..], "sqlx"),
        ("stepwell-ffi", &["--no-default-features"][..], "sqlx"),
        ("stepwell-ffi", &[][..], "sqlx-postgres"),
    ] {
        let tree = log.read(
            process::cargo()
                .current_dir(&context.root)
                .args(["tree", "-p", package])
                .args(features)
                .args(["--edges", "normal,build", "--prefix", "none"]),
        )?;
        ensure!(
            !tree.lines().any(|line| line.starts_with(banned)),
            "{package} {} depends on {banned}",
            features.join(" ")
        );
    }
    log.say(
        "the core and the sans-IO bindings depend on no database, all the bindings on SQLite alone",
    )
}
