//! What a running tool says before its end: how far it is, what it has so far, and what it asks the user.

use crate::world::{ToolReply, World, offer};
use serde_json::{Value, json};
use std::time::Duration;
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{
    BlockContent, Durability, Effect, EffectId, Input, Misuse, Outcome, Question, QuestionError,
    RunEvent, StateKind, TimerKey, UserAnswer,
};
use stepwell_core::tool::{Tool, ToolFailureKind};
use stepwell_core::{CallKey, Timestamp};
use stepwell_testing::reply::{call, text};

const CALL: CallKey = CallKey { hop: 0, index: 0 };
const TOOL: EffectId = EffectId::Tool(CALL);

fn ask(number: u32) -> EffectId {
    EffectId::Ask { call: CALL, number }
}

/// A turn whose only call runs.
fn running(idempotent: bool) -> World {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        let mut tool = Tool::new("order", "Orders something.");
        tool.idempotent = idempotent;
        offer(config, tool);
        config.timeouts.tool = Some(Duration::from_secs(30));
        config.timeouts.turn = Some(Duration::from_secs(60));
        config.timeouts.approval = Some(Duration::from_secs(600));
        config.durability = Durability::Blocks { attempts: 2 };
    })
    .tool("order", |_| ToolReply::never())
    .streams([call("c", "order", "{}")])
    .streams([text("Done.")]);
    world.send("Hello");
    world.drive_to(StateKind::ExecutingTools);
    world.drive_until(|world| world.given.contains(&TOOL));
    world
}

/// All that was said is stored.
fn stored(world: &mut World) {
    let is_write = |id: &EffectId| matches!(id, EffectId::Persist { .. });
    world.drive_until(|world| !world.given.iter().any(is_write));
}

fn asks(world: &mut World, number: u32, question: Question) {
    let asked = Input::ToolAsks {
        effect: TOOL,
        number,
        question,
    };
    world.input(asked).expect("it may ask");
}

fn answers(world: &mut World, number: u32, value: Value) -> Result<(), Misuse> {
    let effect = ask(number);
    let answer = UserAnswer::Given { value };
    let answered = world.input(Input::UserAnswered { effect, answer });
    stored(world);
    answered
}

fn told(world: &World) -> Vec<(EffectId, UserAnswer)> {
    let effects = world.seen.effects();
    let answers = effects.filter_map(|(id, effect)| match effect {
        Effect::AnswerTool { answer } => Some((id, answer.clone())),
        _ => None,
    });
    answers.collect()
}

fn finishes(world: &mut World) {
    let result = Ok("ordered".into());
    let finished = Input::ToolFinished {
        effect: TOOL,
        result,
    };
    world.input(finished).expect("it runs");
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    world.assert_valid_history();
}

#[test]
fn a_tool_knows_who_calls() {
    let world = running(true);
    let invocations = world.seen.invocations();
    let [invocation] = &invocations[..] else {
        panic!("{invocations:?}");
    };
    assert_eq!(invocation.attempt, 1);
    assert_eq!(Some(&invocation.turn), world.machine.turn());
    assert_eq!(Some(&invocation.run_id), world.machine.run_id());
    assert_eq!(Some(&invocation.thread_id), world.machine.thread_id());
}

#[test]
fn progress_and_partial_results_are_shown_and_not_kept() {
    let mut world = running(true);
    for (fraction, message) in [
        (Some(0.25), Some("half way".to_owned())),
        (Some(7.0), Some("é".repeat(1000))),
        (Some(f64::NAN), None),
    ] {
        let progress = Input::ToolProgress {
            effect: TOOL,
            fraction,
            message,
        };
        world.input(progress).expect("it runs");
    }
    let partial = Input::ToolPartialResult {
        effect: TOOL,
        output: "so far".into(),
    };
    world.input(partial).expect("it runs");
    let seen: Vec<_> = world
        .seen
        .events()
        .filter_map(|event| match event {
            RunEvent::ToolProgress(progress) => {
                let length = progress.message.as_ref().map(String::len);
                Some((progress.fraction, length))
            }
            _ => None,
        })
        .collect();
    let wanted = [(Some(0.25), Some(8)), (Some(1.0), Some(1000)), (None, None)];
    assert_eq!(seen, wanted);
    let before = world.machine.snapshot();
    let large = Input::ToolPartialResult {
        effect: TOOL,
        output: "x".repeat(300 << 10).into(),
    };
    let refused = world.input(large);
    assert!(matches!(refused, Err(Misuse::PartialTooLarge(_))));
    assert_eq!(world.machine.snapshot(), before);
    finishes(&mut world);
    assert_eq!(world.result(), "ordered");
    // Too late.
    let late = Input::ToolProgress {
        effect: TOOL,
        fraction: None,
        message: None,
    };
    world.input(late).expect("it is dropped");
    let dropped = RunEvent::AnswerDropped { effect: TOOL };
    assert_eq!(world.seen.events().last(), Some(&dropped));
}

