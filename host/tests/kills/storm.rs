//! Hosts on one store with clients at them, while one harm after the other is done.

use crate::Address;
use crate::audit::{self, Audit};
use crate::behind::Behind;
use crate::client::Clients;
use crate::clients::chance::Chance;
use crate::common::directory;
use crate::harm::Harm;
use crate::host::{Host, Hosts, Setup};
use crate::line::Line;
use crate::moments::{Moments, Plan};
use crate::wire::Provider;
use crate::{model, tools, verdict};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub(crate) struct Storm {
    setup: Setup,
    /// Another build of the program, to be updated to and from.
    other_build: Option<PathBuf>,
    provider: Provider,
    pub(crate) hosts: Hosts,
    moments: Moments,
    pub(crate) chance: Chance,
    pub(crate) clients: Clients,
    living: JoinHandle<()>,
    address: Address,
    audit: Option<Audit>,
    /// The way of each place to PostgreSQL.
    pub(crate) lines: Vec<Arc<Line>>,
    restate: Option<Behind>,
    effects: PathBuf,
    /// Whether the model ends its answers.
    answers_end: watch::Sender<bool>,
}

/// The settings of a storm.
pub(crate) struct Begin<'a> {
    pub(crate) name: &'a str,
    pub(crate) address: Address,
    /// The number of hosts.
    pub(crate) places: usize,
    /// The number of Restate's servers.
    pub(crate) nodes: usize,
    pub(crate) seed: u64,
    /// The number of clients that have turns of sessions.
    pub(crate) sessions: usize,
    /// Whether turns end while harm is done, or only afterwards.
    pub(crate) turns_end: bool,
}

impl Storm {
    pub(crate) async fn begin(begin: Begin<'_>) -> Self {
        let Begin {
            name,
            address,
            places,
            nodes,
            seed,
            sessions,
            turns_end,
        } = begin;
        let (audit, lines) = match &address {
            Address::Sqlite(_) => (None, Vec::new()),
            Address::Postgres(url, schema) => {
                let line = |place| Arc::new(Line::to(url, &format!("{schema}-{place}")));
                let lines = (0..places).map(line).collect();
                (Some(Audit::start(url, schema).await), lines)
            }
        };
        let restate = match nodes {
            0 => None,
            nodes => Some(Behind::start(name, places, nodes).await),
        };
        let flags = |place| restate.as_ref().map(|restate| restate.flags(place));
        let flags = (0..places).map(|place| flags(place).unwrap_or_default());
        let flags = flags.collect();
        let chance = Chance::of(seed, "the storm");
        let moments = Moments::default();
        let effects = directory(&format!("host-{name}-effects")).join("runs");
        std::fs::write(&effects, "").unwrap();
        let (answers_end, ends) = watch::channel(turns_end);
        let (program, other_build) = builds();
        let setup = Setup {
            program,
            model: model::start(moments.clone(), ends).await,
            tools: tools::start(moments.clone(), effects.clone()).await,
            log: effects.with_file_name("hosts.log"),
            flags,
        };
        let hosts = Hosts::default();
        let clients = Clients::new(
            hosts.clone(),
            moments.clone(),
            Chance::of(seed, "the clients"),
            setup.log.clone(),
        );
        let living = clients.clone();
        let storm = Self {
            setup,
            other_build,
            provider: Provider::Chat,
            hosts,
            moments,
            chance,
            clients,
            living: tokio::spawn(async move { living.live(sessions).await }),
            address,
            audit,
            lines,
            restate,
            effects,
            answers_end,
        };
        for place in 0..places {
            let host = storm.host(place).await;
            storm.hosts.push(host);
        }
        storm
    }

    /// Returns the number of hosts.
    pub(crate) fn places(&self) -> usize {
        self.setup.flags.len()
    }

    pub(crate) fn audit(&self) -> &Audit {
        self.audit.as_ref().expect("it is on PostgreSQL")
    }

    pub(crate) fn restate(&mut self) -> &mut Behind {
        self.restate.as_mut().expect("it is behind Restate")
    }

    async fn host(&self, place: usize) -> Host {
        let name = self.hosts.name(place);
        let store = match &self.address {
            Address::Sqlite(file) => format!("sqlite:{}", file.display()),
            Address::Postgres(..) => self.audit().store_at(&self.lines[place].url, &name),
        };
        Host::start(&self.setup, place, &name, &store, self.provider).await
    }

    /// Starts the place's next host, before the same provider or the other.
    pub(crate) async fn starts(&mut self, place: usize) {
        if self.chance.one_in(2) {
            self.provider = self.provider.other();
        }
        let host = self.host(place).await;
        self.hosts.put(place, host);
    }

    /// From here on hosts are started as the other build, if there is one.
    pub(crate) fn updates(&mut self) {
        if let Some(other) = &mut self.other_build {
            std::mem::swap(&mut self.setup.program, other);
        }
    }

    /// Does harm at this moment.
    pub(crate) async fn at(
        &mut self,
        plan: Plan,
        harm: Harm,
        does: impl FnOnce() + Send + 'static,
    ) {
        let clients = self.clients.clone();
        self.when(plan, move || {
            clients.is_harmed(harm);
            does();
        })
        .await;
    }

    /// Waits for this number of steps of the turns.
    pub(crate) async fn passes(&mut self, steps: u64) {
        self.when(Plan::Steps(steps), || {}).await;
    }

    /// Waits for the moment. The clients must not leave before.
    async fn when(&mut self, plan: Plan, then: impl FnOnce() + Send + 'static) {
        let done = self.moments.at(plan, then);
        tokio::select! {
            done = done => done.unwrap(),
            left = &mut self.living => panic!("the clients left: {left:?}"),
        }
    }

    /// Lets all turns come to their ends, and judges them.
    pub(crate) async fn end(self) -> String {
        self.clients.begin_no_more();
        self.answers_end.send_replace(true);
        self.living.await.unwrap();
        let views = self.clients.views(&self.hosts.at(0)).await;
        for host in self.hosts.up() {
            host.kill();
            host.wait_until_killed();
        }
        let store = self.address.open().await;
        let (clients, log) = (&self.clients, &self.setup.log);
        let verdict = verdict::of(&*store, clients, &views, &self.effects, log).await;
        let Some(audit) = &self.audit else {
            return verdict;
        };
        let judged = audit::judge(&audit.writes().await);
        let judged = judged.unwrap_or_else(|said| panic!("{said}"));
        format!("{verdict}; {judged}")
    }
}

/// Returns the build that hosts begin with, and the one that they are updated to.
fn builds() -> (PathBuf, Option<PathBuf>) {
    let this = PathBuf::from(env!("CARGO_BIN_EXE_stepwell"));
    match std::env::var_os("STEPWELL_EARLIER_BUILD") {
        Some(earlier) => (earlier.into(), Some(this)),
        None => (this, None),
    }
}
