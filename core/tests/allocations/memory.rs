//! What a run holds while it streams: the text, and little over it.

use crate::{CHUNK, body};
use allocation_counter::measure;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;
use stepwell_core::conversation::Conversation;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::run::{Effect, EffectId, Input, Output, RunConfig, RunMachine, Start};
use stepwell_core::{Timestamp, provider};

/// So long is the text: a power of two, which the room that a growing text has is too.
const TEXT: usize = 1 << 19;

/// All that a run may hold beside its text.
const BESIDE: usize = 64 << 10;

const PIECE: &str = "sixteen bytes of";

/// A machine that waits for bytes in this dialect.
fn streaming(dialect: Dialect) -> (RunMachine, EffectId) {
    let mut endpoints = provider::all().iter().flat_map(|provider| {
        let names = provider.apis.iter().map(|api| &*api.name);
        names.filter_map(|api| {
            let endpoint =
                provider.endpoint(Some(api), "m", Some("http://localhost"), Some("key".into()));
            endpoint.ok()
        })
    });
    let endpoint = endpoints.find(|endpoint| endpoint.dialect == dialect);
    let config = Arc::new(RunConfig::new(endpoint.expect("a provider speaks it")));
    let mut machine = RunMachine::new(config, "t".into(), Conversation::default());
    let start = Start::new("r", Message::user("q", "?"));
    machine
        .start(start, Timestamp(0))
        .expect("a new machine starts");
    let opens = std::iter::from_fn(|| machine.poll_output()).find_map(|output| match output {
        Output::Effect(effect, Effect::OpenStream { .. }) => Some(effect),
        _ => None,
    });
    let effect = opens.expect("a started machine opens a stream");
    let content_type = (dialect != Dialect::Ollama).then(|| "text/event-stream".to_owned());
    let opened = Input::Opened {
        effect,
        content_type,
    };
    machine.handle(opened, Timestamp(0)).expect("in its place");
    (machine, effect)
}

fn assert_little(dialect: Dialect, opening: &[Value], delta: &Value) {
    let deltas = std::iter::repeat_n(delta, TEXT / PIECE.len());
    let bytes = body(dialect, opening.iter().chain(deltas).cloned());
    let (mut machine, effect) = streaming(dialect);
    let held = measure(|| {
        for chunk in bytes.as_bytes().chunks(CHUNK) {
            let bytes = Cow::Borrowed(chunk);
            let received = Input::Received { effect, bytes };
            machine
                .handle(received, Timestamp(0))
                .expect("in its place");
            while machine.poll_output().is_some() {}
        }
    });
    let conversation = machine.conversation();
    let arguments = conversation.tool_calls();
    let arguments: usize = arguments.map(|call| call.function.arguments.len()).sum();
    assert_eq!(conversation.text().len() + arguments, TEXT, "{dialect:?}");
    let at_rest = usize::try_from(held.bytes_current).expect("no less than before");
    let at_most = usize::try_from(held.bytes_max).expect("small");
    println!("{dialect:?}: {at_rest} bytes held, {at_most} at most");
    assert!(
        at_rest <= TEXT + BESIDE,
        "{dialect:?}: {at_rest} bytes held"
    );
    // While a text moves to twice its room, the old one stands beside it.
    assert!(
        at_most <= TEXT + TEXT / 2 + BESIDE,
        "{dialect:?}: {at_most} bytes held at once"
    );
}

#[test]
fn a_stream_takes_the_room_of_its_text_and_little_beside_it() {
    let chat =
        |delta: Value| json!({"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta}]});
    let of_chat = [chat(json!({"role": "assistant", "content": ""}))];
    let said = chat(json!({ "content": PIECE }));
    assert_little(Dialect::OpenAiChat, &of_chat, &said);
    assert_little(Dialect::Mistral, &of_chat, &said);
    let call = |call: Value| chat(json!({ "tool_calls": [call] }));
    let begins = call(json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}));
    let goes_on = call(json!({"index": 0, "function": {"arguments": PIECE}}));
    assert_little(Dialect::OpenAiChat, &[begins], &goes_on);

    let item = json!({"type": "message", "id": "i", "role": "assistant", "content": []});
    let of_responses = [
        json!({"type": "response.created", "response": {"id": "r", "model": "m"}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
    ];
    let said = json!({
        "type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": "i", "delta": PIECE
    });
    assert_little(Dialect::OpenAiResponses, &of_responses, &said);

    let message =
        json!({"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []});
    let of_messages = [
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    ];
    let piece = json!({"type": "text_delta", "text": PIECE});
    let said = json!({"type": "content_block_delta", "index": 0, "delta": piece});
    assert_little(Dialect::Anthropic, &of_messages, &said);

    let said = json!({"candidates": [{"content": {"parts": [{"text": PIECE}], "role": "model"}, "index": 0}]});
    assert_little(Dialect::Gemini, &[], &said);
    let said =
        json!({"model": "m", "message": {"role": "assistant", "content": PIECE}, "done": false});
    assert_little(Dialect::Ollama, &[], &said);
    let start = json!({"type": "message-start", "delta": {"message": {"role": "assistant"}}});
    let content = json!({"message": {"content": {"text": PIECE}}});
    let said = json!({"type": "content-delta", "index": 0, "delta": content});
    assert_little(Dialect::Cohere, &[start], &said);
    let of_agent = [
        json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"}),
        json!({"type": "TEXT_MESSAGE_START", "messageId": "m"}),
    ];
    let said = json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": PIECE});
    assert_little(Dialect::AgUi, &of_agent, &said);
}
