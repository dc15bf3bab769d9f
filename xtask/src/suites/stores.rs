//! Stores and engines on servers of their own.

use super::Suite;
use crate::tools::{
    postgres::{self, Postgres},
    restate,
};

pub(super) const POSTGRES: Suite = Suite {
    name: "store-postgres",
    about: "the rules of a store on a PostgreSQL server; hosts on one that are killed, and one that is stopped and read-only for a while",
    run: |context, log| {
        let server = Postgres::start(log)?;
        // One after the other: the last of them stops the server. Hosts of one test would take over the turns of
        // another.
        for (tests, filter) in [
            ("store", &["postgres"][..]),
            ("kills", &["postgres"]),
            ("serve", &["two_hosts", "take_over", "--test-threads=1"]),
            ("serve", &["store_away"]),
        ] {
            context.test(log, tests, filter, |tests| {
                tests
                    .env(postgres::VARIABLE, server.url())
                    .env(postgres::CONTROL, server.control());
            })?;
        }
        Ok(())
    },
};

pub(super) const RESTATE: Suite = Suite {
    name: "restate",
    about: "what every engine holds to, with `local` and with Restate's server: hosts on one PostgreSQL that are killed, replaced, frozen and cut off, each write of theirs, and Restate that is killed",
    run: |context, log| {
        let program = restate::program(context, log)?;
        let server = Postgres::start(log)?;
        for (tests, filter) in [("serve", "engines"), ("kills", "restate")] {
            // Hosts of one test would take over the turns of another.
            context.test(log, tests, &[filter, "--test-threads=1"], |tests| {
                tests
                    .env(postgres::VARIABLE, server.url())
                    .env(restate::VARIABLE, &program);
            })?;
        }
        Ok(())
    },
};
