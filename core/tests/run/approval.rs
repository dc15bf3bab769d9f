//! Tools that the user must allow.

use crate::world::{ToolReply, World, offer};
use serde_json::json;
use std::time::Duration;
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{
    BlockContent, Deadline, Decision, Durability, Effect, EffectId, Failure, Input, Misuse,
    Outcome, StateKind, TimerKey,
};
use stepwell_core::tool::Tool;
use stepwell_core::transcript::ToolCallStatus;
use stepwell_core::{CallKey, Timestamp};
use stepwell_testing::reply::{Call, Part, call, text};

fn asking(turn_timeout: Option<Duration>) -> World {
    crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("ask", "Asks.").requires_approval());
        offer(config, Tool::new("work", "Works."));
        config.timeouts.turn = turn_timeout;
    })
    .tool("ask", |_| ToolReply::text("did it"))
    .tool("work", |_| ToolReply::text("worked"))
}

#[test]
fn granted_it_runs() {
    let mut world = asking(None)
        .streams([call("c", "ask", "{}")])
        .streams([text("Done.")]);
    world.decisions.push_back(Decision::Granted);
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.result(), "did it");
    assert_eq!(
        world.seen.statuses("c"),
        [
            ToolCallStatus::AwaitingApproval,
            ToolCallStatus::Executing,
            ToolCallStatus::Completed
        ]
    );
}

#[test]
fn denied_it_does_not_run_and_the_model_is_told_why() {
    let mut world = asking(None)
        .streams([call("c", "ask", "{}")])
        .streams([text("Fine.")]);
    world.decisions.push_back(Decision::Denied {
        reason: Some("not today".into()),
    });
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.result(), "the user did not allow the call: not today");
    assert!(world.seen.invocations().is_empty());
    assert_eq!(
        world.seen.statuses("c").last(),
        Some(&ToolCallStatus::Denied)
    );
}

#[test]
fn a_run_rests_while_the_user_alone_can_move_it() {
    let mut world = asking(None).streams([Part::Calls(vec![
        Call::new("a", "ask", "{}"),
        Call::new("b", "work", "{}"),
    ])]);
    world.send("Hello");
    world.drive_to(StateKind::ExecutingTools);
    assert!(!world.machine.is_resting(), "a tool runs");
    world.drive();
    assert!(world.machine.is_resting());
}

#[test]
fn others_run_while_the_user_is_asked() {
    let mut world = asking(None).streams([Part::Calls(vec![
        Call::new("a", "ask", "{}"),
        Call::new("b", "work", "{}"),
    ])]);
    world.send("Hello");
    world.drive();
    assert_eq!(world.machine.state(), StateKind::ExecutingTools);
    assert_eq!(
        world.seen.statuses("b").last(),
        Some(&ToolCallStatus::Completed)
    );
    assert_eq!(
        world.seen.statuses("a").last(),
        Some(&ToolCallStatus::AwaitingApproval)
    );
}

