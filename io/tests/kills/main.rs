//! A program with durable turns is killed (SIGKILL) at random moments and started again, until every turn has ended.
//!
//! The program is this one, started again with `STEPWELL_KILLS_STORE`. Each run of a tool leaves a line in a file. In
//! the end every turn is closed, its blocks are numbered without a gap and each is there once, and no tool that is not
//! idempotent was run twice for one call. `STEPWELL_KILLS` sets the number of kills (10), `STEPWELL_KILLS_SEED` their
//! moments (1), and `STEPWELL_POSTGRES` the address of a server. `cargo xtask prove kills` does 200 on each store.
#![allow(clippy::unwrap_used)]

mod child;
mod common;
mod provider;
mod verdict;

use common::{directory, number};
use libtest_mimic::{Arguments, Failed, Trial};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;
use stepwell_io::store::Store;

/// The variable with the store of the program under test: `sqlite:FILE`, or `postgres:SCHEMA`.
const STORE: &str = "STEPWELL_KILLS_STORE";
const PROVIDER: &str = "STEPWELL_KILLS_PROVIDER";
/// The file with a line for each run of a tool.
const EFFECTS: &str = "STEPWELL_KILLS_EFFECTS";
/// The variable that stops new turns: the program brings the existing ones to their end.
const FINISH: &str = "STEPWELL_KILLS_FINISH";
const POSTGRES: &str = "STEPWELL_POSTGRES";

fn main() -> ExitCode {
    if let Ok(store) = std::env::var(STORE) {
        child::run(&store);
        return ExitCode::SUCCESS;
    }
    let mut trials = Vec::new();
    if cfg!(feature = "sqlite") {
        trials.push(Trial::test("sqlite", || {
            let file = directory("sqlite").join("turns.db");
            storm(&format!("sqlite:{}", file.display()))
        }));
    }
    if cfg!(feature = "postgres") {
        let without = std::env::var(POSTGRES).is_err();
        let trial = Trial::test("postgres", || {
            storm(&format!("postgres:kills_{}", std::process::id()))
        });
        // Shown as ignored: there is no server.
        trials.push(trial.with_ignored_flag(without));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Opens the store that a text names, as the program and its judge both do.
async fn open(store: &str) -> Arc<dyn Store> {
    match store.split_once(':').unwrap() {
        #[cfg(feature = "sqlite")]
        ("sqlite", file) => Arc::new(stepwell_io::store::SqliteStore::open(file).await.unwrap()),
        #[cfg(feature = "postgres")]
        ("postgres", schema) => {
            let url = std::env::var(POSTGRES).unwrap();
            let mut options = stepwell_io::store::PostgresOptions::default();
            options.schema = Some(schema.to_owned());
            let store = stepwell_io::store::PostgresStore::connect_with(&url, options);
            Arc::new(store.await.unwrap())
        }
        (other, _) => panic!("no store is called {other}"),
    }
}

fn start(store: &str, provider: &str, effects: &Path, finish: bool) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .env(STORE, store)
        .env(PROVIDER, provider)
        .env(EFFECTS, effects)
        .stdout(Stdio::piped());
    if finish {
        command.env(FINISH, "1");
    }
    command.spawn().unwrap()
}

/// The next of a series of numbers that looks random (SplitMix64).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn storm(store: &str) -> Result<(), Failed> {
    let runtime = tokio::runtime::Runtime::new()?;
    let provider = runtime.block_on(provider::start());
    let effects = directory("effects").join("runs");
    std::fs::write(&effects, "")?;
    let (kills, seed) = (
        number("STEPWELL_KILLS", 10),
        number("STEPWELL_KILLS_SEED", 1),
    );
    let mut state = seed;
    for _ in 0..kills {
        let mut child = start(store, &provider, &effects, false);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // The program has recovered its turns, and they are under way.
        let ready = lines.next();
        std::thread::sleep(Duration::from_micros(random(&mut state) % 250_000));
        let killed = child.kill();
        child.wait()?;
        killed?;
        let ready = ready.transpose()?;
        assert_eq!(
            ready.as_deref(),
            Some("ready"),
            "the program stopped by itself"
        );
    }
    let ended = start(store, &provider, &effects, true).wait()?;
    assert!(ended.success(), "the last turns did not end: {ended}");
    let verdict = runtime.block_on(async { verdict::of(&*open(store).await, &effects).await });
    println!("{kills} kills (seed {seed}): {verdict}");
    Ok(())
}
