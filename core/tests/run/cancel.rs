//! Cancel in every state: one terminal state, at once; tools are told; the history stays legal.

use crate::turn::BOTH;
use crate::world::{Reply, ToolReply, World, offer};
use serde_json::json;
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{EffectId, Input, Outcome, RunIds, StateKind};
use stepwell_core::tool::Tool;
use stepwell_core::transcript::ToolCallStatus;
use stepwell_testing::reply::{Call, Part, call, text};

fn working(dialect: Dialect) -> World {
    crate::world::with(dialect, |config| {
        offer(config, Tool::new("work", "Works."));
        offer(config, Tool::new("ask", "Asks.").requires_approval());
    })
    .tool("work", |_| ToolReply::never())
}

/// Cancels, and sees to what must hold whatever the state was.
#[track_caller]
fn cancelled(mut world: World) -> World {
    world.cancel();
    assert_eq!(world.machine.state(), StateKind::Completed, "at once");
    assert_eq!(*world.outcome(), Outcome::Cancelled);
    assert_eq!(world.seen.ends(), 1);
    assert_eq!(world.machine.poll_timeout(), None);
    world.assert_valid_history();
    let begun = world.seen.effects().count();
    let before = world.machine.snapshot();
    world.cancel();
    world.drive();
    assert_eq!(world.machine.snapshot(), before, "cancelled is cancelled");
    assert_eq!(world.seen.effects().count(), begun, "I12: nothing new");
    world
}

#[test]
fn while_idle() {
    let world = cancelled(crate::world::chat());
    assert_eq!(world.seen.effects().count(), 0);
}

#[test]
fn while_opening() {
    for dialect in BOTH {
        let mut world = working(dialect).reply(Reply::Silent);
        world.send("Hello");
        let world = cancelled(world);
        assert_eq!(
            world.seen.effect_names(),
            ["open open:0:0", "close open:0:0"]
        );
    }
}

#[test]
fn while_a_run_is_being_created() {
    let mut world = crate::world::with(Dialect::AgUi, |config| {
        offer(config, Tool::new("work", "Works."));
        config.run_ids = RunIds::Host;
    })
    .tool("work", |_| ToolReply::text("ok"))
    .streams([call("c", "work", "{}")]);
    world.runs.push_back("run-2".into());
    world.send("Hello");
    world.drive_to(StateKind::ExecutingTools);
    world.drive_to(StateKind::Opening);
    world.cancel();
    assert_eq!(*world.outcome(), Outcome::Cancelled);
    world.drive();
    assert_eq!(
        world.seen.dropped(),
        [EffectId::CreateRun { hop: 1 }],
        "the run comes too late"
    );
    assert_eq!(world.result(), "ok");
    world.assert_valid_history();
}

#[test]
fn while_waiting_for_a_retry() {
    let mut world = working(Dialect::OpenAiChat).reply(Reply::Unreachable);
    world.send("Hello");
    world.drive_to(StateKind::Waiting);
    let world = cancelled(world);
    assert_eq!(world.seen.effect_names(), ["open open:0:0"]);
}

#[test]
fn while_streaming_text() {
    for dialect in BOTH {
        let mut world =
            working(dialect).reply(Reply::Stalled(vec![text("Half an answ"), Part::Cut]));
        world.send("Hello");
        world.drive_until(|world| world.machine.transcript().text() == "Half an answ");
        let world = cancelled(world);
        assert_eq!(world.machine.transcript().text(), "Half an answ");
        assert!(
            world
                .seen
                .effect_names()
                .contains(&"close open:0:0".to_owned())
        );
    }
}

