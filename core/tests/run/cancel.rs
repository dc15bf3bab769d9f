//! Cancel in every state: one terminal state, at once; tools are told; the history stays legal.

use crate::turn::BOTH;
use crate::wire::{Say, a_call, call, text};
use crate::world::{Answer, Work, World, offer};
use serde_json::json;
use stepwell_core::conversation::ToolCallStatus;
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{EffectId, Input, Outcome, RunIds, StateKind};
use stepwell_core::tool::Tool;

fn working(dialect: Dialect) -> World {
    World::with(dialect, |config| {
        offer(config, Tool::new("work", "Works."));
        offer(config, Tool::new("ask", "Asks.").requires_approval());
    })
    .tool("work", |_| Work::never())
}

/// Cancels, and sees to what must hold whatever the state was.
#[track_caller]
fn cancelled(mut world: World) -> World {
    world.cancel();
    assert_eq!(world.machine.state(), StateKind::Completed, "at once");
    assert_eq!(*world.outcome(), Outcome::Cancelled);
    assert_eq!(world.seen.ends(), 1);
    assert_eq!(world.machine.poll_timeout(), None);
    world.assert_legal();
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
    let world = cancelled(World::chat());
    assert_eq!(world.seen.effects().count(), 0);
}

#[test]
fn while_opening() {
    for dialect in BOTH {
        let mut world = working(dialect).answers(Answer::Never);
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
    let mut world = World::with(Dialect::AgUi, |config| {
        offer(config, Tool::new("work", "Works."));
        config.run_ids = RunIds::Host;
    })
    .tool("work", |_| Work::gives("ok"))
    .says([call("c", "work", "{}")]);
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
    world.assert_legal();
}

#[test]
fn while_waiting_for_a_retry() {
    let mut world = working(Dialect::OpenAiChat).answers(Answer::Unreachable);
    world.send("Hello");
    world.drive_to(StateKind::Waiting);
    let world = cancelled(world);
    assert_eq!(world.seen.effect_names(), ["open open:0:0"]);
}

#[test]
fn while_streaming_text() {
    for dialect in BOTH {
        let mut world =
            working(dialect).answers(Answer::Stalls(vec![text("Half an answ"), Say::Cut]));
        world.send("Hello");
        world.drive_until(|world| world.machine.conversation().text() == "Half an answ");
        let world = cancelled(world);
        assert_eq!(world.machine.conversation().text(), "Half an answ");
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
        let mut world = working(dialect).answers(Answer::Stalls(vec![
            call("c", "work", r#"{"a":"b"}"#),
            Say::Cut,
        ]));
        world.send("Hello");
        world.drive_until(|world| {
            world
                .machine
                .conversation()
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
            .tool("work", |_| Work::gives("late").after(500))
            .says([Say::Calls(vec![
                a_call("a", "work", "{}"),
                a_call("b", "work", "{}"),
            ])]);
        world.deaf_tools = true;
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
        world.assert_legal();
    }
}

#[test]
fn while_one_tool_is_done_and_another_runs() {
    let mut world = working(Dialect::OpenAiChat)
        .tool("work", |invocation| {
            if invocation.call.index == 0 {
                Work::gives("done")
            } else {
                Work::never()
            }
        })
        .says([Say::Calls(vec![
            a_call("a", "work", "{}"),
            a_call("b", "work", "{}"),
        ])]);
    world.send("Hello");
    world.drive_until(|world| world.seen.statuses("a").last() == Some(&ToolCallStatus::Completed));
    let world = cancelled(world);
    let texts: Vec<_> = world.results().into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["done", "the call was cancelled"]);
}

#[test]
fn while_the_user_is_asked() {
    let mut world = working(Dialect::OpenAiChat).says([call("c", "ask", "{}")]);
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
    let mut world = working(Dialect::AgUi).says([
        text("May I?"),
        call("c", "work", "{}"),
        Say::Outcome(outcome),
    ]);
    world.send("Hello");
    world.drive_to(StateKind::Interrupted);
    let world = cancelled(world);
    assert!(world.machine.interrupts().is_empty());
}

#[test]
fn when_it_is_over_already() {
    let mut world = World::chat().says([text("Yes.")]).turn();
    let before = world.machine.snapshot();
    world.cancel();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.machine.snapshot(), before);
}

#[test]
fn by_the_agent_itself() {
    let world = World::ag_ui()
        .says([text("I stop."), Say::Outcome(json!({"type": "cancelled"}))])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Cancelled);
    assert_eq!(world.machine.conversation().text(), "I stop.");
}

#[test]
fn bytes_that_come_after_it_are_dropped() {
    let mut world = World::chat().answers(Answer::Stalls(vec![text("Half"), Say::Cut]));
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
        .tool("work", |_| Work::never())
        .says([call("c", "work", "{}")]);
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
    world.assert_legal();
}
