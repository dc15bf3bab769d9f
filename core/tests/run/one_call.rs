//! The user stops one call of several.

use crate::world::{ToolReply, World, offer};
use stepwell_core::CallKey;
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{Decision, Effect, EffectId, Input, Misuse, Outcome, RunEvent, StateKind};
use stepwell_core::tool::{Tool, ToolFailureKind};
use stepwell_core::transcript::ToolCallStatus;
use stepwell_testing::reply::{Call, Part, call, text};

fn key(index: u32) -> CallKey {
    CallKey { hop: 0, index }
}

fn two_calls() -> World {
    crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("slow", "Takes long."));
        offer(config, Tool::new("ask", "Asks.").requires_approval());
        offer(config, Tool::new("work", "Works."));
    })
    .tool("slow", |_| ToolReply::never())
    .tool("ask", |_| ToolReply::text("asked"))
    .tool("work", |_| ToolReply::text("worked").after(50))
}

fn cancelled_kind(world: &World, id: &str) -> Option<ToolFailureKind> {
    let result = world.seen.events().find_map(|event| match event {
        RunEvent::ToolCallUpdate(update) if update.tool_call_id == *id => update.result.clone(),
        _ => None,
    })?;
    Some(result.err()?.kind)
}

#[test]
fn cancel_one_call_of_a_batch_and_its_siblings_go_on() {
    let mut world = two_calls()
        .streams([Part::Calls(vec![
            Call::new("a", "slow", "{}"),
            Call::new("b", "work", "{}"),
        ])])
        .streams([text("Done.")]);
    world.ignores_cancel = true;
    world.send("Hello");
    world.drive_to(StateKind::ExecutingTools);
    world
        .input(Input::CancelCall { call: key(0) })
        .expect("it runs");
    assert_eq!(world.machine.state(), StateKind::ExecutingTools);
    let stopped = (EffectId::Tool(key(0)), &Effect::CancelTool);
    assert!(world.seen.effects().any(|effect| effect == stopped));
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(
        world.seen.statuses("a").last(),
        Some(&ToolCallStatus::Cancelled)
    );
    assert_eq!(
        cancelled_kind(&world, "a"),
        Some(ToolFailureKind::Cancelled)
    );
    let results = world.results();
    assert!(results[0].1.contains("the user stopped this call"));
    assert_eq!(results[1], ("b".to_owned(), "worked".to_owned()));
    world.assert_valid_history();
    // What the tool still gives is dropped.
    let late = EffectId::Tool(key(0));
    let before = world.machine.snapshot();
    let result = Ok("too late".into());
    world
        .input(Input::ToolFinished {
            effect: late,
            result,
        })
        .expect("late is no mistake");
    assert_eq!(world.machine.snapshot(), before);
    assert_eq!(world.seen.dropped(), [late]);
}

#[test]
fn the_last_one_stopped_lets_the_turn_go_on() {
    let mut world = two_calls()
        .streams([call("a", "slow", "{}")])
        .streams([text("Then not.")]);
    world.send("Hello");
    world.drive_to(StateKind::ExecutingTools);
    world
        .input(Input::CancelCall { call: key(0) })
        .expect("it runs");
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.machine.transcript().text(), "Then not.");
}

#[test]
fn a_call_that_waits_for_the_user_can_be_stopped_too() {
    let mut world = two_calls()
        .streams([call("a", "ask", "{}")])
        .streams([text("Then not.")]);
    world.send("Hello");
    world.drive_to(StateKind::ExecutingTools);
    world
        .input(Input::CancelCall { call: key(0) })
        .expect("it asks");
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert!(world.seen.invocations().is_empty());
    let late = EffectId::Approve(key(0));
    world
        .input(Input::Decided {
            effect: late,
            decision: Decision::Granted,
        })
        .expect("late is no mistake");
    assert_eq!(world.seen.dropped(), [late]);
}

#[test]
fn a_call_stopped_while_the_answer_still_comes_is_never_run() {
    let mut world = two_calls();
    world.replies.push_back(crate::world::Reply::Complete(vec![
        call("a", "slow", "{}"),
        call("b", "work", "{}"),
        text("Both, please."),
    ]));
    let mut world = world.streams([text("Done.")]);
    world.send("Hello");
    world.drive_until(|world| world.machine.transcript().call_by_id("b").is_some());
    assert_eq!(world.machine.state(), StateKind::Streaming);
    let call = world.machine.transcript().call_by_id("a").expect("asked");
    let call = call.key;
    for _ in 0..2 {
        world
            .input(Input::CancelCall { call })
            .expect("it was asked for");
    }
    world.restores = true;
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    let ran: Vec<_> = world
        .seen
        .invocations()
        .iter()
        .map(|i| i.name.clone())
        .collect();
    assert_eq!(ran, ["work"]);
    assert_eq!(
        cancelled_kind(&world, "a"),
        Some(ToolFailureKind::Cancelled)
    );
    world.assert_valid_history();
}

#[test]
fn stopping_a_call_that_is_done_or_never_was_changes_nothing_and_says_so() {
    let mut world = two_calls()
        .streams([call("a", "work", "{}")])
        .streams([text("Done.")]);
    let misuse = world.input(Input::CancelCall { call: key(0) });
    assert!(
        matches!(misuse, Err(Misuse::WrongState { .. })),
        "not begun"
    );
    world.send("Hello");
    let mut expected = Vec::new();
    loop {
        for call in [key(7), CallKey { hop: 3, index: 0 }] {
            let before = world.machine.snapshot();
            world
                .input(Input::CancelCall { call })
                .expect("a race is no mistake");
            assert_eq!(world.machine.snapshot(), before);
            expected.push(EffectId::Tool(call));
        }
        if !world.step() {
            break;
        }
    }
    assert_eq!(world.seen.dropped(), expected);
    assert_eq!(*world.outcome(), Outcome::Success);
}
