//! Tools whose result comes in minutes or days.

use crate::world::{ToolReply, World, offer};
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{
    BlockContent, Deadline, Durability, Effect, EffectId, Failure, Input, Outcome, RunMachine,
    StateKind,
};
use stepwell_core::tool::{Tool, ToolFailureKind};
use stepwell_core::transcript::ToolCallStatus;
use stepwell_core::{CallKey, Timestamp};
use stepwell_testing::reply::{Call, Part, call, text};

const CALL: EffectId = EffectId::Tool(CallKey { hop: 0, index: 0 });
const DAYS: u64 = 3 * 24 * 3_600_000;

/// A turn whose only call runs.
fn ordering(change: impl FnOnce(&mut stepwell_core::run::RunConfig)) -> World {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("order", "Orders something."));
        offer(config, Tool::new("work", "Works."));
        config.timeouts.tool = Some(Duration::from_secs(30));
        config.timeouts.turn = Some(Duration::from_secs(60));
        change(config);
    })
    .tool("order", |_| ToolReply::never())
    .tool("work", |_| ToolReply::text("worked"))
    .streams([call("c", "order", "{}")])
    .streams([text("It has arrived.")]);
    world.send("Hello");
    world.drive_to(StateKind::ExecutingTools);
    world.drive_until(|world| world.given.contains(&CALL));
    world
}

fn deferring(change: impl FnOnce(&mut stepwell_core::run::RunConfig)) -> World {
    let mut world = ordering(change);
    world
        .input(Input::ToolDeferred { effect: CALL })
        .expect("it runs");
    world.drive();
    world
}

#[test]
fn a_deferred_call_rests_without_a_clock_and_its_result_wakes_the_turn() {
    let mut world = deferring(|_| {});
    assert_eq!(world.machine.state(), StateKind::ExecutingTools);
    assert!(world.machine.is_resting());
    assert_eq!(world.machine.poll_timeout(), None, "nothing runs out");
    assert_eq!(
        world.seen.statuses("c").last(),
        Some(&ToolCallStatus::Deferred)
    );
    world.wait(DAYS);
    assert_eq!(world.machine.awaited_result("c"), Some(CALL));
    assert_eq!(world.machine.awaited_result("x"), None);
    world
        .input(Input::ToolFinished {
            effect: CALL,
            result: Ok("delivered".into()),
        })
        .expect("it is awaited");
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.result(), "delivered");
    world.assert_valid_history();
}

#[test]
fn a_run_does_not_rest_before_its_outputs_are_taken() {
    let mut world = ordering(|_| {});
    let deferred = Input::ToolDeferred { effect: CALL };
    let now = Timestamp(world.now);
    world.machine.handle(deferred, now).expect("it runs");
    assert!(!world.machine.is_resting());
    while world.machine.poll_output().is_some() {}
    assert!(world.machine.is_resting());
}

#[test]
fn a_deferred_result_wakes_the_run_after_a_restart_too() {
    for (durable, revived) in [(false, false), (false, true), (true, true)] {
        let mut world = deferring(|config| {
            if durable {
                config.durability = Durability::Blocks { attempts: 2 };
            }
        });
        let stored = world.machine.snapshot();
        world.wait(DAYS);
        let config = Arc::clone(&world.config);
        let machine = match (durable, revived) {
            (true, _) => Ok(world.stored_run()),
            (false, true) => RunMachine::revive(&stored, config, Timestamp(world.now)),
            (false, false) => RunMachine::restore(&stored, config),
        };
        world.take_over(machine.expect("it was just written"));
        world.drive();
        assert!(world.machine.is_resting());
        let effect = world.machine.awaited_result("c").expect("still awaited");
        world
            .input(Input::ToolFinished {
                effect,
                result: Ok("delivered".into()),
            })
            .expect("it is awaited");
        world.drive();
        let what = format!("durable {durable}, revived {revived}");
        assert_eq!(*world.outcome(), Outcome::Success, "{what}");
        assert_eq!(world.result(), "delivered", "{what}");
        let runs = world.seen.invocations().len();
        assert_eq!(runs, 1, "it is not run again; {what}");
    }
}

#[test]
fn that_a_call_was_deferred_is_stored() {
    let world = deferring(|config| config.durability = Durability::Blocks { attempts: 1 });
    let deferred = |content: &BlockContent| matches!(content, BlockContent::Deferred { .. });
    assert!(
        world
            .store
            .blocks
            .iter()
            .any(|block| deferred(&block.content))
    );
}

#[test]
fn the_turns_clock_runs_while_a_sibling_runs_and_stands_while_only_the_deferred_is_awaited() {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("order", "Orders something."));
        offer(config, Tool::new("hang", "Hangs."));
        config.timeouts.tool = None;
        config.timeouts.turn = Some(Duration::from_secs(60));
    })
    .tool("order", |_| ToolReply::never())
    .tool("hang", |_| ToolReply::never())
    .streams([Part::Calls(vec![
        Call::new("a", "order", "{}"),
        Call::new("b", "hang", "{}"),
    ])]);
    world.send("Hello");
    world.drive_to(StateKind::ExecutingTools);
    world
        .input(Input::ToolDeferred { effect: CALL })
        .expect("it runs");
    assert!(!world.machine.is_resting());
    world.drive();
    let failure = Failure::TimedOut {
        deadline: Deadline::Turn,
    };
    assert_eq!(*world.outcome(), Outcome::Failed { failure });
    // Whoever works on the deferred call is told to stop, and what they bring later is dropped.
    assert!(
        world
            .seen
            .effects()
            .any(|effect| effect == (CALL, &Effect::CancelTool))
    );
    world
        .input(Input::ToolFinished {
            effect: CALL,
            result: Ok("too late".into()),
        })
        .expect("late is no mistake");
    assert_eq!(world.seen.dropped(), [CALL]);
    world.assert_valid_history();
}

#[test]
fn a_deferred_call_may_have_a_deadline_of_its_own() {
    let world = deferring(|config| config.timeouts.deferred = Some(Duration::from_secs(3600)));
    assert_eq!(
        *world.outcome(),
        Outcome::Success,
        "the drive goes past the deadline"
    );
    assert!(world.result().contains("took too long"));
    assert!(
        world
            .seen
            .effects()
            .any(|effect| effect == (CALL, &Effect::CancelTool))
    );
}

#[test]
fn a_deferred_call_can_be_stopped_alone_and_with_the_turn() {
    let mut world = deferring(|_| {});
    let EffectId::Tool(call) = CALL else {
        unreachable!()
    };
    world
        .input(Input::CancelCall { call })
        .expect("it is awaited");
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(
        world.seen.statuses("c").last(),
        Some(&ToolCallStatus::Cancelled)
    );
    let mut world = deferring(|_| {});
    world.cancel();
    assert_eq!(*world.outcome(), Outcome::Cancelled);
    world.assert_valid_history();
}

#[test]
fn deferring_twice_is_dropped_and_failing_later_is_told() {
    let mut world = deferring(|_| {});
    let before = world.machine.snapshot();
    world
        .input(Input::ToolDeferred { effect: CALL })
        .expect("said twice is no mistake");
    assert_eq!(world.seen.dropped(), [CALL]);
    assert_eq!(world.machine.snapshot(), before);
    let failure = stepwell_core::tool::ToolFailure::new(ToolFailureKind::Error, "sold out");
    world
        .input(Input::ToolFinished {
            effect: CALL,
            result: Err(failure),
        })
        .expect("it is awaited");
    world.drive();
    assert_eq!(world.result(), "sold out");
}
