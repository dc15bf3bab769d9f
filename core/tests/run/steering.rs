//! The user types during the turn.

use crate::durability::{kinds, stored};
use crate::interrupts::{answer, asks};
use crate::limits::greedy;
use crate::turn::BOTH;
use crate::world::{Reply, ToolReply, World, offer};
use std::sync::Arc;
use stepwell_core::Timestamp;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::run::{
    BlockContent, Input, LimitPolicy, Misuse, Outcome, RunEvent, RunMachine, StateKind,
    SteeringRefusal,
};
use stepwell_core::tool::Tool;
use stepwell_testing::reply::{Part, call, text};

fn steer(world: &mut World, id: &str, text: &str) {
    let message = Message::user(id, text);
    world
        .input(Input::Steer(Box::new(message)))
        .expect("the user may type at any time");
}

/// What was taken in: the message, and the hop.
fn taken(world: &World) -> Vec<(String, u32)> {
    let taken = world.seen.events().filter_map(|event| match event {
        RunEvent::SteeringTaken { message_id, hop } => Some((message_id.to_string(), *hop)),
        _ => None,
    });
    taken.collect()
}

/// What was given back, and why.
fn refused(world: &World) -> Vec<(Message, SteeringRefusal)> {
    let refused = world.seen.events().filter_map(|event| match event {
        RunEvent::SteeringRefused { message, reason } => Some(((**message).clone(), *reason)),
        _ => None,
    });
    refused.collect()
}

fn ids(world: &World) -> Vec<&str> {
    world
        .messages()
        .iter()
        .map(|message| message.id().as_str())
        .collect()
}

/// The roles of a Chat Completions request.
fn roles(world: &World, request: usize) -> Vec<String> {
    let requests = world.seen.requests();
    let messages = requests[request]["messages"].as_array().expect("a list");
    messages
        .iter()
        .map(|message| message["role"].as_str().expect("a role").to_owned())
        .collect()
}

fn working(dialect: Dialect) -> World {
    crate::world::with(dialect, |config| {
        offer(config, Tool::new("work", "Works."));
    })
    .tool("work", |_| ToolReply::text("ok").after(500))
}

#[test]
fn typed_while_tools_run_it_goes_after_the_results_into_the_next_request() {
    for dialect in BOTH {
        let mut world = working(dialect)
            .streams([text("Let me see."), call("c", "work", "{}")])
            .streams([text("As you like.")]);
        world.send("Hello");
        world.drive_to(StateKind::ExecutingTools);
        steer(&mut world, "steer-1", "In short, please");
        assert!(!ids(&world).contains(&"steer-1"), "it waits");
        world.drive();
        assert_eq!(*world.outcome(), Outcome::Success);
        assert_eq!(taken(&world), [("steer-1".to_owned(), 1)]);
        assert_eq!(world.machine.hop(), 1, "it takes no hop of its own");
        if dialect == Dialect::OpenAiChat {
            assert_eq!(roles(&world, 1), ["user", "assistant", "tool", "user"]);
        }
        let at = ids(&world).iter().position(|id| *id == "steer-1");
        assert!(matches!(
            world.messages()[at.expect("it is there") - 1],
            Message::Tool(_)
        ));
        assert_eq!(world.machine.transcript().text(), "As you like.");
        world.assert_valid_history();
    }
}

#[test]
fn an_answer_that_asks_for_nothing_is_followed_by_a_hop_that_answers_the_user() {
    for dialect in BOTH {
        let mut world = crate::world::of(dialect)
            .reply(Reply::Complete(vec![text("A long answer.")]))
            .streams([text("A short one.")]);
        world.send("Hello");
        world.drive_to(StateKind::Streaming);
        steer(&mut world, "steer-1", "Shorter");
        steer(&mut world, "steer-2", "Much shorter");
        world.drive();
        assert_eq!(*world.outcome(), Outcome::Success);
        assert_eq!(world.seen.requests().len(), 2);
        assert_eq!(
            taken(&world),
            [("steer-1".to_owned(), 1), ("steer-2".to_owned(), 1)]
        );
        assert_eq!(world.seen.streamed_text(), "A long answer.A short one.");
        let ids = ids(&world);
        assert_eq!((ids[0], ids[2], ids[3]), ("user-1", "steer-1", "steer-2"));
        assert_eq!(ids.len(), 5);
        assert_eq!(refused(&world), []);
    }
}

#[test]
fn typed_in_any_state_of_the_turn_it_is_taken_in() {
    for state in [
        StateKind::Opening,
        StateKind::Waiting,
        StateKind::Streaming,
        StateKind::ExecutingTools,
    ] {
        let mut world = working(Dialect::OpenAiChat)
            .reply(Reply::Unreachable)
            .streams([text("First."), call("c", "work", "{}")]);
        world.fallback_reply = Some(Reply::Complete(vec![text("Then.")]));
        world.send("Hello");
        world.drive_to(state);
        steer(&mut world, "steer-1", "And");
        world.drive();
        assert_eq!(*world.outcome(), Outcome::Success, "{state}");
        assert_eq!(taken(&world).len(), 1, "{state}");
        world.assert_valid_history();
    }
}

