//! Retries of an answer of which a part was shown: rows of the table with `after_text`.

use crate::world::{Reply, World};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::Timestamp;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::run::{
    ErrorKind, Failure, Fallback, FallbackModel, HookMoment, HookSpec, Input, Outcome, Retry,
    RunConfig, RunEvent, RunMachine, StateKind,
};
use stepwell_testing::reply::{Part, text};
use stepwell_testing::world::Ending;

fn after_text(kind: ErrorKind, change: impl FnOnce(&mut RunConfig)) -> World {
    crate::world::with(Dialect::OpenAiChat, |config| {
        config.retry = config.retry.clone().with(Retry::after(kind).after_text());
        change(config);
    })
}

fn breaks() -> Reply {
    Reply::Broken(vec![text("It is"), Part::Cut])
}

/// A stream that reports that the model is overloaded, after some text.
fn overloaded() -> Reply {
    let said =
        json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": "It is"}}]});
    let error =
        json!({"error": {"message": "Overloaded", "type": "overloaded_error", "code": 503}});
    let frames = [said, error].map(|frame| format!("data: {frame}\n\n"));
    Reply::Bytes(frames.concat().into_bytes(), Ending::Complete)
}

fn retries(world: &World) -> Vec<(ErrorKind, u32)> {
    let events = world.seen.events();
    events
        .filter_map(|event| match event {
            RunEvent::Retrying { kind, attempt, .. } => Some((*kind, *attempt)),
            _ => None,
        })
        .collect()
}

fn said(world: &World) -> Vec<&str> {
    let messages = world.messages().iter();
    messages
        .filter_map(|message| match message {
            Message::Assistant(message) => message.content.as_deref(),
            _ => None,
        })
        .collect()
}

fn opens(world: &World) -> Vec<String> {
    let mut names = world.seen.effect_names();
    names.retain(|name| name.starts_with("open"));
    names
}

#[test]
fn what_was_shown_stays_and_the_answer_comes_as_a_message_of_its_own() {
    for (kind, reply) in [
        (ErrorKind::Connection, breaks()),
        (ErrorKind::Overloaded, overloaded()),
    ] {
        let start = World::new((*after_text(kind, |_| {}).config).clone());
        let world = start.reply(reply).streams([text("It is 3.")]).turn();
        assert_eq!(*world.outcome(), Outcome::Success, "{kind:?}");
        assert_eq!(retries(&world), [(kind, 1)]);
        assert_eq!(said(&world), ["It is", "It is 3."]);
        assert_eq!(opens(&world), ["open open:0:0", "open open:1:0"]);
        let requests = world.seen.requests();
        let messages = |request: &Value| request["messages"].clone();
        assert_eq!(
            messages(&requests[0]),
            messages(&requests[1]),
            "the model is not sent the part"
        );
        assert_eq!(world.seen.streamed_text(), "It isIt is 3.");
        world.assert_valid_history();
    }
}

#[test]
fn only_the_kinds_whose_rows_say_so_are_asked_again() {
    let world = after_text(ErrorKind::Overloaded, |_| {})
        .reply(breaks())
        .turn();
    assert!(matches!(
        world.outcome(),
        Outcome::Failed {
            failure: Failure::Connection { .. }
        }
    ));
    assert!(retries(&world).is_empty());
}

#[test]
fn the_row_limits_how_often_however_much_each_attempt_shows() {
    let world = after_text(ErrorKind::Connection, |config| {
        let row = Retry::after(ErrorKind::Connection).after_text().attempts(3);
        config.retry = config.retry.clone().with(row);
    });
    let world = world.reply(breaks()).reply(breaks()).reply(breaks()).turn();
    let connection = ErrorKind::Connection;
    assert_eq!(retries(&world), [(connection, 1), (connection, 2)]);
    assert_eq!(said(&world), ["It is"; 3]);
    assert!(matches!(world.outcome(), Outcome::Failed { .. }));
}

