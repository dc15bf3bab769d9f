//! The device under a run: the app is suspended or killed, the network goes and changes.

mod background;
mod network_change;
mod offline;

use crate::interrupts::asks;
use crate::misuse;
use crate::world::{Reply, World, offer};
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::Timestamp;
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{
    Input, KilledPolicy, Outcome, RunConfig, RunEvent, RunMachine, StateKind,
};
use stepwell_core::tool::Tool;
use stepwell_testing::reply::text;

const DEVICE: [Input<'static>; 4] = [
    Input::EnteredBackground,
    Input::EnteredForeground,
    Input::NetworkLost,
    Input::NetworkAvailable,
];

fn device(world: &mut World, input: Input<'_>) {
    world.input(input).expect("devices say this at any time");
}

fn worlds(change: impl Fn(&mut RunConfig)) -> Vec<(StateKind, World)> {
    let mut worlds = misuse::worlds_with(&change);
    let mut asking =
        crate::world::with(Dialect::AgUi, change).streams([text("Which?"), asks(&["a"])]);
    asking.send("Hello");
    asking.drive_to(StateKind::Interrupted);
    worlds.push((StateKind::Interrupted, asking));
    worlds
}

fn world(change: impl FnOnce(&mut RunConfig)) -> World {
    crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("work", "Works."));
        config.timeouts.silence = Some(Duration::from_secs(20));
        config.timeouts.tool = Some(Duration::from_secs(20));
        config.retry.first_delay = Duration::from_secs(20);
        config.retry.max_delay = Duration::from_secs(20);
        change(config);
    })
}

fn waits(world: &World) -> usize {
    let waits = |event: &&RunEvent| matches!(event, RunEvent::WaitingForNetwork { .. });
    world.seen.events().filter(waits).count()
}

fn revive(world: &mut World) {
    let snapshot = world.machine.snapshot();
    let machine = RunMachine::revive(&snapshot, Arc::clone(&world.config), Timestamp(world.now));
    world.take_over(machine.expect("readable"));
}

#[test]
fn what_a_device_says_is_taken_in_every_state_and_harmless_when_repeated() {
    for input in DEVICE {
        for (state, mut world) in worlds(|_| {}) {
            device(&mut world, input.clone());
            let (before, outputs) = (world.machine.snapshot(), world.seen.outputs.len());
            device(&mut world, input.clone());
            assert_eq!(world.machine.snapshot(), before, "{state}: {input:?}");
            assert_eq!(world.seen.outputs.len(), outputs, "{state}: {input:?}");
            assert_eq!(world.machine.state(), state, "{state}: {input:?}");
        }
    }
}

#[test]
fn what_a_device_says_after_the_end_changes_nothing() {
    for input in DEVICE {
        let mut world = crate::world::chat().streams([text("Yes.")]).turn();
        let before = world.machine.snapshot();
        device(&mut world, input);
        assert_eq!(world.machine.snapshot(), before);
    }
}

#[test]
fn a_new_host_is_in_the_foreground_and_has_a_network_until_it_says_otherwise() {
    let mut world = world(|_| {})
        .reply(Reply::Unreachable)
        .streams([text("Yes.")]);
    world.send("Hello");
    device(&mut world, Input::NetworkLost);
    device(&mut world, Input::EnteredBackground);
    world.drive_to(StateKind::Waiting);
    revive(&mut world);
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn what_waited_for_the_old_hosts_network_goes_out_at_once_and_its_clock_runs() {
    let mut world = world(|_| {}).streams([text("Yes.")]);
    device(&mut world, Input::NetworkLost);
    device(&mut world, Input::EnteredBackground);
    world.send("Hello");
    assert!(world.seen.requests().is_empty());
    world.wait(60_000);
    revive(&mut world);
    assert_eq!(world.seen.requests().len(), 1);
    let silence = Timestamp(world.now + 20_000);
    assert_eq!(world.machine.poll_timeout(), Some(silence));
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn the_policy_may_be_that_the_turn_ends_with_the_app() {
    for (state, mut world) in worlds(|config| config.device.killed = KilledPolicy::Cancel) {
        let before = world.seen.effects().count();
        let outcome = world.machine.outcome().cloned();
        revive(&mut world);
        match state {
            StateKind::Idle => assert_eq!(world.machine.state(), StateKind::Idle),
            StateKind::Completed => assert_eq!(world.machine.outcome().cloned(), outcome),
            _ => {
                assert_eq!(*world.outcome(), Outcome::Cancelled, "{state}");
                assert_eq!(world.seen.ends(), 1);
                world.assert_valid_history();
            }
        }
        assert_eq!(
            world.seen.effects().count(),
            before,
            "a new host has nothing that could be stopped"
        );
    }
}
