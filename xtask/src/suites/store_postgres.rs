use super::Suite;
use crate::context::Context;
use crate::tools::postgres::{Postgres, VARIABLE};
use crate::{log::Log, process};
use anyhow::ensure;

pub(super) const SUITE: Suite = Suite {
    name: "store-postgres",
    about: "the rules of a store on a PostgreSQL server, and a program that is killed in the midst of turns",
    run,
};

fn run(context: &Context, log: &mut Log) -> anyhow::Result<()> {
    let server = Postgres::start(log)?;
    log.run(
        process::cargo()
            .args(["test", "-p", "stepwell-io", "--features", "postgres"])
            .args(["--test", "store", "--test", "kills", "--", "postgres"])
            .env(VARIABLE, server.url())
            .current_dir(&context.root),
    )?;
    let tree = log.read(
        process::cargo()
            .current_dir(&context.root)
            .args(["tree", "-p", "stepwell-core", "-p", "stepwell-ffi"])
            .args(["--edges", "normal,build", "--prefix", "none"]),
    )?;
    ensure!(
        !tree.lines().any(|line| line.starts_with("sqlx")),
        "the core or the bindings depend on a database"
    );
    log.say("neither the core nor the bindings depend on a database")
}
