//! `stepwell serve` is killed (SIGKILL) at random moments of turns with tools and started again, until every turn has
//! ended.
//!
//! The model, the tools and the clients are in this process, and each step that they see is a moment: a piece of an
//! answer that goes out, a call that comes in, an event that a client is told. The seed says at which of them the host is
//! killed, or after how many bytes that the clients have read. Each run of a tool leaves a line in a file. In the end every
//! turn is closed, its blocks and its events are numbered without a gap and each is there once, what a client was told
//! stands, and no tool that is not idempotent was run twice for one call.
//!
//! `STEPWELL_HOST_KILLS` says how many kills (10), `STEPWELL_KILLS_SEED` which (1), and `STEPWELL_POSTGRES` the address
//! of a server. `cargo xtask prove kills` does 200 on each store.
#![allow(clippy::unwrap_used)]

mod client;
mod host;
mod model;
mod moments;
mod tools;
mod verdict;

use client::Clients;
use host::Host;
use libtest_mimic::{Arguments, Failed, Trial};
use moments::{Moments, Random};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use stepwell_io::store::{PostgresOptions, PostgresStore, SqliteStore, Store};

const POSTGRES: &str = "STEPWELL_POSTGRES";

fn main() -> ExitCode {
    let postgres = std::env::var(POSTGRES).ok();
    let without = postgres.is_none();
    let trials = vec![
        Trial::test("sqlite", || {
            let file = directory("sqlite").join("turns.db");
            storm(&Address::Sqlite(file))
        }),
        Trial::test("postgres", move || {
            let url = postgres.unwrap_or_default();
            let schema = format!("host_kills_{}", std::process::id());
            storm(&Address::Postgres(url, schema))
        })
        // Shown as ignored: there is no server.
        .with_ignored_flag(without),
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

fn storm(address: &Address) -> Result<(), Failed> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Runtime::new()?;
    let kills = number("STEPWELL_HOST_KILLS", 10);
    let seed = number("STEPWELL_KILLS_SEED", 1);
    let verdict = runtime.block_on(async {
        drop(address.open().await);
        let random = Random::new(seed);
        let moments = Moments::default();
        let effects = directory(&format!("effects-{seed}")).join("runs");
        std::fs::write(&effects, "").unwrap();
        let model = model::start(moments.clone()).await;
        let tools = tools::start(moments.clone(), effects.clone()).await;
        let clients = Clients::new(moments.clone(), random.clone());
        for _ in 0..kills {
            let host = Host::start(&address.setting(), &model, &tools).await;
            moments.kill_at(random.plan(), host.clone());
            clients.live(&host).await;
            host.wait();
        }
        moments.kill_no_more();
        let host = Host::start(&address.setting(), &model, &tools).await;
        clients.finish(&host).await;
        host.kill();
        host.wait();
        verdict::of(&*address.open().await, &clients.told(), &effects).await
    });
    println!("{kills} kills (seed {seed}): {verdict}");
    Ok(())
}
