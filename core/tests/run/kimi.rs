//! Kimi counts the calls of each answer from 0, so that the ids of a turn repeat, and wants them back as they came.

use crate::world::{ToolReply, World, offer};
use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::run::{Input, Outcome, RunMachine, Start};
use stepwell_core::tool::Tool;
use stepwell_core::transcript::Transcript;
use stepwell_testing::reply::{Call, Part, call, text};

fn world() -> World {
    crate::world::with(Dialect::OpenAiChat, |config| {
        config.endpoint.model = "kimi-k2-0905".to_owned();
        offer(config, Tool::new("look", "Looks."));
        offer(config, Tool::new("add", "Adds."));
    })
    .tool("look", |invocation| {
        ToolReply::text(&invocation.arguments.raw)
    })
    .tool("add", |_| ToolReply::text("sum"))
}

fn with_history(world: &World, messages: &[Message]) -> RunMachine {
    let transcript = Transcript::new(messages.to_vec());
    RunMachine::new(world.config.clone(), "thread".into(), transcript)
}

/// The ids in a request, each call's before its result's.
fn ids(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().expect("messages").iter();
    let ids = messages.flat_map(|message| {
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        let calls = calls.map(|call| call["id"].clone());
        calls
            .chain(message.get("tool_call_id").cloned())
            .collect::<Vec<_>>()
    });
    ids.map(|id| id.as_str().expect("a text").to_owned())
        .collect()
}

#[test]
fn ids_that_repeat_over_hops_and_turns_go_back_unchanged() {
    let rounds = [r#"{"a":1}"#, r#"{"a":2}"#, r#"{"a":3}"#];
    let mut first = world()
        .streams([call("functions.look:0", "look", rounds[0])])
        .streams([call("functions.look:0", "look", rounds[1])])
        .streams([text("Seen.")]);
    let start = Start::new("run-0", Message::user("user-0", "Look."));
    first.input(Input::Start(Box::new(start))).expect("idle");
    first.drive();
    assert_eq!(*first.outcome(), Outcome::Success);
    let mut world = world()
        .streams([Part::Calls(vec![
            Call::new("functions.look:0", "look", rounds[2]),
            Call::new("functions.add:1", "add", "{}"),
        ])])
        .streams([text("Added.")]);
    world.machine = with_history(&world, first.messages());
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let results = world.results().into_iter();
    let results: Vec<_> = results.map(|(_, result)| result).collect();
    assert_eq!(results, [rounds[0], rounds[1], rounds[2], "sum"]);
    let look = "functions.look:0";
    assert_eq!(
        ids(world.seen.requests().last().expect("a request")),
        [
            look,
            look,
            look,
            look,
            look,
            "functions.add:1",
            look,
            "functions.add:1"
        ]
    );
    world.assert_valid_history();
}

#[test]
fn a_server_with_ids_of_its_own_gets_kimis_back() {
    let world = world()
        .streams([call("chatcmpl-tool-1", "look", "{}")])
        .streams([call("chatcmpl-tool-2", "add", "{}")])
        .streams([text("Done.")])
        .turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    // The app keeps the ids that the server gave.
    assert_eq!(world.results()[0].0, "chatcmpl-tool-1");
    let requests = world.seen.requests();
    assert_eq!(ids(&requests[1]), ["functions.look:0", "functions.look:0"]);
    assert_eq!(
        ids(&requests[2]),
        [
            "functions.look:0",
            "functions.look:0",
            "functions.add:1",
            "functions.add:1"
        ]
    );
}

#[test]
fn the_history_of_another_model_gets_kimis_ids() {
    let mut world = world()
        .streams([call("functions.add:1", "add", "{}")])
        .streams([text("Done.")]);
    let history = json!([
        {"id": "u1", "role": "user", "content": "Look."},
        {"id": "a1", "role": "assistant", "toolCalls": [
            {"id": "toolu_01", "type": "function", "function": {"name": "look", "arguments": "{}"}},
        ]},
        {"id": "t1", "role": "tool", "toolCallId": "toolu_01", "content": "seen"},
        {"id": "a2", "role": "assistant", "content": "Seen."},
    ]);
    let history: Vec<_> = serde_json::from_value(history).expect("messages");
    world.machine = with_history(&world, &history);
    let world = world.turn();
    assert_eq!(*world.outcome(), Outcome::Success);
    let requests = world.seen.requests();
    assert_eq!(ids(&requests[0]), ["functions.look:0", "functions.look:0"]);
    assert_eq!(
        ids(&requests[1]),
        [
            "functions.look:0",
            "functions.look:0",
            "functions.add:1",
            "functions.add:1"
        ]
    );
}
