//! The host's own mistakes: named, and without consequence.

use crate::world::{Reply, ToolReply, World, offer};
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::run::{EffectId, Input, Misuse, RunConfig, RunMachine, Start, StateKind};
use stepwell_core::tool::Tool;
use stepwell_core::transcript::Transcript;
use stepwell_core::{CallKey, Timestamp};
use stepwell_testing::reply::{call, text};

fn start() -> Input<'static> {
    Input::Start(Box::new(Start::new(
        "again",
        Message::user("again", "Again"),
    )))
}

/// Feeds an input that is a mistake, and sees that it changes nothing.
#[track_caller]
fn mistake(world: &mut World, input: Input<'_>) -> Misuse {
    let before = world.machine.snapshot();
    let outputs = world.seen.outputs.len();
    let misuse = world
        .machine
        .handle(input, Timestamp(world.now))
        .expect_err("a mistake");
    assert_eq!(world.machine.snapshot(), before);
    assert_eq!(world.machine.poll_output(), None);
    assert_eq!(world.seen.outputs.len(), outputs);
    misuse
}

/// A world in each state but Interrupted.
pub fn worlds() -> Vec<(StateKind, World)> {
    worlds_with(&|_| {})
}

/// The same with a configuration that `change` makes of the default one.
pub fn worlds_with(change: &dyn Fn(&mut RunConfig)) -> Vec<(StateKind, World)> {
    let stalled = |answer| {
        crate::world::with(Dialect::OpenAiChat, |config| {
            offer(config, Tool::new("work", "Works."));
            change(config);
        })
        .tool("work", |_| ToolReply::never())
        .reply(answer)
    };
    let answers = [
        (StateKind::Opening, Reply::Silent),
        (StateKind::Streaming, Reply::Stalled(vec![text("x")])),
        (StateKind::Waiting, Reply::Unreachable),
        (
            StateKind::ExecutingTools,
            Reply::Complete(vec![call("c", "work", "{}")]),
        ),
        (StateKind::Completed, Reply::Complete(vec![text("x")])),
    ];
    let mut worlds: Vec<_> = answers
        .into_iter()
        .map(|(state, answer)| {
            let mut world = stalled(answer);
            world.send("Hello");
            world.drive_to(state);
            (state, world)
        })
        .collect();
    worlds.push((StateKind::Idle, crate::world::chat()));
    worlds
}

#[test]
fn to_start_twice_is_a_mistake_that_names_the_state_and_the_input() {
    for (state, mut world) in worlds() {
        if state != StateKind::Idle {
            let misuse = mistake(&mut world, start());
            assert_eq!(
                misuse,
                Misuse::WrongState {
                    state,
                    input: "Start"
                }
            );
            assert_eq!(
                misuse.to_string(),
                format!("a run that is {state} does not take Start")
            );
        }
    }
}

#[test]
fn to_resume_what_asks_nothing_is_a_mistake() {
    for (state, mut world) in worlds() {
        let misuse = mistake(&mut world, Input::Resume(Vec::new()));
        assert_eq!(
            misuse,
            Misuse::WrongState {
                state,
                input: "Resume"
            }
        );
    }
}

#[test]
fn to_answer_an_effect_with_the_answer_to_another_kind_is_a_mistake() {
    for (_, mut world) in worlds() {
        let effect = EffectId::Tool(CallKey { hop: 0, index: 0 });
        let misuse = mistake(&mut world, Input::Ended { effect });
        assert_eq!(
            misuse,
            Misuse::WrongEffect {
                input: "Ended",
                effect
            }
        );
    }
}

#[test]
fn the_body_of_a_stream_that_was_not_opened_is_a_mistake() {
    let mut world = crate::world::chat().reply(Reply::Silent);
    world.send("Hello");
    let effect = EffectId::Open { hop: 0, attempt: 0 };
    let misuse = mistake(
        &mut world,
        Input::Received {
            effect,
            bytes: b"data: x"[..].into(),
        },
    );
    assert_eq!(
        misuse,
        Misuse::NotOpened {
            input: "Received",
            effect
        }
    );
}

#[test]
fn an_answer_to_what_was_never_asked_is_dropped_and_said_so() {
    for (_, mut world) in worlds() {
        let effect = EffectId::Tool(CallKey { hop: 9, index: 9 });
        let before = world.machine.snapshot();
        world
            .input(Input::ToolFinished {
                effect,
                result: Ok("x".into()),
            })
            .expect("late is no mistake");
        assert_eq!(world.seen.dropped(), [effect]);
        assert_eq!(world.machine.snapshot(), before);
    }
}

#[test]
fn opened_twice_is_dropped_the_second_time() {
    let mut world = crate::world::chat().reply(Reply::Stalled(vec![text("x")]));
    world.send("Hello");
    world.drive_to(StateKind::Streaming);
    let effect = EffectId::Open { hop: 0, attempt: 0 };
    world
        .input(Input::Opened {
            effect,
            content_type: None,
        })
        .expect("late is no mistake");
    assert_eq!(world.seen.dropped(), [effect]);
}

#[test]
fn an_input_before_the_outputs_are_taken_is_a_mistake() {
    let config = crate::world::config(Dialect::OpenAiChat);
    let mut machine = RunMachine::new(config.into(), "thread".into(), Transcript::default());
    let now = Timestamp(1);
    machine.handle(start(), now).expect("it is idle");
    for input in [Input::Cancel, Input::Timeout, Input::NetworkLost, start()] {
        let before = machine.clone();
        let name = input.name();
        let refused = machine.handle(input, now);
        assert_eq!(refused, Err(Misuse::OutputsWait { input: name }));
        assert_eq!(machine.canonical(), before.canonical());
    }
    while machine.poll_output().is_some() {}
    machine.handle(Input::Cancel, now).expect("nothing waits");
}

/// A host that goes away takes no more outputs.
#[test]
fn a_run_is_disposed_of_before_its_outputs_are_taken() {
    let config = crate::world::config(Dialect::OpenAiChat);
    let mut machine = RunMachine::new(config.into(), "thread".into(), Transcript::default());
    machine.handle(start(), Timestamp(1)).expect("it is idle");
    machine
        .handle(Input::Dispose, Timestamp(1))
        .expect("at any time");
    assert!(machine.is_disposed());
}