#[test]
fn an_answer_is_stored_before_the_tool_hears_of_it() {
    let mut world = running(true);
    asks(&mut world, 0, Question::yes_or_no("Really?"));
    stored(&mut world);
    let asked = world.seen.effects().find(|(id, _)| *id == ask(0));
    assert!(matches!(asked, Some((_, Effect::AskUser { .. }))));
    let value = json!(true);
    let effect = ask(0);
    let answer = UserAnswer::Given { value };
    let answered = Input::UserAnswered { effect, answer };
    world.input(answered).expect("it fits");
    assert_eq!(told(&world), [], "it is not stored yet");
    stored(&mut world);
    let answer = UserAnswer::Given { value: json!(true) };
    assert_eq!(told(&world), [(ask(0), answer)]);
    let is_answer = |content: &&BlockContent| matches!(content, BlockContent::Answer { .. });
    let blocks = world.store.blocks.iter().map(|block| &block.content);
    assert_eq!(blocks.filter(is_answer).count(), 1);
    finishes(&mut world);
}

#[test]
fn an_answer_that_does_not_fit_is_refused_and_the_question_stays() {
    let mut world = running(true);
    asks(&mut world, 0, Question::choice("Which?", ["a", "b"]));
    stored(&mut world);
    let before = world.machine.snapshot();
    let effect = ask(0);
    let answer = UserAnswer::Given { value: json!("c") };
    let now = Timestamp(world.now + 5);
    let misfit = Input::UserAnswered { effect, answer };
    let refused = world.machine.handle(misfit, now);
    assert!(matches!(&refused, Err(Misuse::Answer(reason)) if reason.contains("\"c\"")));
    assert_eq!(world.machine.snapshot(), before);
    assert_eq!(answers(&mut world, 0, json!("a")), Ok(()));
    assert_eq!(told(&world).len(), 1);
}

#[test]
fn what_cannot_be_asked_is_a_mistake_that_changes_nothing() {
    let mut world = running(true);
    asks(&mut world, 0, "First?".into());
    stored(&mut world);
    let before = world.machine.snapshot();
    let odd = Question::new("Which?", json!({ "type": "no type" }));
    for (number, question, is_right) in [
        (1, odd, "schema"),
        (0, "First?".into(), "twice"),
        (64, "Once more?".into(), "many"),
    ] {
        let asked = Input::ToolAsks {
            effect: TOOL,
            number,
            question,
        };
        let now = Timestamp(world.now + 5);
        let refused = world.machine.handle(asked, now);
        let fits = match &refused {
            Err(Misuse::Question(QuestionError::Schema(_))) => is_right == "schema",
            Err(Misuse::Question(QuestionError::Twice(0))) => is_right == "twice",
            Err(Misuse::Question(QuestionError::TooMany)) => is_right == "many",
            _ => false,
        };
        assert!(fits, "{refused:?}");
        assert_eq!(world.machine.snapshot(), before);
    }
}

#[test]
fn the_users_time_is_neither_the_tools_nor_the_turns() {
    let mut world = running(true);
    world.wait(10_000);
    asks(&mut world, 0, "Which?".into());
    asks(&mut world, 1, "And which?".into());
    world.drive_until(|world| world.given.contains(&ask(1)));
    let due = world.machine.timeout_reason();
    assert_eq!(due, Some(TimerKey::Question(CALL, 0)));
    world.wait(500_000);
    assert_eq!(answers(&mut world, 0, json!("this")), Ok(()));
    assert_eq!(
        world.machine.timeout_reason(),
        Some(TimerKey::Question(CALL, 1))
    );
    world.wait(50_000);
    let now = world.now;
    assert_eq!(answers(&mut world, 1, json!("that")), Ok(()));
    assert_eq!(world.machine.timeout_reason(), Some(TimerKey::Tool(CALL)));
    let left = world.machine.poll_timeout().map(|at| at.0 - now);
    assert!(left.is_some_and(|left| (19_000..=21_000).contains(&left)));
    finishes(&mut world);
}

