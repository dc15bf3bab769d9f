//! Answers that the provider has only paused, for its own tools came to the limit of their rounds.

use crate::limits::rounds;
use crate::world::{Ending, Reply, World};
use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::provider;
use stepwell_core::run::{Incomplete, Input, LimitPolicy, Outcome, RunConfig, RunMachine};

/// A stream of these blocks, each whole, that ends for this reason.
fn answer(blocks: &[Value], stop_reason: &str) -> Reply {
    let mut events = vec![json!({"type": "message_start", "message": {"model": "m"}})];
    for (index, block) in blocks.iter().enumerate() {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": stop_reason}}));
    events.push(json!({"type": "message_stop"}));
    let frames = events.iter().map(|event| format!("data: {event}\n\n"));
    Reply::Bytes(frames.collect::<String>().into_bytes(), Ending::Complete)
}

fn said(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn search(id: &str) -> Value {
    json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "q"}})
}

fn found(id: &str) -> Value {
    json!({"type": "web_search_tool_result", "tool_use_id": id, "content": []})
}

fn world(setup: impl FnOnce(&mut RunConfig), answers: impl IntoIterator<Item = Reply>) -> World {
    let mut world = crate::world::with(Dialect::Anthropic, |config| {
        let anthropic = provider::find("anthropic").expect("the table has it");
        let address = Some("http://localhost/v1");
        config.endpoint = anthropic
            .endpoint(None, "m", address, Some("sk-secret".into()))
            .expect("nothing is missing");
        let search = json!([{"type": "web_search_20250305", "name": "web_search"}]);
        config.settings.extra.insert("tools".to_owned(), search);
        config.limits.max_tool_rounds = 2;
        setup(config);
    });
    world.replies.extend(answers);
    world
}

/// Of each request who speaks, and what.
fn turns(world: &World) -> Vec<Value> {
    let requests = world.seen.requests().into_iter();
    requests
        .map(|mut request| request["messages"].take())
        .collect()
}

#[test]
fn it_is_sent_back_as_it_came_and_goes_on() {
    let first = [said("I look."), search("s1"), found("s1"), search("s2")];
    let second = [found("s2"), said("There it is.")];
    let world = world(
        |_| {},
        [answer(&first, "pause_turn"), answer(&second, "end_turn")],
    )
    .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let turns = turns(&world);
    assert_eq!(turns.len(), 2);
    assert_eq!(turns[1].as_array().map(Vec::len), Some(2));
    assert_eq!(
        turns[1][1],
        json!({"role": "assistant", "content": first}),
        "nothing is said behind it"
    );
    world.assert_valid_history();
    // The user's next question finds it as one answer.
    let whole = [&first[..], &second[..]].concat();
    let history = world.machine.transcript().clone();
    let mut next = self::world(
        |config| config.retry.attempts = 1,
        [answer(&[said("Yes.")], "end_turn")],
    );
    next.machine = RunMachine::new(next.config.clone(), "thread".into(), history);
    let next = next.turn();
    assert_eq!(self::turns(&next)[0][1]["content"], json!(whole));
}

#[test]
fn each_is_a_round_of_tools_and_there_are_only_so_many() {
    let paused = || answer(&[search("s"), found("s")], "pause_turn");
    let mut world = world(|_| {}, []);
    world.fallback_reply = Some(paused());
    let world = world.turn();
    assert_eq!(*world.outcome(), rounds(2));
    assert_eq!(world.machine.hop(), 2);
    let mut world = self::world(|config| config.limits.at_limit = LimitPolicy::SumUp, []);
    world.fallback_reply = Some(paused());
    let world = world.turn();
    assert_eq!(*world.outcome(), rounds(2));
    assert_eq!(world.machine.hop(), 3, "one more, to sum up");
}

#[test]
fn one_that_said_nothing_is_asked_for_again() {
    let answers = [
        answer(&[], "pause_turn"),
        answer(&[said("Hi.")], "end_turn"),
    ];
    let world = world(|_| {}, answers).turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let turns = turns(&world);
    assert_eq!(turns[0], turns[1]);
}

#[test]
fn one_behind_a_compaction_goes_on_too() {
    let compaction = json!({"type": "compaction", "content": "In short."});
    let answers = [
        answer(std::slice::from_ref(&compaction), "compaction"),
        answer(&[said("Hi.")], "end_turn"),
    ];
    let world = world(|_| {}, answers).turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    assert_eq!(turns(&world)[1][1]["content"], json!([compaction]));
    world.assert_valid_history();
}

#[test]
fn one_that_ends_with_words_is_told_to_go_on() {
    let first = [search("s"), found("s"), said("So far")];
    let answers = [
        answer(&first, "pause_turn"),
        answer(&[said("so good.")], "end_turn"),
    ];
    let world = world(|_| {}, answers).turn();
    assert_eq!(turns(&world)[1][1]["content"], json!(first));
    assert_eq!(turns(&world)[1][2]["role"], "user");
    world.assert_valid_history();
}

#[test]
fn without_continuation_it_is_an_answer_that_is_not_whole() {
    let world = world(
        |config| config.limits.continue_after_tools = false,
        [answer(&[search("s"), found("s")], "pause_turn")],
    )
    .turn();
    let reason = Incomplete::Limit;
    assert_eq!(*world.outcome(), Outcome::Incomplete { reason });
}

#[test]
fn what_the_user_types_meanwhile_is_answered_with_it() {
    let answers = [
        answer(&[said("I look."), search("s")], "pause_turn"),
        answer(&[said("Stopped.")], "end_turn"),
    ];
    let mut world = world(|_| {}, answers);
    world.send("hi");
    let message = Message::user("typed", "Stop that.");
    world
        .input(Input::Steer(Box::new(message)))
        .expect("the user may type at any time");
    world.drive();
    let turns = turns(&world);
    assert_eq!(turns[1][1]["content"], json!([said("I look.")]));
    assert_eq!(turns[1][2]["content"], json!([said("Stop that.")]));
    world.assert_valid_history();
}