#[test]
fn what_the_user_is_shown_is_what_will_run() {
    let mut world = asking(None).streams([call("c", "ask", r#"{"path":"/tmp"}"#)]);
    world.send("Hello");
    world.drive_to(StateKind::ExecutingTools);
    let asked = world.seen.effects().find_map(|(_, effect)| match effect {
        Effect::AskApproval { invocation } => Some(invocation.clone()),
        _ => None,
    });
    assert_eq!(
        asked.expect("it was asked").arguments.raw,
        r#"{"path":"/tmp"}"#
    );
}

#[test]
fn a_second_decision_is_dropped() {
    let mut world = asking(None)
        .tool("ask", |_| ToolReply::never())
        .streams([call("c", "ask", "{}")]);
    world.send("Hello");
    world.drive_to(StateKind::ExecutingTools);
    let effect = EffectId::Approve(CallKey { hop: 0, index: 0 });
    world
        .input(Input::Decided {
            effect,
            decision: Decision::Granted,
        })
        .expect("it is asked");
    let before = world.machine.snapshot();
    let no = Decision::Denied { reason: None };
    world
        .input(Input::Decided {
            effect,
            decision: no,
        })
        .expect("late is no mistake");
    assert_eq!(world.seen.dropped(), [effect]);
    assert_eq!(world.machine.snapshot(), before);
}

#[test]
fn the_users_time_is_not_the_turns_and_the_rest_of_it_counts_on() {
    let mut world = asking(Some(Duration::from_secs(10)))
        .tool("ask", |_| ToolReply::never())
        .streams([call("c", "ask", "{}")]);
    world.send("Hello");
    world.drive_to(StateKind::ExecutingTools);
    let asked = world.now;
    world.wait(3_600_000);
    world.input(Input::Timeout).expect("time passes");
    assert_eq!(
        world.machine.state(),
        StateKind::ExecutingTools,
        "an hour of thinking ends nothing"
    );
    let effect = EffectId::Approve(CallKey { hop: 0, index: 0 });
    let granted = world.now;
    world
        .input(Input::Decided {
            effect,
            decision: Decision::Granted,
        })
        .expect("it is asked");
    world.drive();
    let turn = Outcome::Failed {
        failure: Failure::TimedOut {
            deadline: Deadline::Turn,
        },
    };
    assert_eq!(*world.outcome(), turn);
    let begun = 1_000_000;
    assert_eq!(
        (asked - begun) + (world.now - granted),
        10_000,
        "ten seconds in all"
    );
}

fn edited(arguments: &str) -> Decision {
    Decision::Edited {
        arguments: arguments.to_owned(),
    }
}

#[test]
fn edited_it_runs_with_the_users_arguments_and_both_are_recorded() {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
        offer(config, Tool::new("ask", "Asks.").parameters(schema).requires_approval());
        config.durability = Durability::Blocks { attempts: 1 };
    })
    .tool("ask", |call| ToolReply::text(&format!("deleted {}", call.arguments.value["path"])))
    .streams([call("c", "ask", r#"{"path":"/"}"#)])
    .streams([text("Done.")]);
    world.decisions.push_back(edited(r#"{"path":"old"}"#));
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let ran = world.seen.invocations()[0].arguments.clone();
    assert_eq!(ran.raw, r#"{"path":"old"}"#);
    // The model's own words stay as they were, and it is told of the change.
    let asked = world
        .machine
        .transcript()
        .tool_calls()
        .next()
        .expect("asked");
    assert_eq!(asked.function.arguments, r#"{"path":"/"}"#);
    let shown = world.result();
    assert!(shown.contains(r#"changed the arguments of this call to {"path":"old"}"#));
    assert!(shown.ends_with("deleted \"old\""));
    let contents: Vec<_> = world
        .store
        .blocks
        .iter()
        .map(|block| &block.content)
        .collect();
    assert!(contents.iter().any(|content| matches!(content, BlockContent::ToolUse { arguments, .. } if arguments == r#"{"path":"/"}"#)));
    assert!(contents.iter().any(|content| matches!(content, BlockContent::Approval { decision, .. } if *decision == edited(r#"{"path":"old"}"#))));
    assert!(contents.iter().any(|content| matches!(content, BlockContent::ToolResult { content, .. } if content.to_text() == shown)));
}

#[test]
fn an_edit_that_does_not_fit_is_the_apps_mistake_and_the_call_still_asks() {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        let schema = json!({"type": "object", "required": ["path"]});
        offer(
            config,
            Tool::new("ask", "Asks.")
                .parameters(schema)
                .requires_approval(),
        );
    })
    .tool("ask", |_| ToolReply::text("did it"))
    .streams([call("c", "ask", r#"{"path":"/"}"#)])
    .streams([text("Done.")]);
    world.send("Hello");
    world.drive_to(StateKind::ExecutingTools);
    let effect = EffectId::Approve(CallKey { hop: 0, index: 0 });
    for wrong in ["{", "{}", "[]"] {
        let before = world.machine.snapshot();
        let decision = edited(wrong);
        let misuse = world
            .machine
            .handle(Input::Decided { effect, decision }, Timestamp(world.now));
        assert!(
            matches!(misuse, Err(Misuse::EditedArguments(_))),
            "{wrong}: {misuse:?}"
        );
        assert_eq!(world.machine.snapshot(), before);
    }
    let decision = edited(r#"{"path":"/tmp"}"#);
    world
        .input(Input::Decided { effect, decision })
        .expect("it still asks");
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn an_approval_that_nobody_gives_in_time_tells_the_model_and_the_turn_goes_on() {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        offer(config, Tool::new("ask", "Asks.").requires_approval());
        config.timeouts.approval = Some(Duration::from_secs(600));
    })
    .tool("ask", |_| ToolReply::text("did it"))
    .streams([call("c", "ask", "{}")])
    .streams([text("Then not.")]);
    world.send("Hello");
    world.drive_to(StateKind::ExecutingTools);
    let asked = world.now;
    assert_eq!(
        world.machine.timeout_reason(),
        Some(TimerKey::Approval(CallKey { hop: 0, index: 0 }))
    );
    world.drive();
    assert!(world.now >= asked + 600_000);
    assert_eq!(*world.outcome(), Outcome::Success);
    assert!(world.seen.invocations().is_empty());
    assert!(world.result().contains("did not answer in time"));
    let effect = EffectId::Approve(CallKey { hop: 0, index: 0 });
    assert!(
        world
            .seen
            .effects()
            .any(|given| given == (effect, &Effect::CancelTool)),
        "the question is taken back"
    );
    world
        .input(Input::Decided {
            effect,
            decision: Decision::Granted,
        })
        .expect("late is no mistake");
    assert_eq!(world.seen.dropped(), [effect]);
}
