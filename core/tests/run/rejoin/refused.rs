//! Bodies that do not go on with what the stream had said.

use super::backend::Agent;
use super::{body, world};
use crate::world::{Ending, Reply, World};
use serde_json::{Value, json};
use stepwell_core::dialect::Resumption;
use stepwell_core::run::{Failure, Outcome, RunEvent};

/// A turn whose stream breaks off after `heard`, and then says this.
fn turn(way: Resumption, heard: &[Value], then: &[Value]) -> World {
    let (world, _) = world(way);
    world
        .reply(Reply::Bytes(body(heard), Ending::Broken))
        .reply(Reply::Bytes(body(then), Ending::Complete))
        .turn()
}

fn refusal(world: &World) -> &str {
    match world.outcome() {
        Outcome::Failed {
            failure: Failure::Stream { message },
        } => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_replay_that_says_something_else_fails_the_turn_and_keeps_what_was_said() {
    let said = Agent::saying(&[0, 8, 8, 8]).events;
    let mut other_text = said.clone();
    other_text[3]["delta"] = json!("something else");
    let mut other_id = said.clone();
    for event in &mut other_id[2..] {
        if event.get("messageId").is_some() {
            event["messageId"] = json!("another");
        }
    }
    let mut without = said.clone();
    without.remove(3);
    for (what, then) in [("text", other_text), ("id", other_id), ("gap", without)] {
        let world = turn(Resumption::Replay, &said[..5], &then);
        let message = refusal(&world);
        assert!(message.contains("does not continue"), "{what}: {message}");
        let text = world.machine.transcript().text();
        assert_eq!(text, "zwölf 三", "{what}");
        world.assert_valid_history();
    }
}

#[test]
fn a_replay_that_ends_before_where_it_broke_off_is_no_success() {
    let said = Agent::saying(&[0, 8, 8, 8]).events;
    let (world, _) = world(Resumption::Replay);
    let mut world = world.reply(Reply::Bytes(body(&said[..5]), Ending::Broken));
    world.fallback_reply = Some(Reply::Bytes(body(&said[..4]), Ending::Complete));
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Truncated);
    let retries = |event: &&RunEvent| matches!(event, RunEvent::Retrying { .. });
    assert_eq!(
        world.seen.events().filter(retries).count(),
        2,
        "a body without anything new counts as a try"
    );
}

#[test]
fn a_body_without_a_snapshot_is_no_way_to_go_on() {
    let said = Agent::saying(&[0, 8, 8, 8]).events;
    for then in [&said[5..], &said[..]] {
        let world = turn(Resumption::Snapshot, &said[..5], then);
        let message = refusal(&world);
        assert!(message.contains("MESSAGES_SNAPSHOT"), "{message}");
        assert_eq!(world.machine.transcript().text(), "zwölf 三");
    }
}

#[test]
fn a_snapshot_that_replaces_what_was_said_counts() {
    let said = Agent::saying(&[0, 8, 8, 8]).events;
    let message = json!({"id": "text-0", "role": "assistant", "content": "All of it anew."});
    let user = json!({"id": "user-1", "role": "user", "content": "Go on"});
    let then = [
        json!({"type": "RUN_STARTED", "threadId": "thread", "runId": "run-1"}),
        json!({"type": "MESSAGES_SNAPSHOT", "messages": [user, message]}),
        json!({"type": "RUN_FINISHED", "threadId": "thread", "runId": "run-1"}),
    ];
    let world = turn(Resumption::Snapshot, &said[..5], &then);
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(world.machine.transcript().text(), "All of it anew.");
    let ends = world
        .seen
        .ag_ui()
        .filter(|event| event.kind() == "TEXT_MESSAGE_END");
    assert_eq!(ends.count(), 1, "what was seen to begin is seen to end");
}
