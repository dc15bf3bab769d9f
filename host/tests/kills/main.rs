//! `stepwell serve` is killed (SIGKILL) at random moments of turns with tools, and others go on with its turns, or the one
//! that is started again, until every turn has ended. On PostgreSQL there are two hosts; once with the engine of their own,
//! and once with Restate, whose server is killed too.
//!
//! The model, the tools and the clients are in this process, and each step that they see is a moment: a piece of an
//! answer that goes out, a call that comes in, an event that a client is told, a question that is asked and answered. The
//! seed says at which of them a host is killed, or after how many bytes that the clients have read, and before which of
//! two providers it is started again. Each run of a tool leaves a line in a file. In the end every turn is closed, its
//! blocks and its events are numbered without a gap and each is there once, no tool that is not idempotent was run twice
//! for one call, also of the runs at `/agent`, what the user said to a call was done, what a client brought of a tool of
//! its own, as those of the runs and of every other thread have one, is what the call gave, and the messages are the same,
//! one by one, as a client folds them, as the store has them and as a thread shows them.
//!
//! `STEPWELL_HOST_KILLS` says how many kills (10), `STEPWELL_KILLS_SEED` which (1), `STEPWELL_POSTGRES` the address of a
//! server, and `STEPWELL_AG_UI_ORACLE` where `tests/ag-ui-oracle/oracle.mjs` is: with it the official client folds the
//! logs too. `cargo xtask prove kills` does 200 on each store.
#![allow(clippy::unwrap_used)]

mod agent;
mod client;
mod decision;
mod host;
mod messages;
mod model;
mod moments;
mod oracle;
#[allow(dead_code)] // it is another test's too
#[path = "../serve/restate.rs"]
mod restate;
mod tools;
mod verdict;
#[path = "../../src/serve/simulation/wire.rs"]
mod wire;

use client::Clients;
use host::{Host, Hosts, Setup};
use libtest_mimic::{Arguments, Failed, Trial};
use moments::{Moments, Plan, Random};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use stepwell_io::store::{PostgresOptions, PostgresStore, SqliteStore, Store};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use wire::Provider;

const POSTGRES: &str = "STEPWELL_POSTGRES";
const RESTATE: &str = "STEPWELL_RESTATE_SERVER";

/// Whether the program has the engine.
const HAS_RESTATE: bool = cfg!(feature = "restate");