#[test]
fn typed_while_the_agent_asks_it_goes_with_the_answers() {
    let mut world = crate::world::ag_ui()
        .streams([text("Which?"), asks(&["a"])])
        .streams([text("Thanks.")]);
    world.send("Hello");
    world.drive_to(StateKind::Interrupted);
    steer(&mut world, "steer-1", "And");
    world
        .input(Input::Resume(vec![answer("a")]))
        .expect("all are answered");
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(taken(&world), [("steer-1".to_owned(), 1)]);
    let request = &world.seen.requests()[1];
    assert!(request["resume"].is_array());
    let last = request["messages"].as_array().expect("a list").last();
    assert_eq!(last.expect("one")["id"], "steer-1");
}

#[test]
fn typed_while_the_last_hop_sums_up_it_is_answered_too() {
    let mut world = greedy(LimitPolicy::SumUp);
    world.fallback_reply = None;
    let mut world = world
        .streams([call("c", "work", "{}")])
        .streams([call("c", "work", "{}")])
        .streams([call("c", "work", "{}")])
        .streams([text("In sum.")])
        .streams([text("As you say.")]);
    world.send("Hello");
    world.drive_until(|world| world.machine.hop() == 3);
    steer(&mut world, "steer-1", "And");
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.seen.requests().len(), 5);
    assert!(world.seen.requests()[4].get("tools").is_none());
}

#[test]
fn it_takes_no_round_of_tools() {
    let mut world = greedy(LimitPolicy::Complete);
    world.fallback_reply = None;
    let mut world = world
        .streams([text("One.")])
        .streams([call("c", "work", "{}")])
        .streams([call("c", "work", "{}")])
        .streams([text("Done.")]);
    world.send("Hello");
    steer(&mut world, "steer-1", "And");
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.seen.invocations().len(), 2);
}

#[test]
fn i06c_the_hop_that_answers_it_opens_only_once_it_is_stored() {
    let mut world = stored(Dialect::OpenAiChat, |_| {})
        .streams([text("One.")])
        .streams([text("Two.")]);
    world.store.takes = 1_000;
    world.send("Hello");
    world.drive_to(StateKind::Streaming);
    steer(&mut world, "steer-1", "And");
    world.drive_until(|world| world.machine.hop() == 1);
    assert_eq!(world.seen.requests().len(), 1);
    world.drive_until(|world| world.seen.requests().len() == 2);
    assert_eq!(kinds(&world), ["text", "steering"]);
    assert_eq!(world.store.blocks[1].hop, 1);
    assert_eq!(
        world.store.blocks[1].content,
        BlockContent::Steering {
            message: Box::new(Message::user("steer-1", "And"))
        }
    );
    world.drive();
    assert_eq!(kinds(&world), ["text", "steering", "text"]);
}

#[test]
fn a_turn_that_ends_otherwise_gives_every_message_back_before_its_end() {
    type End = fn(&mut World);
    let ends: [(Reply, End); 5] = [
        (Reply::Silent, World::cancel),
        (Reply::Complete(vec![text("Half"), Part::Cut]), World::drive),
        (
            Reply::Complete(vec![text("Half"), Part::Error("gone".into())]),
            World::drive,
        ),
        (Reply::Broken(vec![text("Half"), Part::Cut]), World::drive),
        (
            Reply::Body(Some("text/html"), b"<html>".to_vec()),
            World::drive,
        ),
    ];
    for (answer, end) in ends {
        let mut world = crate::world::chat().reply(answer.clone());
        world.send("Hello");
        steer(&mut world, "steer-1", "And");
        steer(&mut world, "steer-2", "And then");
        end(&mut world);
        let back = [
            (Message::user("steer-1", "And"), SteeringRefusal::TurnOver),
            (
                Message::user("steer-2", "And then"),
                SteeringRefusal::TurnOver,
            ),
        ];
        assert_eq!(refused(&world), back, "{answer:?}");
        let last = world.seen.events().last();
        assert!(matches!(last, Some(RunEvent::Completed(_))));
        assert!(!ids(&world).contains(&"steer-1"));
    }
}

#[test]
fn a_turn_at_its_limit_gives_the_message_back() {
    let mut world = greedy(LimitPolicy::Complete);
    world.send("Hello");
    world.drive_until(|world| world.machine.hop() == 2);
    steer(&mut world, "steer-1", "And");
    world.drive();
    assert!(matches!(world.outcome(), Outcome::LimitReached { .. }));
    assert_eq!(refused(&world).len(), 1);
    world.assert_valid_history();
}

