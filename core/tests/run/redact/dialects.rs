//! Calls whose arguments come in pieces, or whole, in each dialect: a redacted journal asks for the same.

use super::{relived, replays_alike};
use crate::journal::{parsed, written};
use crate::world::{Ending, Reply, ToolReply, World, offer};
use serde_json::{Value, json};
use stepwell_core::dialect::Dialect;
use stepwell_core::provider;
use stepwell_core::run::{Outcome, RunMachine};
use stepwell_core::tool::Tool;

/// Two calls, whose pieces come in turns where the dialect lets them.
pub(super) const FIRST: [&str; 2] = [r#"{"city":"Zeb"#, r#"ra","days":2}"#];
pub(super) const SECOND: [&str; 2] = [r#"{"city":"#, r#""Zebra"}"#];

fn sse(events: &[Value]) -> String {
    let frames = events.iter().map(|event| format!("data: {event}\n\n"));
    frames.collect()
}

fn anthropic() -> (String, String) {
    let start = json!({"type": "message_start", "message": {
        "id": "msg_zebra", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": null, "usage": {"input_tokens": 1, "output_tokens": 1},
    }});
    let block = |index: u8, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let call = |index: u8| {
        block(
            index,
            json!({"type": "tool_use", "id": format!("toolu_zebra{index}"), "name": "work", "input": {}}),
        )
    };
    let piece = |index: u8, piece: &str| json!({"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": piece}});
    let said = |text: &str| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
    let stop = |index: u8| json!({"type": "content_block_stop", "index": index});
    let end = |reason: &str| json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}});
    let over = json!({"type": "message_stop"});
    let asks = [
        start.clone(),
        block(0, json!({"type": "text", "text": ""})),
        said("The Zebra."),
        stop(0),
        call(1),
        piece(1, FIRST[0]),
        piece(1, FIRST[1]),
        stop(1),
        call(2),
        piece(2, SECOND[0]),
        piece(2, SECOND[1]),
        stop(2),
        block(3, json!({"type": "compaction", "content": null})),
        json!({"type": "content_block_delta", "index": 3, "delta": {"type": "compaction_delta", "content": "Zebra."}}),
        stop(3),
        block(
            4,
            json!({"type": "server_tool_use", "id": "srvtoolu_zebra", "name": "web_search", "input": {}}),
        ),
        piece(4, "{\"query\": \"Zebra\"}"),
        stop(4),
        block(
            5,
            json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_zebra", "content": [{"title": "Zebra"}]}),
        ),
        stop(5),
        end("tool_use"),
        over.clone(),
    ];
    let text = block(0, json!({"type": "text", "text": "Zebra."}));
    (
        sse(&asks),
        sse(&[start, text, stop(0), end("end_turn"), over]),
    )
}

/// The input of each call stands in its beginning.
fn anthropic_at_once() -> (String, String) {
    let call = |index: usize, input: &Value| {
        let block = json!({"type": "tool_use", "id": format!("toolu_zebra{index}"), "name": "work", "input": input});
        [
            json!({"type": "content_block_start", "index": index, "content_block": block}),
            json!({"type": "content_block_stop", "index": index}),
        ]
    };
    let [first, second] = both();
    let message = json!({"id": "msg_zebra", "type": "message", "role": "assistant", "model": "m", "content": []});
    let asks = [
        vec![json!({"type": "message_start", "message": message})],
        call(0, &first).to_vec(),
        call(1, &second).to_vec(),
        vec![
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}}),
            json!({"type": "message_stop"}),
        ],
    ];
    (sse(&asks.concat()), anthropic().1)
}

fn responses() -> (String, String) {
    let created = json!({"type": "response.created", "response": {"id": "resp_zebra", "object": "response", "status": "in_progress", "output": []}});
    let item = |index: u8, arguments: &str| json!({"type": "function_call", "id": format!("fc_zebra{index}"), "call_id": format!("call_zebra{index}"), "name": "work", "arguments": arguments});
    let added = |index: u8, item: Value| json!({"type": "response.output_item.added", "output_index": index, "item": item});
    let done = |index: u8, item: Value| json!({"type": "response.output_item.done", "output_index": index, "item": item});
    let piece = |index: u8, piece: &str| json!({"type": "response.function_call_arguments.delta", "output_index": index, "item_id": format!("fc_zebra{index}"), "delta": piece});
    let over = |output: Value| json!({"type": "response.completed", "response": {"id": "resp_zebra", "object": "response", "status": "completed", "output": output}});
    let search = |id: &str, status: &str| json!({"type": "web_search_call", "id": id, "status": status, "action": {"type": "search", "query": "Zebra"}});
    let asks = [
        created.clone(),
        added(0, item(0, "")),
        added(1, item(1, "")),
        piece(0, FIRST[0]),
        piece(1, SECOND[0]),
        piece(0, FIRST[1]),
        piece(1, SECOND[1]),
        done(0, item(0, &FIRST.concat())),
        done(1, item(1, &SECOND.concat())),
        done(2, search("ws_zebra2", "completed")),
        done(3, search("ws_zebra3", "searching")),
        over(json!([item(0, &FIRST.concat()), item(1, &SECOND.concat())])),
    ];
    let message = |content: Value| json!({"type": "message", "id": "msg_zebra", "role": "assistant", "content": content});
    let said = message(json!([{"type": "output_text", "text": "Zebra."}]));
    let answers = [
        created,
        added(0, message(json!([]))),
        json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": "msg_zebra", "delta": "Zebra."}),
        done(0, said.clone()),
        over(json!([said])),
    ];
    (sse(&asks), sse(&answers))
}