#[test]
fn another_model_is_asked_once_the_row_is_used_up() {
    let world = after_text(ErrorKind::Connection, |config| {
        let row = Retry::after(ErrorKind::Connection).after_text().attempts(2);
        config.retry = config.retry.clone().with(row);
        let mut other = crate::world::config(Dialect::Anthropic).endpoint;
        other.model = "other".to_owned();
        config.fallback = Fallback {
            models: vec![FallbackModel::from(other)],
            after_text: true,
            ..Fallback::default()
        };
    });
    let world = world.reply(breaks()).reply(breaks());
    let world = world.streams([text("It is 3.")]).turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(said(&world), ["It is", "It is", "It is 3."]);
    assert_eq!(world.seen.requests()[2]["model"], "other");
}

#[test]
fn a_turn_that_may_ask_no_more_is_not_asked_again() {
    for limit in [None, Some(Duration::from_secs(1))] {
        let world = after_text(ErrorKind::Timeout, |config| {
            config.limits.max_duration = limit;
            // The limit of rounds is one of tools.
            config.limits.max_tool_rounds = 0;
        });
        let silent = Reply::Stalled(vec![text("It is"), Part::Cut]);
        let world = world.reply(silent).streams([text("It is 3.")]).turn();
        let expected = match limit {
            Some(_) => vec![],
            None => vec![(ErrorKind::Timeout, 1)],
        };
        assert_eq!(retries(&world), expected);
        assert_eq!(*world.outcome() == Outcome::Success, limit.is_none());
    }
}

#[test]
fn an_agent_is_never_asked_again() {
    let world = crate::world::with(Dialect::AgUi, |config| {
        let row = Retry::after(ErrorKind::Connection).after_text();
        config.retry = config.retry.clone().with(row);
    });
    let world = world.reply(breaks()).turn();
    assert!(retries(&world).is_empty());
    assert!(matches!(world.outcome(), Outcome::Failed { .. }));
}

#[test]
fn hooks_see_the_request_that_asks_again() {
    let mut world = after_text(ErrorKind::Connection, |config| {
        config.hooks = vec![HookSpec::new("look", [HookMoment::BeforeRequest])];
    })
    .reply(breaks())
    .streams([text("It is 3.")]);
    world.send("Number?");
    world.drive();
    let asked = world.seen.effect_names();
    let asked = asked.iter().filter(|name| name.contains("hook"));
    assert_eq!(asked.count(), 2);
}

#[test]
fn without_a_network_the_answer_waits_for_one_and_is_asked_for_again() {
    let mut world = after_text(ErrorKind::Connection, |_| {})
        .reply(Reply::Stalled(vec![text("It is"), Part::Cut]));
    world.send("Number?");
    world.drive_until(|world| world.seen.streamed_text() == "It is");
    world.input(Input::NetworkLost).expect("it may be lost");
    let effect = world.given.iter().next().copied().expect("the stream");
    world
        .input(Input::Lost {
            effect,
            message: "reset".into(),
        })
        .expect("it is open");
    assert_eq!(world.machine.state(), StateKind::Waiting);
    assert!(retries(&world).is_empty());
    world.replies = [Reply::Complete(vec![text("It is 3.")])].into();
    world.input(Input::NetworkAvailable).expect("it is back");
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(said(&world), ["It is", "It is 3."]);
}

#[test]
fn a_pause_can_be_cancelled_and_outlives_a_kill() {
    for is_killed in [false, true] {
        let mut world = after_text(ErrorKind::Connection, |_| {}).reply(breaks());
        world.send("Number?");
        world.drive_to(StateKind::Waiting);
        if is_killed {
            let snapshot = world.machine.snapshot();
            let now = Timestamp(world.now);
            let revived = RunMachine::revive(&snapshot, Arc::clone(&world.config), now);
            world.replies = [Reply::Complete(vec![text("It is 3.")])].into();
            world.take_over(revived.expect("it was just written"));
            world.drive();
            assert_eq!(*world.outcome(), Outcome::Success);
            assert_eq!(said(&world), ["It is", "It is 3."]);
        } else {
            world.cancel();
            assert_eq!(*world.outcome(), Outcome::Cancelled);
            assert_eq!(said(&world), ["It is"]);
        }
    }
}