#[test]
fn typed_after_the_end_it_is_given_back_and_is_no_mistake() {
    let mut world = crate::world::chat().streams([text("Yes.")]).turn();
    let snapshot = world.machine.snapshot();
    steer(&mut world, "steer-1", "And");
    let message = Message::user("steer-1", "And");
    assert_eq!(refused(&world), [(message, SteeringRefusal::TurnOver)]);
    assert_eq!(world.machine.snapshot(), snapshot);
}

#[test]
fn before_the_turn_it_is_a_mistake() {
    let mut world = crate::world::chat();
    let message = Box::new(Message::user("steer-1", "And"));
    let misuse = Misuse::WrongState {
        state: StateKind::Idle,
        input: "Steer",
    };
    assert_eq!(world.input(Input::Steer(message)), Err(misuse));
}

#[test]
fn only_so_many_wait_and_the_rest_is_given_back() {
    let mut world = crate::world::chat()
        .streams([text("One.")])
        .streams([text("Two.")]);
    world.send("Hello");
    for number in 0..20 {
        steer(&mut world, &format!("steer-{number}"), "And");
    }
    let back: Vec<_> = refused(&world)
        .into_iter()
        .map(|(message, reason)| (message.id().to_string(), reason))
        .collect();
    let full = |number| (format!("steer-{number}"), SteeringRefusal::QueueFull);
    assert_eq!(back, [full(16), full(17), full(18), full(19)]);
    world.drive();
    assert_eq!(taken(&world).len(), 16);
    assert_eq!(world.machine.hop(), 1);
}

#[test]
fn an_id_that_is_known_is_refused() {
    let mut world = crate::world::chat()
        .streams([text("One.")])
        .streams([text("Two.")]);
    world.send("Hello");
    steer(&mut world, "user-1", "The same as the first");
    steer(&mut world, "steer-1", "And");
    steer(&mut world, "steer-1", "And again");
    let reasons: Vec<_> = refused(&world).into_iter().map(|(_, why)| why).collect();
    assert_eq!(
        reasons,
        [SteeringRefusal::DuplicateId, SteeringRefusal::DuplicateId]
    );
    world.drive();
    assert_eq!(taken(&world).len(), 1);
}

#[test]
fn an_id_that_an_agent_brings_meanwhile_is_refused_and_takes_no_hop() {
    let snapshot = serde_json::json!({"type": "MESSAGES_SNAPSHOT", "messages": [
        {"id": "user-1", "role": "user", "content": "Hello"},
        {"id": "steer-1", "role": "user", "content": "Mine"},
    ]});
    let mut world = crate::world::ag_ui().streams([Part::Event(snapshot), text("One.")]);
    world.send("Hello");
    steer(&mut world, "steer-1", "And");
    world.drive();
    let message = Message::user("steer-1", "And");
    assert_eq!(refused(&world), [(message, SteeringRefusal::DuplicateId)]);
    assert_eq!(*world.outcome(), Outcome::Success);
}

#[test]
fn only_the_users_own_messages_are_taken() {
    let mut world = crate::world::chat().streams([text("One.")]);
    world.send("Hello");
    let message = Message::Tool(Default::default());
    world
        .input(Input::Steer(Box::new(message.clone())))
        .expect("it is no mistake");
    assert_eq!(refused(&world), [(message, SteeringRefusal::NotFromUser)]);
    world.drive();
    assert_eq!(world.seen.requests().len(), 1);
}

#[test]
fn what_waits_survives_a_restore_and_a_crash() {
    for dies in [false, true] {
        let mut world = working(Dialect::OpenAiChat)
            .streams([call("c", "work", "{}")])
            .streams([text("Done.")]);
        world.send("Hello");
        world.drive_to(StateKind::ExecutingTools);
        steer(&mut world, "steer-1", "And");
        let snapshot = world.machine.snapshot();
        let config = Arc::clone(&world.config);
        if dies {
            let machine = RunMachine::revive(&snapshot, config, Timestamp(world.now));
            world.take_over(machine.expect("readable"));
        } else {
            world.put_back(RunMachine::restore(&snapshot, config).expect("readable"));
        }
        world.drive();
        assert_eq!(taken(&world).len(), 1);
        world.assert_valid_history();
    }
}

#[test]
fn a_host_that_goes_away_gives_back_what_waits_and_it_is_in_one_place_only() {
    let mut world = crate::world::chat()
        .reply(Reply::Silent)
        .streams([text("Done.")]);
    world.send("Hello");
    steer(&mut world, "steer-1", "And");
    world.input(Input::Dispose).expect("at any time");
    let message = Message::user("steer-1", "And");
    assert_eq!(refused(&world), [(message, SteeringRefusal::Disposed)]);
    let snapshot = world.machine.snapshot();
    let machine = RunMachine::revive(&snapshot, Arc::clone(&world.config), Timestamp(world.now));
    world.take_over(machine.expect("readable"));
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(taken(&world), []);
}
