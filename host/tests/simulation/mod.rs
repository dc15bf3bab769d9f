//! A simulation of the host: all of it in one process and one thread, under a clock that is paused while there is work
//! to do. One to three hosts share a store; scripted models of two providers answer them chunk by chunk; clients post
//! turns, follow them, go away and resume on another device or another host, approve, deny, edit, stop, acknowledge,
//! bring the results of a tool of their own, and use `/agent` with it, where they may read slowly. Meanwhile hosts are
//! killed at any call of the store, chunk of an answer, step of a tool or event that a client receives, are stopped and
//! started again, with another provider, other tools or other limits; the store is slow, away, full, read-only, does
//! what it reports as failed, or never answers.
//!
//! Requests go to the router as a socket's would, and the checks use what clients can see, the store, and which tools
//! began: no type of the host's own but what a program opens it with. Then the clock continues without faults, and
//! users answer the questions, stop the turn, or stay away. Each seed must keep the rules of
//! [`clients::findings::Rule`]: each command was answered; each turn has ended; no tool that is not idempotent began
//! twice; what a client received, message by message, with results and how calls ended, is what the log folds to, what
//! each client has put together, and what the thread shows.
//!
//! The hosts have the engine of their own, or one that behaves as Restate does (`restate.rs`): the code that drives
//! turns for Restate is the host's own, and Restate itself is simulated.
//!
//! All choices come from the seed. `STEPWELL_SEED=123 cargo test -p stepwell simulation -- --nocapture` plays one seed
//! and prints its trace; `STEPWELL_SEEDS` sets how many a run takes (125, after those that failed once), and
//! `STEPWELL_FIRST_SEED` where it begins. `cargo xtask prove simulation` takes 100,000.
//!
//! The simulation does not cover stores other than the one in memory (`tests/kills` has those), threads that run at the
//! same moment, and connections that break elsewhere than at a kill.
//!
//! The clock of the machine is real, so a deadline that a snapshot keeps may move by milliseconds, and a seed that
//! meets one does not repeat to the letter.

mod agent;
mod checks;
mod client;
#[path = "../clients/mod.rs"]
mod clients;
mod fates;
mod http;
mod life;
mod model;
#[cfg(feature = "restate")]
mod restate;
#[cfg(feature = "restate")]
mod restate_ingress;
mod results;
mod seeds;
mod store;
mod tools;
mod trace;
mod wire;
mod world;

use agent::Agent;
use client::Client;
use clients::chance::Chance;
use clients::findings::Finding;
use fates::Fates;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use wire::Provider;
use world::{Config, Which, World};

#[cfg(feature = "restate")]
pub(crate) use restate_ingress::Maker;

/// The result of a seed.
struct Played {
    findings: Vec<Finding>,
    trace: String,
    seconds: u64,
}

/// Lets one seed happen.
fn play(engine: Which, seed: u64) -> Played {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    let played = runtime.block_on(happen(engine, seed));
    drop(runtime);
    played
}

async fn happen(engine: Which, seed: u64) -> Played {
    let chance = Chance::of(seed, "the seed");
    let hosts = 1 + chance.below(3).saturating_sub(chance.below(2));
    let config = Config {
        provider: *chance.of_slice(&[Provider::Chat, Provider::Messages]),
        without: None,
        rounds: 10,
    };
    let fates = Fates {
        kills: !chance.one_in(4),
        stops: chance.one_in(3),
        weather: chance.one_in(2),
        other_provider: chance.one_in(4),
        other_setup: chance.one_in(4),
    };
    let world = World::new(seed, hosts, config, engine);
    world
        .trace
        .note(format!("seed {seed}: {hosts} hosts, {engine:?}, {fates:?}"));
    let calm = CancellationToken::new();
    let mut fated = Vec::new();
    for place in 0..world.places.len() {
        let chance = Chance::of(seed, &format!("the fate of host {place}"));
        let fate = fates::host(Arc::clone(&world), place, fates, chance, calm.clone());
        fated.push(tokio::spawn(fate));
    }
    if fates.weather {
        let chance = Chance::of(seed, "the weather");
        let weather = fates::weather(Arc::clone(&world), chance, calm.clone());
        fated.push(tokio::spawn(weather));
    }
    #[cfg(feature = "restate")]
    if let Some(restate) = world.restate.clone().filter(|_| fates.weather) {
        let chance = Chance::of(seed, "when Restate is away");
        fated.push(tokio::spawn(restate.weather(chance, calm.clone())));
    }
    let threads: Vec<_> = (0..=chance.below(2))
        .map(|number| format!("t{number}-"))
        .collect();
    let turns = usize::try_from(1 + chance.below(4)).unwrap_or(1);
    let clients = 1 + chance.below(3);
    let lives = (0..clients).map(|number| {
        let mut client = Client::new(format!("client{number}"), &world, threads.clone());
        let steps = 3 + chance.below(8);
        tokio::spawn(async move {
            client.live(steps, turns).await;
            client
        })
    });
    let lives: Vec<_> = lives.collect();
    let mut agent = chance.one_in(3).then(|| Agent::new(&world));
    let questions = 1 + chance.below(3);
    let agent = tokio::spawn(async move {
        if let Some(agent) = &mut agent {
            agent.live(questions).await;
        }
    });
    let mut clients = Vec::new();
    for life in lives {
        match life.await {
            Ok(client) => clients.push(client),
            Err(broken) => panic!("seed {seed}: {broken}"),
        }
    }
    if let Err(broken) = agent.await {
        panic!("seed {seed}: {broken}");
    }
    world.calm();
    calm.cancel();
    for fate in fated {
        if let Err(broken) = fate.await {
            panic!("seed {seed}: {broken}");
        }
    }
    checks::judge(&world, &mut clients).await;
    let played = Played {
        findings: world.findings(),
        trace: world.trace.text(),
        seconds: world.trace.now() / 1000,
    };
    world.end();
    played
}
