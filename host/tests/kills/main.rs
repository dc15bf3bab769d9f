//! Does harm to `stepwell serve` at random moments of turns with tools. Other hosts, or the one that is started again,
//! continue its turns until every turn has ended. On PostgreSQL there are three hosts; once with the engine of their
//! own, once with one server of Restate, and once with three that are a cluster. The kinds of harm are in `harm.rs`:
//! hosts are killed (SIGKILL), frozen, cut off, or replaced as a new build is rolled out, PostgreSQL ends their
//! connections, and Restate is killed. The new build is the same program, before another provider perhaps, unless
//! `STEPWELL_EARLIER_BUILD` names one of another version: hosts begin as that, are updated, and are taken back again.
//!
//! The model, the tools and the clients are in this process, and each step that they see is a moment: a chunk of an
//! answer that goes out, a call that comes in, an event that a client receives, a question that is asked and answered.
//! The seed decides at which of them harm is done, or after how many bytes that the clients have read, and before which
//! of two providers a host is started again. Each run of a tool leaves a line in a file. In the end every turn is
//! closed, and its blocks and its events are numbered without a gap and each is there once. No tool that is not
//! idempotent was run twice for one call, also of the runs at `/agent`. The user's decision on each call was carried
//! out. The runs and every other thread have a tool of the client's own: what a client brought for a call is the call's
//! result. The messages are the same, one by one, as a client folds them, as the store has them and as a thread shows
//! them. Of all writes to PostgreSQL none comes from the host before once the next one has written something of a turn.
//!
//! `STEPWELL_HOST_KILLS` sets how often each kind of harm is done (1 to 5), `STEPWELL_HUNTED_SECONDS` for how long the
//! host of one turn is killed each second (4), `STEPWELL_KILLS_SEED` when (1), `STEPWELL_POSTGRES` the address of a
//! server, and `STEPWELL_AG_UI_ORACLE` where `tests/ag-ui-oracle/oracle.mjs` is: with it the official client folds the
//! logs too. `cargo xtask prove kills` does 200 of each kind on each store.
#![allow(clippy::unwrap_used)]

mod agent;
#[allow(dead_code)] // it is another test's too
#[path = "../serve/audit.rs"]
mod audit;
mod behind;
mod client;
#[path = "../clients/mod.rs"]
mod clients;
#[path = "../../../io/tests/kills/common.rs"]
mod common;
mod decision;
mod harm;
mod host;
#[path = "../../../io/tests/store/line.rs"]
mod line;
mod model;
mod moments;
mod oracle;
#[path = "../support/program.rs"]
mod program;
#[allow(dead_code)] // it is another test's too
#[path = "../serve/restate.rs"]
mod restate;
mod said;
mod storm;
mod tools;
mod verdict;
#[path = "../simulation/wire.rs"]
mod wire;

use common::{directory, number};
use harm::Harm;
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use stepwell_io::store::{PostgresOptions, PostgresStore, SqliteStore, Store};
use storm::{Begin, Storm};

const POSTGRES: &str = "STEPWELL_POSTGRES";
const RESTATE: &str = "STEPWELL_RESTATE_SERVER";

/// Whether the program has the engine.
const HAS_RESTATE: bool = cfg!(feature = "restate");

