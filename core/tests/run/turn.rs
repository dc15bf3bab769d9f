//! Whole turns that go well.

use crate::world::{Reply, ToolReply, World, offer};
use serde_json::{Value, json};
use stepwell_core::dialect::{Dialect, ReasoningEffort};
use stepwell_core::event::{Event, Message};
use stepwell_core::provider;
use stepwell_core::run::{Outcome, RunEvent};
use stepwell_core::tool::{Tool, ToolResult};
use stepwell_core::transcript::ToolCallStatus;
use stepwell_testing::reply::{Call, Part, call, text};

pub const BOTH: [Dialect; 2] = [Dialect::OpenAiChat, Dialect::AgUi];

/// The tool of the demo: it knows a number for each name.
pub fn secret_number() -> Tool {
    Tool::new("get_secret_number", "The secret number of a person.").parameters(json!({
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": false
    }))
}

fn number_of(name: &str) -> &'static str {
    if name == "alice" { "42" } else { "7" }
}

pub fn secret_numbers(dialect: Dialect) -> World {
    crate::world::with(dialect, |config| offer(config, secret_number()))
        .tool("get_secret_number", |invocation| {
            let name = invocation.arguments.value["name"]
                .as_str()
                .expect("the schema has it");
            // Alice's takes longer, so that they finish in the other order.
            ToolReply::text(number_of(name)).after(if name == "alice" { 40 } else { 10 })
        })
        .streams([
            Part::Calls(vec![
                Call::new("call-a", "get_secret_number", r#"{"name":"alice"}"#),
                Call::new("call-b", "get_secret_number", r#"{"name":"bob"}"#),
            ]),
            Part::Usage {
                input: 10,
                output: 4,
            },
        ])
        .streams([
            text("Alice's number is 42, Bob's is 7."),
            Part::Usage {
                input: 20,
                output: 8,
            },
        ])
}

#[test]
fn two_calls_run_side_by_side_and_one_continuation_answers() {
    for dialect in BOTH {
        let world = secret_numbers(dialect).turn();
        assert_eq!(*world.outcome(), Outcome::Success);
        assert_eq!(
            world.machine.transcript().text(),
            "Alice's number is 42, Bob's is 7."
        );
        assert_eq!(world.machine.hop(), 1);
        let names = world.seen.effect_names();
        assert_eq!(
            names,
            [
                "open open:0:0",
                "run tool:0:0",
                "run tool:0:1",
                "open open:1:0"
            ]
        );
        let pair = |id: &str, text: &str| (id.to_owned(), text.to_owned());
        assert_eq!(world.results(), [pair("call-a", "42"), pair("call-b", "7")]);
        world.assert_valid_history();
    }
}

#[test]
fn the_next_request_carries_the_calls_and_their_results_in_order() {
    let world = secret_numbers(Dialect::OpenAiChat).turn();
    let requests = world.seen.requests();
    let messages = requests[1]["messages"].as_array().expect("a list");
    let roles: Vec<_> = messages
        .iter()
        .map(|message| message["role"].as_str().expect("a role"))
        .collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool"]);
    assert_eq!(messages[1]["tool_calls"][0]["id"], "call-a");
    assert_eq!(messages[2]["tool_call_id"], "call-a");
    assert_eq!(messages[2]["content"], "42");
    assert_eq!(messages[3]["content"], "7");
}

#[test]
fn the_user_sees_one_turn() {
    let world = secret_numbers(Dialect::OpenAiChat).turn();
    let events: Vec<_> = world.seen.events().collect();
    assert!(matches!(events.first(), Some(RunEvent::Started { .. })));
    assert!(matches!(
        events.last(),
        Some(RunEvent::Completed(Outcome::Success))
    ));
    assert_eq!(world.seen.ends(), 1);
    let started = events
        .iter()
        .filter(|event| matches!(event, RunEvent::Started { .. }));
    assert_eq!(started.count(), 1);
    let hops = world
        .seen
        .ag_ui()
        .filter(|event| matches!(event, Event::RunStarted(_) | Event::RunFinished(_)));
    assert_eq!(hops.count(), 0, "the hops' own ends are not shown");
}

#[test]
fn a_calls_status_moves_on_step_by_step() {
    let world = secret_numbers(Dialect::AgUi).turn();
    for id in ["call-a", "call-b"] {
        assert_eq!(
            world.seen.statuses(id),
            [ToolCallStatus::Executing, ToolCallStatus::Completed]
        );
    }
    let result = world.seen.events().find_map(|event| match event {
        RunEvent::ToolCallUpdate(update) => update.result.clone(),
        _ => None,
    });
    assert_eq!(
        result,
        Some(ToolResult::Ok("7".into())),
        "Bob's comes first"
    );
}

#[test]
fn usage_is_summed_over_the_hops() {
    for dialect in BOTH {
        let world = secret_numbers(dialect).turn();
        let usage = world.machine.usage();
        assert_eq!(
            (usage.input_tokens, usage.output_tokens),
            (Some(30), Some(12))
        );
    }
}

#[test]
fn text_and_calls_of_one_hop_are_both_kept() {
    for dialect in BOTH {
        let world = crate::world::with(dialect, |config| {
            offer(config, Tool::new("clock", "The time."));
        })
        .tool("clock", |_| ToolReply::text("noon"))
        .streams([text("Let me see. "), call("c", "clock", "{}")])
        .streams([text("It is noon.")])
        .turn();
        assert_eq!(*world.outcome(), Outcome::Success);
        assert_eq!(world.machine.transcript().text(), "Let me see. It is noon.");
        assert_eq!(world.machine.transcript().tool_calls().count(), 1);
        world.assert_valid_history();
    }
}

#[test]
fn reasoning_is_kept_apart_from_the_text() {
    for dialect in BOTH {
        let world = crate::world::of(dialect)
            .streams([Part::Reasoning("Hm.".into()), text("Yes.")])
            .turn();
        assert_eq!(world.machine.transcript().reasoning(), "Hm.");
        assert_eq!(world.machine.transcript().text(), "Yes.");
    }
}

#[test]
fn instructions_are_sent_first_and_are_not_part_of_the_history() {
    for dialect in BOTH {
        let world = crate::world::with(dialect, |config| {
            config.instructions = Some("Be brief.".into());
        })
        .streams([text("Yes.")])
        .turn();
        let request = &world.seen.requests()[0];
        assert_eq!(request["messages"][0]["role"], "system");
        assert_eq!(request["messages"][0]["content"], "Be brief.");
        assert!(
            !world
                .messages()
                .iter()
                .any(|message| matches!(message, Message::System(_)))
        );
    }
}

#[test]
fn a_message_that_is_known_already_is_not_added_twice_and_said_so() {
    use stepwell_core::run::RunMachine;
    use stepwell_core::transcript::Transcript;
    let mut world = crate::world::chat().streams([text("Yes.")]);
    let history = Transcript::new(vec![Message::user("user-1", "Before")]);
    world.machine = RunMachine::new(world.config.clone(), "thread".into(), history);
    world.send("Again");
    world.drive();
    assert_eq!(world.messages().len(), 2);
    assert!(world.seen.warnings()[0].contains("`user-1`"));
}

/// Only the provider that signed its reasoning can read the signature.
#[test]
fn what_a_provider_signed_goes_back_to_it_in_the_next_hop() {
    let block = |index: u32, start: Value, delta: Value| {
        [
            json!({"type": "content_block_start", "index": index, "content_block": start}),
            json!({"type": "content_block_delta", "index": index, "delta": delta}),
            json!({"type": "content_block_stop", "index": index}),
        ]
    };
    let message = json!({"id": "msg", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": null, "usage": {"input_tokens": 1, "output_tokens": 1}});
    let frames = [
        &[json!({"type": "message_start", "message": message})][..],
        &block(
            0,
            json!({"type": "thinking", "thinking": "Hm.", "signature": ""}),
            json!({"type": "signature_delta", "signature": "c2ln"}),
        ),
        &block(
            1,
            json!({"type": "tool_use", "id": "toolu_1", "name": "work", "input": {}}),
            json!({"type": "input_json_delta", "partial_json": "{}"}),
        ),
        &[
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}}),
            json!({"type": "message_stop"}),
        ],
    ];
    let frames = frames.concat();
    let frames = frames.iter().map(|frame| {
        let name = frame["type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {frame}\n\n")
    });
    let body = frames.collect::<String>().into_bytes();
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        let provider = provider::find("anthropic").expect("the table has it");
        config.settings.reasoning = Some(ReasoningEffort::Low);
        config.endpoint = provider
            .endpoint(None, "a-model", None, Some("key".into()))
            .expect("nothing is missing");
        offer(config, Tool::new("work", "Works."));
    })
    .tool("work", |_| ToolReply::text("ok"))
    .reply(Reply::Body(Some("text/event-stream"), body))
    .reply(Reply::Silent);
    world.send("Go on");
    world.drive_until(|world| world.seen.requests().len() == 2);
    let request = &world.seen.requests()[1];
    assert_eq!(
        request["messages"][1]["content"][0],
        json!({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"})
    );
}