#[test]
fn while_streaming_a_call() {
    for dialect in BOTH {
        let mut world = working(dialect).reply(Reply::Stalled(vec![
            call("c", "work", r#"{"a":"b"}"#),
            Part::Cut,
        ]));
        world.send("Hello");
        world.drive_until(|world| {
            world
                .machine
                .transcript()
                .tool_calls()
                .any(|call| !call.function.arguments.is_empty())
        });
        let world = cancelled(world);
        assert_eq!(world.result(), "the call was cancelled");
        assert!(world.seen.invocations().is_empty());
    }
}

#[test]
fn while_tools_run_and_late_results_are_dropped() {
    for dialect in BOTH {
        let mut world = working(dialect)
            .tool("work", |_| ToolReply::text("late").after(500))
            .streams([Part::Calls(vec![
                Call::new("a", "work", "{}"),
                Call::new("b", "work", "{}"),
            ])]);
        world.ignores_cancel = true;
        world.send("Hello");
        world.drive_to(StateKind::ExecutingTools);
        world.cancel();
        assert_eq!(*world.outcome(), Outcome::Cancelled);
        let names = world.seen.effect_names();
        assert!(
            names.contains(&"cancel tool:0:0".to_owned())
                && names.contains(&"cancel tool:0:1".to_owned())
        );
        let history = world.messages().to_vec();
        world.drive();
        assert_eq!(world.seen.dropped().len(), 2);
        assert_eq!(world.messages(), history);
        assert!(
            world
                .results()
                .iter()
                .all(|(_, text)| text == "the call was cancelled")
        );
        assert_eq!(
            world.seen.statuses("a"),
            [ToolCallStatus::Executing, ToolCallStatus::Cancelled]
        );
        world.assert_valid_history();
    }
}

#[test]
fn while_one_tool_is_done_and_another_runs() {
    let mut world = working(Dialect::OpenAiChat)
        .tool("work", |invocation| {
            if invocation.call.index == 0 {
                ToolReply::text("done")
            } else {
                ToolReply::never()
            }
        })
        .streams([Part::Calls(vec![
            Call::new("a", "work", "{}"),
            Call::new("b", "work", "{}"),
        ])]);
    world.send("Hello");
    world.drive_until(|world| world.seen.statuses("a").last() == Some(&ToolCallStatus::Completed));
    let world = cancelled(world);
    let texts: Vec<_> = world.results().into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["done", "the call was cancelled"]);
}

#[test]
fn while_the_user_is_asked() {
    let mut world = working(Dialect::OpenAiChat).streams([call("c", "ask", "{}")]);
    world.send("Hello");
    world.drive_to(StateKind::ExecutingTools);
    let world = cancelled(world);
    assert_eq!(
        world.seen.effect_names(),
        ["open open:0:0", "ask approve:0:0", "cancel approve:0:0"]
    );
    assert_eq!(
        world.seen.statuses("c"),
        [ToolCallStatus::AwaitingApproval, ToolCallStatus::Cancelled]
    );
}

#[test]
fn while_interrupted() {
    let outcome = json!({"type": "interrupt", "interrupts": [{"id": "i", "reason": "approval", "toolCallId": "c"}]});
    let mut world = working(Dialect::AgUi).streams([
        text("May I?"),
        call("c", "work", "{}"),
        Part::Outcome(outcome),
    ]);
    world.send("Hello");
    world.drive_to(StateKind::Interrupted);
    let world = cancelled(world);
    assert!(world.machine.interrupts().is_empty());
}

#[test]
fn when_it_is_over_already() {
    let mut world = crate::world::chat().streams([text("Yes.")]).turn();
    let before = world.machine.snapshot();
    world.cancel();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.machine.snapshot(), before);
}

#[test]
fn by_the_agent_itself() {
    let world = crate::world::ag_ui()
        .streams([text("I stop."), Part::Outcome(json!({"type": "cancelled"}))])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Cancelled);
    assert_eq!(world.machine.transcript().text(), "I stop.");
}

#[test]
fn bytes_that_come_after_it_are_dropped() {
    let mut world = crate::world::chat().reply(Reply::Stalled(vec![text("Half"), Part::Cut]));
    world.send("Hello");
    world.drive_to(StateKind::Streaming);
    world.cancel();
    let effect = EffectId::Open { hop: 0, attempt: 0 };
    let before = world.messages().to_vec();
    world
        .input(Input::Received {
            effect,
            bytes: b"data: {}\n\n"[..].into(),
        })
        .expect("late is no mistake");
    world
        .input(Input::Ended { effect })
        .expect("late is no mistake");
    assert_eq!(world.seen.dropped(), [effect, effect]);
    assert_eq!(world.messages(), before);
}

#[test]
fn between_the_end_of_the_stream_and_the_tools() {
    // The calls are being stored: no tool has begun.
    let mut world = crate::durability::stored(Dialect::OpenAiChat, |_| {})
        .tool("work", |_| ToolReply::never())
        .streams([call("c", "work", "{}")]);
    world.store.takes = 1_000;
    world.send("Hello");
    world.drive_to(StateKind::ExecutingTools);
    assert!(world.seen.invocations().is_empty());
    world.cancel();
    assert_eq!(*world.outcome(), Outcome::Cancelled);
    world.drive();
    assert!(world.seen.invocations().is_empty(), "I12: no new tool");
    assert_eq!(
        world.seen.statuses("c").last(),
        Some(&ToolCallStatus::Cancelled)
    );
    world.assert_valid_history();
}
