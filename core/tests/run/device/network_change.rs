//! The network is another one: what is under way is kept or opened again.

use super::{device, world};
use crate::world::{Reply, World};
use stepwell_core::run::{Input, NetworkChangePolicy, Outcome, StateKind};
use stepwell_testing::reply::{Part, text};

fn changing() -> World {
    world(|config| config.device.network_change = NetworkChangePolicy::Reopen)
}

#[test]
fn on_another_network_a_request_without_an_answer_is_sent_again_and_is_no_try() {
    let mut world = changing();
    for _ in 0..6 {
        world = world.reply(Reply::Silent);
    }
    let mut world = world.streams([text("Yes.")]);
    world.send("Hello");
    for _ in 0..6 {
        device(&mut world, Input::NetworkAvailable);
    }
    let names = world.seen.effect_names();
    assert_eq!(
        names[..3],
        ["open open:0:0", "close open:0:0", "open open:0:1"]
    );
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn on_another_network_a_stream_that_showed_nothing_is_opened_again() {
    let mut world = changing()
        .reply(Reply::Stalled(vec![Part::Heartbeat, Part::Cut]))
        .streams([text("Yes.")]);
    world.send("Hello");
    world.drive_to(StateKind::Streaming);
    device(&mut world, Input::NetworkAvailable);
    assert_eq!(
        world.seen.effect_names(),
        ["open open:0:0", "close open:0:0", "open open:0:1"]
    );
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn on_another_network_a_stream_that_cannot_be_resumed_is_kept() {
    let mut world = changing().streams([text("All of it.")]);
    world.send("Hello");
    world.drive_until(|world| !world.machine.transcript().text().is_empty());
    device(&mut world, Input::NetworkAvailable);
    assert_eq!(world.machine.state(), StateKind::Streaming);
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.seen.requests().len(), 1);
}

#[test]
fn the_default_is_to_keep_what_is_under_way() {
    let mut world = world(|_| {}).streams([text("Yes.")]);
    world.send("Hello");
    device(&mut world, Input::NetworkAvailable);
    world.drive_to(StateKind::Streaming);
    device(&mut world, Input::NetworkAvailable);
    world.drive();
    assert_eq!(world.seen.requests().len(), 1);
}
