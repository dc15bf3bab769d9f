//! Responses: a tool runs with the arguments that end its call, whatever the deltas before them were.

use crate::world::{Reply, ToolReply, offer};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::{Event, REPLACED};
use stepwell_core::provider;
use stepwell_core::run::{Outcome, RunEvent};
use stepwell_core::tool::Tool;

const ARGUMENTS: &str = r#"{"expression":"6*7"}"#;

fn answer(frames: &[Value]) -> Reply {
    let frames = frames.iter().map(|frame| format!("data: {frame}\n\n"));
    Reply::Body(Some("text/event-stream"), frames.collect::<String>().into())
}

fn response(kind: &str, status: &str, output: &[Value]) -> Value {
    json!({"type": kind, "response": {"id": "r", "status": status, "output": output}})
}

fn call(arguments: &str, status: &str) -> Value {
    json!({"id": "fc", "type": "function_call", "call_id": "c", "name": "calculator", "arguments": arguments, "status": status})
}

/// What the tool got, and what the app was told to replace.
fn turn(deltas: &[&str]) -> (Vec<String>, Vec<Value>) {
    let mut frames = vec![
        response("response.created", "in_progress", &[]),
        json!({"type": "response.output_item.added", "output_index": 0, "item": call("", "in_progress")}),
    ];
    frames.extend(deltas.iter().map(|delta| {
        json!({"type": "response.function_call_arguments.delta", "item_id": "fc", "output_index": 0, "delta": delta})
    }));
    let complete = call(ARGUMENTS, "completed");
    frames.extend([
        json!({"type": "response.function_call_arguments.done", "item_id": "fc", "output_index": 0, "arguments": ARGUMENTS}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": complete}),
        response("response.completed", "completed", &[complete]),
    ]);
    let said = json!({"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "It is 42."}]});
    let last = [
        response("response.created", "in_progress", &[]),
        json!({"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": 0, "delta": "It is 42."}),
        response("response.completed", "completed", &[said]),
    ];
    let seen = Rc::<RefCell<Vec<String>>>::default();
    let calls = Rc::clone(&seen);
    let provider = provider::find("openai").expect("a provider of the table");
    let endpoint = provider.endpoint(
        Some("responses"),
        "a-model",
        Some("http://localhost"),
        Some("k".into()),
    );
    let world = crate::world::with(Dialect::OpenAiChat, |config| {
        config.endpoint = endpoint.expect("nothing is missing");
        offer(config, Tool::new("calculator", "Calculates."));
    })
    .tool("calculator", move |call| {
        calls.borrow_mut().push(call.arguments.raw.clone());
        ToolReply::text("42")
    })
    .reply(answer(&frames))
    .reply(answer(&last))
    .turn();
    assert_eq!(*world.outcome(), Outcome::Success, "{deltas:?}");
    assert_eq!(world.machine.transcript().text(), "It is 42.");
    // The model reads its own call with the same arguments.
    let sent = &world.seen.requests()[1]["input"];
    let sent = sent.as_array().expect("items").iter();
    let sent: Vec<_> = sent
        .filter(|item| item["type"] == "function_call")
        .collect();
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert_eq!(sent[0]["arguments"], ARGUMENTS);
    let replaced = world.seen.events().filter_map(|event| match event {
        RunEvent::AgUi(Event::Custom(event)) if event.name == REPLACED => Some(event.value.clone()),
        _ => None,
    });
    let replaced = replaced.collect();
    (seen.take(), replaced)
}

#[test]
fn completes_arguments_that_the_deltas_lack() {
    for deltas in [&[][..], &["{\"expr"], &[ARGUMENTS]] {
        assert_eq!(
            turn(deltas),
            (vec![ARGUMENTS.to_owned()], vec![]),
            "{deltas:?}"
        );
    }
}

#[test]
fn replaces_arguments_that_the_deltas_contradict() {
    let told = json!({"toolCallId": "c", "arguments": ARGUMENTS});
    for deltas in [&[r#"{"expression":"6*8"}"#][..], &["{\"a\"", ":1}"]] {
        let expected = (vec![ARGUMENTS.to_owned()], vec![told.clone()]);
        assert_eq!(turn(deltas), expected, "{deltas:?}");
    }
}
