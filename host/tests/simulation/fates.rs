//! The faults of the hosts and the store while the clients live.

use super::clients::chance::Chance;
use super::clients::findings::Rule;
use super::store::Weather;
use super::world::World;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The faults that a seed allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fates {
    pub(super) kills: bool,
    pub(super) stops: bool,
    pub(super) weather: bool,
    pub(super) other_provider: bool,
    pub(super) other_setup: bool,
}

/// Runs one host: it is killed, stopped and started again, until the faults end. Then it is up.
pub(super) async fn host(
    world: Arc<World>,
    place: usize,
    fates: Fates,
    chance: Chance,
    calm: CancellationToken,
) {
    let plan = || (fates.kills && chance.one_in(2)).then(|| chance.below(200));
    world.start(place, plan()).await;
    loop {
        let Some(up) = world.places[place].up() else {
            // The host was killed before it was observed.
            world.start(place, plan()).await;
            continue;
        };
        let lives = match chance.below(3) {
            0 => chance.millis(0..3_000),
            1 => chance.millis(3_000..30_000),
            _ => chance.millis(30_000..120_000),
        };
        tokio::select! {
            biased;
            () = up.life.dies() => {}
            () = calm.cancelled() => return,
            () = tokio::time::sleep(lives) => match chance.below(3) {
                0 if fates.kills => up.life.kill("it is killed"),
                1 if fates.stops => {
                    world.trace.note(format!("{} is told to stop", up.life.name));
                    let stopped = tokio::select! {
                        biased;
                        () = up.life.dies() => Ok(()),
                        stopped = tokio::time::timeout(Duration::from_secs(150), up.host.stop()) => stopped,
                    };
                    if stopped.is_err() {
                        let what = format!("{} does not stop", up.life.name);
                        world.finds(Rule::HostStops, &up.life.name, what);
                    }
                    up.life.kill("it has stopped");
                }
                _ => {}
            },
        }
        if !up.life.is_dead() {
            continue;
        }
        let down = match chance.below(3) {
            0 => chance.millis(0..100),
            _ => chance.millis(100..15_000),
        };
        tokio::select! {
            biased;
            () = calm.cancelled() => {}
            () = tokio::time::sleep(down) => {}
        }
        {
            let mut config = world.places[place].config.lock().unwrap();
            if fates.other_provider && chance.one_in(3) {
                config.provider = config.provider.other();
            }
            if fates.other_setup && chance.one_in(3) {
                config.without = [None, Some("work"), Some("look"), Some("ask")]
                    [usize::try_from(chance.below(4)).unwrap_or(0)];
                config.rounds = *chance.of_slice(&[1, 3, 10]);
            }
        }
        world.start(place, plan()).await;
    }
}

/// The fate of the store.
pub(super) async fn weather(world: Arc<World>, chance: Chance, calm: CancellationToken) {
    let kinds = [
        Weather::Slow,
        Weather::Away,
        Weather::Full,
        Weather::ReadOnly,
        Weather::Flaky,
        Weather::Flaky,
    ];
    loop {
        let fine = chance.millis(500..30_000);
        tokio::select! {
            biased;
            () = calm.cancelled() => return,
            () = tokio::time::sleep(fine) => {}
        }
        world.set_weather(*chance.of_slice(&kinds));
        let lasts = match chance.below(8) {
            // Longer than a turn waits for its store.
            0 => chance.millis(60_000..100_000),
            _ => chance.millis(100..15_000),
        };
        tokio::select! {
            biased;
            () = calm.cancelled() => return,
            () = tokio::time::sleep(lasts) => {}
        }
        world.set_weather(Weather::Fine);
    }
}