fn main() -> ExitCode {
    let postgres = std::env::var(POSTGRES).ok();
    let without = postgres.is_none();
    let without_restate = without || !HAS_RESTATE || std::env::var_os(RESTATE).is_none();
    let trials = vec![
        Trial::test("sqlite", || {
            let file = directory("host-sqlite").join("turns.db");
            storm("sqlite", Address::Sqlite(file), 1, 0, harm::ALONE, 5)
        }),
        Trial::test("postgres", {
            let url = postgres.clone().unwrap_or_default();
            let schema = format!("host_kills_{}", std::process::id());
            move || {
                let address = Address::Postgres(url, schema);
                storm("postgres", address, 3, 0, harm::TOGETHER, 2)
            }
        })
        // Shown as ignored: there is no server.
        .with_ignored_flag(without),
        Trial::test("restate", {
            let url = postgres.clone().unwrap_or_default();
            let schema = format!("host_kills_restate_{}", std::process::id());
            move || {
                let address = Address::Postgres(url, schema);
                storm("restate", address, 3, 1, harm::BEHIND_RESTATE, 1)
            }
        })
        .with_ignored_flag(without_restate),
        Trial::test("restate_nodes", {
            let url = postgres.clone().unwrap_or_default();
            let schema = format!("host_kills_nodes_{}", std::process::id());
            move || {
                let address = Address::Postgres(url, schema);
                storm("restate_nodes", address, 3, 3, harm::BEHIND_NODES, 1)
            }
        })
        .with_ignored_flag(without_restate),
        Trial::test("hunted_postgres", {
            let url = postgres.clone().unwrap_or_default();
            let schema = format!("host_hunted_{}", std::process::id());
            move || hunt("hunted", Address::Postgres(url, schema), 0)
        })
        .with_ignored_flag(without),
        Trial::test("hunted_restate", {
            let url = postgres.unwrap_or_default();
            let schema = format!("host_hunted_restate_{}", std::process::id());
            move || hunt("hunted_restate", Address::Postgres(url, schema), 1)
        })
        .with_ignored_flag(without_restate),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The address of the sessions.
enum Address {
    Sqlite(PathBuf),
    /// A server and a schema of the test's own.
    Postgres(String, String),
}

impl Address {
    /// Opens the store for the judge, when no host has it any more.
    async fn open(&self) -> Arc<dyn Store> {
        match self {
            Self::Sqlite(file) => Arc::new(SqliteStore::open(file).await.unwrap()),
            Self::Postgres(url, schema) => {
                let mut options = PostgresOptions::default();
                options.schema = Some(schema.clone());
                let store = PostgresStore::connect_with(url, options).await;
                Arc::new(store.unwrap())
            }
        }
    }
}

/// Does one harm after another, each kind equally often: `times` times, unless the variable sets another number.
fn storm(
    name: &str,
    address: Address,
    places: usize,
    nodes: usize,
    kinds: &[Harm],
    times: u64,
) -> Result<(), Failed> {
    let _one = one_at_a_time();
    let runtime = tokio::runtime::Runtime::new()?;
    let seed = number("STEPWELL_KILLS_SEED", 1);
    let times = number("STEPWELL_HOST_KILLS", times);
    let verdict = runtime.block_on(async {
        let mut storm = Storm::begin(Begin {
            name,
            address,
            places,
            nodes,
            seed,
            sessions: 3,
            turns_end: true,
        })
        .await;
        for harm in harm::shuffled(kinds, times, &storm.chance) {
            storm.does(harm).await;
        }
        storm.end().await
    });
    let kinds: Vec<_> = kinds.iter().map(ToString::to_string).collect();
    let harms = kinds.len() as u64 * times;
    let kinds = kinds.join(", ");
    println!("{harms} harms (seed {seed}): {times} times each {kinds}: {verdict}");
    Ok(())
}

/// Kills the host of one turn again and again, and then lets it end.
fn hunt(name: &str, address: Address, nodes: usize) -> Result<(), Failed> {
    let _one = one_at_a_time();
    let runtime = tokio::runtime::Runtime::new()?;
    let seed = number("STEPWELL_KILLS_SEED", 1);
    let seconds = number("STEPWELL_HUNTED_SECONDS", 4);
    let (killed, verdict) = runtime.block_on(async {
        let begin = Begin {
            name,
            address,
            places: 3,
            nodes,
            seed,
            sessions: 1,
            turns_end: false,
        };
        let mut storm = Storm::begin(begin).await;
        let killed = storm.hunts(Duration::from_secs(seconds)).await;
        (killed, storm.end().await)
    });
    println!(
        "{killed} harms (seed {seed}): the host of a turn killed {killed} times in {seconds} s: {verdict}"
    );
    Ok(())
}

/// Storms on one server would end each other's connections.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static STORM: Mutex<()> = Mutex::new(());
    let _ = rustls::crypto::ring::default_provider().install_default();
    STORM.lock().unwrap_or_else(PoisonError::into_inner)
}
