//! How many tools run side by side.

use crate::world::{ToolReply, World, offer};
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{
    Decision, Durability, EffectId, Input, Outcome, RunConfig, RunMachine, StateKind,
};
use stepwell_core::tool::Tool;
use stepwell_core::transcript::ToolCallStatus;
use stepwell_core::{CallKey, Timestamp};
use stepwell_testing::reply::{Call, Part, text};

fn tool(index: u32) -> EffectId {
    EffectId::Tool(CallKey { hop: 0, index })
}

/// Four calls of a tool that takes 20 seconds and may take 30.
fn world(room: u32, change: impl FnOnce(&mut RunConfig)) -> World {
    crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("work", "Works."));
        config.limits.max_parallel_tools = room;
        config.limits.repeats = None;
        config.timeouts.tool = Some(Duration::from_secs(30));
        change(config);
    })
    .tool("work", |_| ToolReply::text("done").after(20_000))
    .streams([Part::Calls(
        ["a", "b", "c", "d"]
            .map(|id| Call::new(id, "work", "{}"))
            .to_vec(),
    )])
    .streams([text("All done.")])
}

fn running(world: &World) -> Vec<EffectId> {
    world
        .given
        .iter()
        .copied()
        .filter(|id| matches!(id, EffectId::Tool(_)))
        .collect()
}

#[test]
fn calls_beyond_the_room_wait_in_their_order_and_waiting_is_not_their_own_time() {
    for (room, at_once) in [(0, 1), (1, 1), (2, 2), (8, 4)] {
        let mut world = world(room, |_| {});
        world.send("Hello");
        let mut most = 0;
        while world.step() {
            most = most.max(running(&world).len());
        }
        assert_eq!(most, at_once, "room for {room}");
        // The last of four waits for 60 seconds, twice as long as a tool may take.
        assert_eq!(*world.outcome(), Outcome::Success);
        let texts: Vec<_> = world.results().into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["done"; 4], "room for {room}");
        let order: Vec<_> = world
            .seen
            .invocations()
            .iter()
            .map(|invocation| invocation.call.index)
            .collect();
        assert_eq!(order, [0, 1, 2, 3]);
        world.assert_valid_history();
    }
}

#[test]
fn a_call_that_waits_is_pending_and_executing_only_when_it_begins() {
    let mut world = world(1, |_| {});
    world.send("Hello");
    world.drive_to(StateKind::ExecutingTools);
    let calls = world.machine.transcript().calls();
    let statuses: Vec<_> = calls.iter().map(|call| call.status).collect();
    let pending = ToolCallStatus::Pending;
    assert_eq!(
        statuses,
        [ToolCallStatus::Executing, pending, pending, pending]
    );
    assert_eq!(world.machine.awaited_result("b"), None);
    world.drive();
    let seen = world.seen.statuses("d");
    assert_eq!(
        seen[seen.len() - 2..],
        [ToolCallStatus::Executing, ToolCallStatus::Completed]
    );
}

#[test]
fn whatever_ends_a_call_makes_room() {
    let mut world = world(1, |_| {});
    world.send("Hello");
    world.drive_until(|world| running(world) == [tool(0)]);
    world
        .input(Input::ToolDeferred { effect: tool(0) })
        .expect("it runs");
    assert_eq!(
        running(&world),
        [tool(1)],
        "a deferred call leaves its room"
    );
    let call = CallKey { hop: 0, index: 1 };
    world
        .input(Input::CancelCall { call })
        .expect("it is of this run");
    assert_eq!(running(&world), [tool(2)], "so does one that was stopped");
    // A call that waits can be stopped too, and is never begun.
    let call = CallKey { hop: 0, index: 3 };
    world
        .input(Input::CancelCall { call })
        .expect("it is of this run");
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.seen.invocations().len(), 3);
}

#[test]
fn a_turn_that_is_cancelled_stops_what_runs_and_never_begins_what_waits() {
    let mut world = world(2, |_| {});
    world.send("Hello");
    world.drive_until(|world| running(world).len() == 2);
    world.cancel();
    assert_eq!(*world.outcome(), Outcome::Cancelled);
    assert_eq!(world.seen.invocations().len(), 2);
    let names = world.seen.effect_names();
    let stopped = names.iter().filter(|name| name.starts_with("cancel tool"));
    assert_eq!(stopped.count(), 2);
    world.assert_valid_history();
}

#[test]
fn a_granted_call_waits_for_room_too() {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("work", "Works."));
        offer(config, Tool::new("ask", "Asks.").requires_approval());
        config.limits.max_parallel_tools = 1;
    })
    .tool("work", |_| ToolReply::text("done").after(20_000))
    .tool("ask", |_| ToolReply::text("allowed"))
    .streams([Part::Calls(vec![
        Call::new("a", "ask", "{}"),
        Call::new("b", "work", "{}"),
    ])])
    .streams([text("All done.")]);
    world.send("Hello");
    world.drive_until(|world| running(world) == [tool(1)]);
    let effect = EffectId::Approve(CallKey { hop: 0, index: 0 });
    let decision = Decision::Granted;
    let _ = world.input(Input::Decided { effect, decision });
    assert_eq!(running(&world), [tool(1)]);
    assert_eq!(
        world.seen.statuses("a").last(),
        Some(&ToolCallStatus::Pending)
    );
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    let texts: Vec<_> = world.results().into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["allowed", "done"]);
}

#[test]
fn over_a_crash_what_waited_is_run_and_what_ran_is_unknown() {
    for durability in [Durability::None, Durability::Blocks { attempts: 2 }] {
        let mut world = world(2, |config| config.durability = durability);
        world.send("Hello");
        world.drive_until(|world| running(world).len() == 2);
        match durability {
            Durability::None => {
                let (stored, config) = (world.machine.snapshot(), Arc::clone(&world.config));
                let revived = RunMachine::revive(&stored, config, Timestamp(world.now));
                world.take_over(revived.expect("it was just written"));
            }
            Durability::Blocks { .. } => world.crash(),
        }
        world.drive();
        assert_eq!(*world.outcome(), Outcome::Success);
        let texts: Vec<_> = world.results().into_iter().map(|(_, text)| text).collect();
        assert!(texts[0].contains("not known") && texts[1].contains("not known"));
        assert_eq!(texts[2..], ["done", "done"], "{durability:?}");
        let runs = world.seen.invocations().len();
        assert_eq!(runs, 4, "each call once; {durability:?}");
        world.assert_valid_history();
    }
}

#[test]
fn a_snapshot_while_calls_wait_loses_none() {
    let mut world = world(1, |_| {});
    world.send("Hello");
    world.drive_until(|world| running(world).len() == 1);
    let config = Arc::clone(&world.config);
    let restored = RunMachine::restore(&world.machine.snapshot(), config);
    world.put_back(restored.expect("it was just written"));
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    let texts: Vec<_> = world.results().into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["done"; 4]);
}
