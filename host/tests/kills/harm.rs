//! Harm to the hosts, and to the servers that they use.

use crate::clients::chance::Chance;
use crate::host::Host;
use crate::line::State;
use crate::moments::Plan;
use crate::storm::Storm;
use std::fmt;
use std::time::{Duration, Instant};
use tokio::time::MissedTickBehavior;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Harm {
    /// A host is killed, and another is started in its place.
    Kill,
    /// A rollout of a new build: each host is asked to stop, and the next one stops when another has replaced it.
    Replace,
    /// A host is frozen for a while.
    Freeze,
    /// PostgreSQL ends connections: those of a host, or of all hosts.
    Disconnect,
    /// Nothing goes from a host to PostgreSQL for a while, with an error or in silence.
    CutOffFromStore,
    /// Nothing goes between a host and Restate for a while, in silence.
    CutOffFromRestate,
    /// Restate is killed, and started again.
    KillRestate,
}

impl fmt::Display for Harm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kill => "a host killed",
            Self::Replace => "all hosts replaced in turn",
            Self::Freeze => "a host frozen",
            Self::Disconnect => "connections ended by PostgreSQL",
            Self::CutOffFromStore => "a host cut off from PostgreSQL",
            Self::CutOffFromRestate => "a host cut off from Restate",
            Self::KillRestate => "Restate killed",
        })
    }
}

/// The kinds of harm to a host on a file.
pub(crate) const ALONE: &[Harm] = &[Harm::Kill, Harm::Replace];

/// The kinds of harm to hosts on a PostgreSQL server.
pub(crate) const TOGETHER: &[Harm] = &[
    Harm::Kill,
    Harm::Replace,
    Harm::Freeze,
    Harm::Disconnect,
    Harm::CutOffFromStore,
];

/// The same behind Restate.
pub(crate) const BEHIND_RESTATE: &[Harm] = &[
    Harm::Kill,
    Harm::Replace,
    Harm::Freeze,
    Harm::Disconnect,
    Harm::CutOffFromStore,
    Harm::CutOffFromRestate,
    Harm::KillRestate,
];

/// And behind several servers of Restate.
pub(crate) const BEHIND_NODES: &[Harm] = &[Harm::Kill, Harm::KillRestate];

/// Returns each kind this number of times, in an order of the seed's.
pub(crate) fn shuffled(kinds: &[Harm], times: u64, chance: &Chance) -> Vec<Harm> {
    let mut left: Vec<_> = (0..times).flat_map(|_| kinds).copied().collect();
    let mut order = Vec::new();
    while !left.is_empty() {
        order.push(left.swap_remove(chance.index(left.len())));
    }
    order
}

impl Storm {
    /// Does it at a moment of the seed's. Every host is up, and reaches all, when this is over.
    pub(crate) async fn does(&mut self, harm: Harm) {
        match harm {
            Harm::Kill => self.kills_one().await,
            Harm::Replace => self.replaces_all().await,
            Harm::Freeze => self.freezes_one().await,
            Harm::Disconnect => self.disconnects().await,
            Harm::CutOffFromStore => self.cuts_off_from_store().await,
            Harm::CutOffFromRestate => self.cuts_off_from_restate().await,
            Harm::KillRestate => self.kills_restate().await,
        }
    }

    async fn kills_one(&mut self) {
        let place = self.chance.index(self.places());
        let host = self.hosts.at(place);
        let killed = host.clone();
        let plan = Plan::drawn(&self.chance);
        self.at(plan, Harm::Kill, move || killed.kill()).await;
        host.wait_until_killed();
        if self.places() > 1 && self.chance.below(3) > 0 {
            // Other hosts continue its turns.
            self.passes(self.chance.below(60)).await;
        }
        self.starts(place).await;
    }

