//! The canonical form: what decides the future tells two runs apart.

use crate::turn::BOTH;
use crate::world::{Reply, World};
use stepwell_core::Timestamp;
use stepwell_core::event::Message;
use stepwell_core::run::{EffectStage, Input, RunMachine, StateKind};
use stepwell_testing::reply::text;

fn streaming() -> World {
    let mut world = crate::world::chat().reply(Reply::Stalled(vec![text("Half an")]));
    world.send("Hello");
    world.drive_to(StateKind::Streaming);
    world
}

#[test]
fn what_waits_what_is_due_what_was_typed_and_the_device_tell_runs_apart() {
    let world = streaming();
    let now = Timestamp(world.now);
    let after = |input: Input<'static>, at: Timestamp| {
        let mut machine = world.machine.clone();
        machine.handle(input, at).expect("any state takes it");
        while machine.poll_output().is_some() {}
        machine.canonical()
    };
    let later = Timestamp(now.0 + 1);
    let typed = |id: &str| Input::Steer(Box::new(Message::user(id, "And")));
    let forms = [
        world.machine.canonical(),
        after(Input::Timeout, later),
        after(typed("one"), now),
        after(typed("two"), now),
        after(Input::NetworkLost, now),
        after(Input::EnteredBackground, now),
        after(Input::Cancel, now),
        after(Input::Dispose, now),
    ];
    for (index, form) in forms.iter().enumerate() {
        assert!(!forms[..index].contains(form), "{index}: {form:?}");
    }
    assert_eq!(after(Input::Timeout, now), forms[0], "nothing was due");
}

#[test]
fn a_restored_run_has_the_form_that_was_stored_and_owes_what_it_owed() {
    for dialect in BOTH {
        for scene in crate::snapshot_scenes::scenes(dialect) {
            let mut machine = scene.world.machine;
            while machine.poll_output().is_some() {}
            let config = std::sync::Arc::clone(&scene.world.config);
            let restored = RunMachine::restore(&machine.snapshot(), config).expect("readable");
            assert_eq!(restored.canonical(), machine.canonical(), "{}", scene.name);
            assert_eq!(restored.pending_effects(), machine.pending_effects());
            assert_eq!(restored.timers(), machine.timers());
        }
    }
}

#[test]
fn what_a_host_owes_is_known_by_its_stage() {
    let world = streaming();
    let [(id, EffectStage::Live)] = world.machine.pending_effects()[..] else {
        panic!("its stream is open, and nothing else")
    };
    assert_eq!(id.to_string(), "open:0:0");
}