fn cohere() -> (String, String) {
    let start = json!({"type": "message-start", "id": "zebra", "delta": {"message": {"role": "assistant"}}});
    let of = |kind: &str, index: u8, calls: Value| json!({"type": kind, "index": index, "delta": {"message": {"tool_calls": calls}}});
    let begin = |index: u8, piece: &str| {
        of(
            "tool-call-start",
            index,
            json!({"id": format!("zebra_{index}"), "type": "function", "function": {"name": "work", "arguments": piece}}),
        )
    };
    let piece = |index: u8, piece: &str| {
        of(
            "tool-call-delta",
            index,
            json!({"function": {"arguments": piece}}),
        )
    };
    let stop = |index: u8| json!({"type": "tool-call-end", "index": index});
    let end = |reason: &str| json!({"type": "message-end", "delta": {"finish_reason": reason}});
    let asks = [
        start.clone(),
        begin(0, FIRST[0]),
        piece(0, FIRST[1]),
        stop(0),
        begin(1, ""),
        piece(1, SECOND[0]),
        piece(1, SECOND[1]),
        stop(1),
        end("TOOL_CALL"),
    ];
    let said = [
        json!({"type": "content-start", "index": 0, "delta": {"message": {"content": {"type": "text", "text": ""}}}}),
        json!({"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "Zebra."}}}}),
        json!({"type": "content-end", "index": 0}),
    ];
    let answers = [start].into_iter().chain(said).chain([end("COMPLETE")]);
    (sse(&asks), sse(&answers.collect::<Vec<_>>()))
}

/// The arguments of both calls, which stand in the frames as JSON and not as texts.
fn both() -> [Value; 2] {
    [
        json!({"city": "Zebra", "days": 2}),
        json!({"city": "Zebra"}),
    ]
}

fn gemini() -> (String, String) {
    let says = |parts: Value| {
        sse(&[
            json!({"responseId": "zebra", "modelVersion": "m", "candidates": [
                {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"},
            ]}),
        ])
    };
    let mut asks = vec![
        json!({"toolCall": {"id": "zebra", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["Zebra"]}}, "thoughtSignature": "zebra"}),
        json!({"toolResponse": {"id": "zebra", "toolType": "GOOGLE_SEARCH_WEB", "response": {"x": "Zebra"}}}),
        json!({"inlineData": {"mimeType": "image/png", "data": "Zebra"}}),
    ];
    asks.extend(both().map(|args| json!({"functionCall": {"name": "work", "args": args}})));
    (says(json!(asks)), says(json!([{"text": "Zebra."}])))
}

fn ollama() -> (String, String) {
    let says = |message: Value| {
        let line = json!({"model": "m", "message": message, "done": false});
        let end = json!({"model": "m", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop"});
        format!("{line}\n{end}\n")
    };
    let calls =
        both().map(|arguments| json!({"function": {"name": "work", "arguments": arguments}}));
    (
        says(json!({"role": "assistant", "content": "", "tool_calls": calls})),
        says(json!({"role": "assistant", "content": "Zebra."})),
    )
}

fn ag_ui() -> (String, String) {
    let start = json!({"type": "RUN_STARTED", "threadId": "thread", "runId": "run-1"});
    let begin =
        |id: &str| json!({"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": "work"});
    let piece =
        |id: &str, piece: &str| json!({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": piece});
    let stop = |id: &str| json!({"type": "TOOL_CALL_END", "toolCallId": id});
    let chunk = |id: &str, piece: &str| json!({"type": "TOOL_CALL_CHUNK", "toolCallId": id, "toolCallName": "work", "delta": piece});
    let end = json!({"type": "RUN_FINISHED", "threadId": "thread", "runId": "run-1"});
    let asks = [
        start.clone(),
        begin("zebra-a"),
        piece("zebra-a", FIRST[0]),
        piece("zebra-a", FIRST[1]),
        stop("zebra-a"),
        chunk("zebra-b", SECOND[0]),
        chunk("zebra-b", SECOND[1]),
        end.clone(),
    ];
    let text = json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": "zebra", "delta": "Zebra."});
    (sse(&asks), sse(&[start, text, end]))
}

/// With an index for each call, and without; with its id in each piece, or only in the first.
fn chat(has_index: bool, repeats_id: bool) -> (String, String) {
    let frame = |delta: Value, reason: Option<&str>| json!({"id": "zebra", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    let call = |index: u8, is_first: bool, piece: &str| {
        let mut call = json!({"function": {"arguments": piece}});
        if has_index {
            call["index"] = index.into();
        }
        if is_first || repeats_id {
            call["id"] = format!("call_zebra{index}").into();
        }
        if is_first {
            call["function"]["name"] = "work".into();
        }
        call
    };
    let calls = |calls: &[Value]| frame(json!({"tool_calls": calls}), None);
    let mut asks = vec![frame(
        json!({"role": "assistant", "content": "The Zebra."}),
        None,
    )];
    if has_index {
        asks.push(calls(&[call(0, true, ""), call(1, true, SECOND[0])]));
        asks.push(calls(&[
            call(1, false, SECOND[1]),
            call(0, false, FIRST[0]),
        ]));
        asks.push(calls(&[call(0, false, FIRST[1])]));
    } else {
        asks.push(calls(&[call(0, true, &FIRST.concat())]));
        asks.push(calls(&[call(1, true, &SECOND.concat())]));
    }
    asks.push(frame(json!({}), Some("tool_calls")));
    let answers = [
        frame(json!({"content": "Zebra."}), None),
        frame(json!({}), Some("stop")),
    ];
    (
        sse(&asks) + "data: [DONE]\n\n",
        sse(&answers) + "data: [DONE]\n\n",
    )
}

/// The calls that a conversation holds, as the model asked for them.
pub(super) fn asked(machine: &RunMachine) -> Vec<Value> {
    let calls = machine.conversation().tool_calls();
    calls
        .map(|call| serde_json::from_str(&call.function.arguments).expect("JSON as before"))
        .collect()
}

/// A turn in which both calls are made: redacted, they are made alike, and nothing is told.
#[track_caller]
pub(super) fn hides_both(name: &str, world: &mut World) {
    world.send("Zebra?");
    world.drive();
    assert_eq!(*world.outcome(), Outcome::Success, "{name}");
    let journal = parsed(&written(world));
    let redacted = journal.redact(5).expect("it goes the same way");
    replays_alike(&journal, &redacted);
    let text = redacted.to_text();
    for word in ["Zebra", "zebra", "Quagga", "days"] {
        assert!(!text.contains(word), "{name} tells {word}");
    }
    assert_eq!(asked(&world.machine), both(), "{name}");
    let hidden = asked(&relived(&redacted, |_, _| ()));
    let city = hidden[0]["city"].as_str().expect("the parameter stays");
    assert!(
        city.len() == 5 && city != "Zebra" && city != "Xxxxx",
        "{name}: {city}"
    );
    assert_eq!(
        hidden[1],
        json!({"city": city}),
        "{name}: equal ones stay equal"
    );
    let days = hidden[0].as_object().expect("an object").iter().next_back();
    let (key, value) = days.expect("two fields");
    assert!(key.len() == 4 && *value == json!(2), "{name}: {key}");
}

/// A tool that knows of one of the parameters.
pub(super) fn work() -> Tool {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    Tool::new("work", "Works.").parameters(schema)
}

#[test]
fn the_arguments_of_calls_are_hidden_alike_in_every_dialect() {
    for (name, provider, (asks, answers)) in [
        ("chat", "openai-compatible", chat(true, false)),
        (
            "chat with each id again",
            "openai-compatible",
            chat(true, true),
        ),
        (
            "chat without an index",
            "openai-compatible",
            chat(false, true),
        ),
        ("ag-ui", "ag-ui", ag_ui()),
        ("anthropic", "anthropic", anthropic()),
        ("anthropic at once", "anthropic", anthropic_at_once()),
        ("responses", "openai", responses()),
        ("cohere", "cohere", cohere()),
        ("gemini", "gemini", gemini()),
        ("ollama", "ollama", ollama()),
    ] {
        let body = |text: String| match name {
            "ollama" => Reply::Body(Some("application/x-ndjson"), text.into_bytes()),
            _ => Reply::Bytes(text.into_bytes(), Ending::Complete),
        };
        let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
            let provider = provider::find(provider).expect("a provider of the table");
            let address = Some("http://localhost/v1");
            let key = Some("sk-secret".into());
            config.endpoint = provider
                .endpoint(
                    (name == "responses").then_some(name),
                    "a-model",
                    address,
                    key,
                )
                .expect("nothing is missing");
            offer(config, work());
        })
        .tool("work", |_| ToolReply::text("Quagga"))
        .journaled()
        .reply(body(asks))
        .reply(body(answers));
        hides_both(name, &mut world);
    }
}