    async fn replaces_all(&mut self) {
        self.updates();
        let mut plan = Plan::drawn(&self.chance);
        for place in 0..self.places() {
            let host = self.hosts.at(place);
            let stopped = host.clone();
            self.at(plan, Harm::Replace, move || stopped.stop()).await;
            host.wait_until_stopped().await;
            self.starts(place).await;
            plan = Plan::Steps(self.chance.below(60));
        }
    }

    async fn freezes_one(&mut self) {
        let place = self.chance.index(self.places());
        let host = self.hosts.at(place);
        let frozen = host.clone();
        let plan = Plan::drawn(&self.chance);
        self.at(plan, Harm::Freeze, move || frozen.signal("STOP"))
            .await;
        self.goes_on_without_one().await;
        host.signal("CONT");
        self.all_are_there().await;
    }

    async fn disconnects(&mut self) {
        self.at(Plan::drawn(&self.chance), Harm::Disconnect, || {})
            .await;
        let of = match self.chance.below(2) {
            0 => None,
            _ => Some(self.hosts.at(self.chance.index(self.places())).name),
        };
        self.audit().end_connections(of.as_deref()).await;
        self.all_are_there().await;
    }

    async fn cuts_off_from_store(&mut self) {
        let place = self.chance.index(self.places());
        let cut = match self.chance.below(2) {
            0 => State::Ended,
            _ => State::Silent,
        };
        let (plan, line) = (Plan::drawn(&self.chance), self.lines[place].clone());
        self.at(plan, Harm::CutOffFromStore, move || line.set(cut))
            .await;
        self.goes_on_without_one().await;
        self.lines[place].set(State::Whole);
        self.all_are_there().await;
    }

    async fn cuts_off_from_restate(&mut self) {
        let place = self.chance.index(self.places());
        self.at(Plan::drawn(&self.chance), Harm::CutOffFromRestate, || {})
            .await;
        self.restate().cut_off(place);
        // Restate gives up on it after two seconds.
        let while_cut = self.chance.millis(0..5_000);
        tokio::time::sleep(while_cut).await;
        self.restate().mend();
    }

    /// Kills one server of Restate, of which there may be more.
    async fn kills_restate(&mut self) {
        self.at(Plan::drawn(&self.chance), Harm::KillRestate, || {})
            .await;
        let nodes = self.restate().nodes();
        let node = self.chance.index(nodes);
        self.restate().kill(node);
        if nodes > 1 && self.chance.below(3) > 0 {
            self.passes(self.chance.below(200)).await;
        }
        self.restate().start_again(node).await;
    }

    /// Kills the host that has a turn, and then the next one, a second later at the earliest, for this time. Returns
    /// the number of kills.
    pub(crate) async fn hunts(&mut self, time: Duration) -> u64 {
        let begin = Instant::now();
        let mut seconds = tokio::time::interval(Duration::from_secs(1));
        seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut killed = 0;
        while begin.elapsed() < time {
            seconds.tick().await;
            killed += 1;
            let (place, host) = self.has_a_turn().await;
            self.clients.is_harmed(Harm::Kill);
            host.kill();
            host.wait_until_killed();
            self.starts(place).await;
        }
        killed
    }

    /// A host that lives, and that was the last to write something of a turn.
    async fn has_a_turn(&self) -> (usize, Host) {
        loop {
            let writer = self.audit().last_writer().await;
            let mut places = (0..self.places()).map(|place| (place, self.hosts.at(place)));
            if let Some(found) = places.find(|(_, host)| Some(&*host.name) == writer.as_deref()) {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits for a few steps, or until the other hosts know that one has died and have had time to continue.
    async fn goes_on_without_one(&mut self) {
        if self.chance.one_in(2) {
            self.audit().lives(|there| there < self.places()).await;
        }
        self.passes(self.chance.below(200)).await;
    }

    /// Waits until the server knows of every host that it lives.
    async fn all_are_there(&self) {
        self.audit().lives(|there| there >= self.places()).await;
    }
}