fn main() -> ExitCode {
    let postgres = std::env::var(POSTGRES).ok();
    let without = postgres.is_none();
    let trials = vec![
        Trial::test("sqlite", || {
            let file = directory("sqlite").join("turns.db");
            storm("sqlite", &Address::Sqlite(file), 1, false)
        }),
        Trial::test("postgres", {
            let url = postgres.clone().unwrap_or_default();
            let schema = format!("host_kills_{}", std::process::id());
            move || storm("postgres", &Address::Postgres(url, schema), 2, false)
        })
        // Shown as ignored: there is no server.
        .with_ignored_flag(without),
        Trial::test("restate", {
            let url = postgres.unwrap_or_default();
            let schema = format!("host_kills_restate_{}", std::process::id());
            move || storm("restate", &Address::Postgres(url, schema), 2, true)
        })
        .with_ignored_flag(without || !HAS_RESTATE || std::env::var_os(RESTATE).is_none()),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A new folder for a test.
fn directory(name: &str) -> PathBuf {
    let name = format!("host-kills-{name}-{}", std::process::id());
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

fn number(variable: &str, default: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.map_or(default, |text| text.parse().expect("a number"))
}

/// Where the sessions are.
enum Address {
    Sqlite(PathBuf),
    /// A server and a schema of the test's own.
    Postgres(String, String),
}

impl Address {
    /// As the host is given it.
    fn setting(&self) -> String {
        match self {
            Self::Sqlite(file) => format!("sqlite:{}", file.display()),
            Self::Postgres(url, schema) => {
                let sign = if url.contains('?') { '&' } else { '?' };
                format!("{url}{sign}options[search_path]={schema}")
            }
        }
    }

    /// As the judge opens it, when no host has it any more; the first time, a schema is made.
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

/// Restate, and the flags of the hosts at their places.
#[cfg(feature = "restate")]
async fn start_restate(places: usize) -> (restate::Restate, Vec<Vec<String>>) {
    let server = restate::Restate::start("kills").await.unwrap();
    let ports: Vec<_> = (0..places).map(|_| restate::free_port()).collect();
    let switch = restate::Switch::to(&ports).await;
    let flags = ports.iter().map(|port| {
        let listen = format!("127.0.0.1:{port}");
        let flags = [
            ["--engine", "restate"],
            ["--restate", &server.ingress],
            ["--restate-admin", &server.admin],
            ["--restate-listen", &listen],
            ["--restate-url", &switch.url],
        ];
        flags.concat().into_iter().map(str::to_owned).collect()
    });
    let flags = flags.collect();
    (server, flags)
}

/// Without the engine there is nothing to start.
#[cfg(not(feature = "restate"))]
mod without_restate {
    pub(crate) struct Restate;

    impl Restate {
        pub(crate) async fn kill_and_start(&mut self) {}
    }
}

#[cfg(not(feature = "restate"))]
async fn start_restate(places: usize) -> (without_restate::Restate, Vec<Vec<String>>) {
    (without_restate::Restate, vec![Vec::new(); places])
}

fn storm(name: &str, address: &Address, places: usize, with_restate: bool) -> Result<(), Failed> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Runtime::new()?;
    let kills = number("STEPWELL_HOST_KILLS", 10);
    let seed = number("STEPWELL_KILLS_SEED", 1);
    let verdict = runtime.block_on(async {
        drop(address.open().await);
        let random = Random::new(seed);
        let moments = Moments::default();
        let effects = directory(&format!("{name}-effects")).join("runs");
        std::fs::write(&effects, "").unwrap();
        let (mut restate, flags) = match with_restate {
            true => {
                let (restate, flags) = start_restate(places).await;
                (Some(restate), flags)
            }
            false => (None, vec![Vec::new(); places]),
        };
        let setup = Setup {
            store: address.setting(),
            model: model::start(moments.clone()).await,
            tools: tools::start(moments.clone(), effects.clone()).await,
            flags,
        };
        let mut provider = Provider::Chat;
        let mut first = Vec::new();
        for place in 0..places {
            first.push(Host::start(&setup, place, provider).await);
        }
        let hosts = Hosts::new(first);
        let clients = Clients::new(hosts.clone(), moments.clone(), Random::new(!seed));
        let mut living = tokio::spawn({
            let clients = clients.clone();
            async move { clients.live().await }
        });
        for kill in 1..=kills {
            if let Some(restate) = restate.as_mut().filter(|_| kill.is_multiple_of(4)) {
                restate.kill_and_start().await;
            }
            let place = usize::try_from(random.below(places as u64)).unwrap();
            let host = hosts.at(place);
            let (killed, loses) = (host.clone(), clients.clone());
            let is_killed = moments.at(random.plan(), move || {
                loses.lose_a_host();
                killed.kill();
            });
            done(is_killed, &mut living).await;
            host.wait();
            if places > 1 && random.below(3) > 0 {
                // Another goes on with its turns.
                let goes_on = moments.at(Plan::Steps(random.below(60)), || {});
                done(goes_on, &mut living).await;
            }
            if random.below(2) == 0 {
                provider = provider.other();
            }
            hosts.put(place, Host::start(&setup, place, provider).await);
        }
        clients.begin_no_more();
        living.await.unwrap();
        let views = clients.views(&hosts.at(0)).await;
        for host in hosts.up() {
            host.kill();
            host.wait();
        }
        let store = address.open().await;
        verdict::of(&*store, &clients, &views, &effects).await
    });
    println!("{kills} kills (seed {seed}): {verdict}");
    Ok(())
}

/// Waits until it is done. The clients do not leave before.
async fn done(done: oneshot::Receiver<()>, living: &mut JoinHandle<()>) {
    tokio::select! {
        done = done => done.unwrap(),
        left = living => panic!("the clients left: {left:?}"),
    }
}