#[test]
fn a_user_who_does_not_answer_in_time_has_declined() {
    let mut world = running(true);
    asks(&mut world, 0, "Which?".into());
    world.drive_until(|world| world.given.contains(&ask(0)));
    world.wait(601_000);
    world.input(Input::Timeout).expect("a timer");
    stored(&mut world);
    let stops = world.seen.effects();
    assert!(
        stops
            .into_iter()
            .any(|effect| effect == (ask(0), &Effect::CancelTool))
    );
    let told = told(&world);
    let [(_, UserAnswer::Declined { reason })] = &told[..] else {
        panic!("{told:?}");
    };
    assert!(
        reason
            .as_ref()
            .is_some_and(|reason| reason.contains("in time"))
    );
    finishes(&mut world);
}

#[test]
fn a_question_ends_with_its_call() {
    for how in ["cancel", "cancel call", "finish", "defer", "dispose"] {
        let mut world = running(true);
        asks(&mut world, 0, "Which?".into());
        world.drive_until(|world| world.given.contains(&ask(0)));
        let input = match how {
            "cancel" => Input::Cancel,
            "cancel call" => Input::CancelCall { call: CALL },
            "finish" => Input::ToolFinished {
                effect: TOOL,
                result: Ok("ordered".into()),
            },
            "defer" => Input::ToolDeferred { effect: TOOL },
            _ => Input::Dispose,
        };
        world.input(input).expect(how);
        let stopped = (ask(0), &Effect::CancelTool);
        let is_stopped = world.seen.effects().any(|effect| effect == stopped);
        assert!(is_stopped, "{how}");
        if how != "dispose" {
            let effect = ask(0);
            let answer = UserAnswer::declined("late");
            let late = Input::UserAnswered { effect, answer };
            world.input(late).expect("it is dropped");
            let dropped = RunEvent::AnswerDropped { effect };
            assert!(world.seen.events().any(|event| *event == dropped), "{how}");
        }
    }
}

fn revived(world: &mut World) {
    world.crash();
    world.drive_until(|world| world.given.contains(&TOOL));
}

#[test]
fn a_tool_that_is_run_again_is_given_the_answer_of_before() {
    let mut world = running(true);
    asks(&mut world, 0, "Which?".into());
    stored(&mut world);
    assert_eq!(answers(&mut world, 0, json!("this")), Ok(()));
    revived(&mut world);
    let attempts: Vec<_> = world
        .seen
        .invocations()
        .iter()
        .map(|call| call.attempt)
        .collect();
    assert_eq!(attempts, [1, 2]);
    asks(&mut world, 0, "Which?".into());
    stored(&mut world);
    let answer = UserAnswer::Given {
        value: json!("this"),
    };
    let both = [(ask(0), answer.clone()), (ask(0), answer)];
    assert_eq!(told(&world), both);
    let asked = |(_, effect): &(EffectId, &Effect)| matches!(effect, Effect::AskUser { .. });
    assert_eq!(world.seen.effects().filter(asked).count(), 1);
    // Another question at the same place is asked.
    revived(&mut world);
    asks(&mut world, 0, "Which other?".into());
    world.drive_until(|world| world.given.contains(&ask(0)));
    assert_eq!(answers(&mut world, 0, json!("that")), Ok(()));
    finishes(&mut world);
}

#[test]
fn a_tool_that_must_not_run_again_ends_with_its_question() {
    let mut world = running(false);
    asks(&mut world, 0, "Which?".into());
    stored(&mut world);
    assert_eq!(answers(&mut world, 0, json!("this")), Ok(()));
    world.crash();
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    let kinds = world.seen.events().filter_map(|event| match event {
        RunEvent::ToolCallUpdate(update) => Some(update.result.as_ref()?.as_ref().err()?.kind),
        _ => None,
    });
    assert_eq!(kinds.collect::<Vec<_>>(), [ToolFailureKind::OutcomeUnknown]);
}
