//! Functions on the events of a stream.

use crate::any_event::any_event;
use crate::support::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use stepwell_core::conversation::Conversation;
use stepwell_core::dialect::{Dialect, HopIds};
use stepwell_core::event::protobuf::{self, MEDIA_TYPE};
use stepwell_core::event::{Event, StepStarted};
use stepwell_core::middleware::{Middleware, filter_tool_calls, inspect, map};
use stepwell_core::pipeline::{Pipeline, StreamEnd, StreamError};
use stepwell_core::wire::FrameLimits;

const EVENTS: &str = "text/event-stream";

fn sse(events: &[Value]) -> Vec<u8> {
    let frames = events.iter().map(|event| format!("data: {event}\n\n"));
    frames.collect::<String>().into_bytes()
}

fn binary(events: &[Value]) -> Vec<u8> {
    let mut body = Vec::new();
    for event in events {
        let event: Event = serde_json::from_value(event.clone()).unwrap();
        protobuf::encode_frame((&event).into(), &mut body).unwrap();
    }
    body
}

fn through<'a>(
    middleware: &mut Middleware,
    media_type: &str,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<u8> {
    let mut out = Vec::new();
    middleware.open(Some(media_type));
    for chunk in chunks {
        middleware.receive(chunk, &mut out);
    }
    middleware.end(&mut out);
    out
}

fn read(media_type: &str, body: &[u8]) -> (Conversation, Result<StreamEnd, StreamError>) {
    let (ids, limits) = (HopIds::default(), FrameLimits::default());
    let mut pipeline = Pipeline::of_media_type(Dialect::AgUi, media_type, ids, limits);
    let mut conversation = Conversation::default();
    let end = pipeline
        .receive(body, &mut conversation, &mut ())
        .and_then(|()| pipeline.end(&mut conversation, &mut ()));
    (conversation, end)
}

fn call(id: &str, name: &str) -> Vec<Value> {
    vec![
        json!({"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name, "parentMessageId": "calls"}),
        json!({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": "{}"}),
        json!({"type": "TOOL_CALL_END", "toolCallId": id}),
    ]
}

fn without_bad() -> Middleware {
    Middleware::new().then(filter_tool_calls(|name| name != "bad"))
}

#[test]
fn what_is_not_changed_goes_on_as_it_came() {
    let body = b"\xEF\xBB\xBF: hello\n\nid: 1\nevent: e\ndata: {\"type\": \"RUN_STARTED\",\ndata:  \"threadId\":\"t\",\"runId\":\"r\"}\n\n\
        retry: 7\nid: 2\ndata: {\"type\":\"STEP_STARTED\",\"stepName\":\"s\",\"newer\":[1.0]}\n\ndata: [DONE]\n\ndata: {\"type\":";
    let out = through(&mut Middleware::new(), EVENTS, [&body[..]]);
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "id: 1\nevent: e\ndata: {\"type\": \"RUN_STARTED\",\ndata:  \"threadId\":\"t\",\"runId\":\"r\"}\n\n\
        id: 2\ndata: {\"type\":\"STEP_STARTED\",\"stepName\":\"s\",\"newer\":[1.0]}\n\ndata: [DONE]\n\nretry: 7\n\ndata: {\"type\":\n\n"
    );
}

#[test]
fn a_function_changes_drops_and_adds_events() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let mut middleware = Middleware::new()
        .then(map(|event| match event {
            Event::TextMessageContent(mut content) => {
                content.delta = content.delta.to_uppercase();
                Some(content.into())
            }
            Event::Custom(_) => None,
            other => Some(other),
        }))
        .then(|event| {
            let step = StepStarted {
                step_name: "s".to_owned(),
                ..StepStarted::default()
            };
            match event {
                Event::TextMessageEnd(_) => vec![event, step.into()],
                other => vec![other],
            }
        })
        .then(inspect(move |event| {
            log.lock().unwrap().push(event.kind().to_owned());
        }));
    let events = [
        started(),
        json!({"type": "CUSTOM", "name": "n", "value": 1}),
        text_start("m"),
        text_content("m", "hi"),
        text_end("m"),
        json!({"type": "STEP_FINISHED", "stepName": "s"}),
        finished(),
    ];
    for (media_type, body) in [(EVENTS, sse(&events)), (MEDIA_TYPE, binary(&events))] {
        seen.lock().unwrap().clear();
        let out = through(&mut middleware, media_type, body.chunks(5));
        let (conversation, end) = read(media_type, &out);
        assert_eq!(end, Ok(StreamEnd::Finished), "{media_type}");
        assert_eq!(conversation.text(), "HI");
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), 7, "{seen:?}");
        assert!(!seen.contains(&"CUSTOM".to_owned()) && seen.contains(&"STEP_STARTED".to_owned()));
    }
}

#[test]
fn a_filtered_call_is_gone_with_all_that_belongs_to_it() {
    let answer = |id: &str| json!({"type": "TOOL_CALL_RESULT", "messageId": format!("{id}-result"), "toolCallId": id, "content": "r"});
    let chunk = |fields: Value| chunk("TOOL_CALL_CHUNK", fields);
    let mut end = finished();
    end["outcome"] = json!({"type": "success", "pendingToolCallIds": ["a", "b", "d", "e"]});
    let events = [
        vec![started()],
        call("a", "good"),
        call("b", "bad"),
        vec![
            answer("b"),
            chunk(json!({"toolCallId": "d", "toolCallName": "bad", "delta": "{"})),
            chunk(json!({"delta": "}"})),
            chunk(json!({"toolCallId": "e", "toolCallName": "good", "delta": "{"})),
            chunk(json!({"delta": "}"})),
            chunk(json!({"toolCallId": "s", "toolCallName": "bad", "subagentRunId": "x"})),
            chunk(json!({"delta": " "})),
            chunk(json!({"delta": "!", "subagentRunId": "x"})),
            end,
        ],
    ]
    .concat();
    for (media_type, body) in [(EVENTS, sse(&events)), (MEDIA_TYPE, binary(&events))] {
        let out = through(&mut without_bad(), media_type, [&body[..]]);
        let (conversation, end) = read(media_type, &out);
        assert_eq!(end, Ok(StreamEnd::Finished), "{media_type}");
        let calls: Vec<_> = conversation
            .tool_calls()
            .map(|call| (call.id.as_str(), call.function.arguments.as_str()))
            .collect();
        assert_eq!(calls, [("a", "{}"), ("e", "{} ")]);
        let outcome = serde_json::to_value(&conversation.summary().outcome).unwrap();
        assert_eq!(outcome["pendingToolCallIds"], json!(["a", "e"]));
    }
    let messages = json!({"type": "MESSAGES_SNAPSHOT", "messages": [
        {"role": "assistant", "id": "m", "toolCalls": [
            {"id": "g", "type": "function", "function": {"name": "good", "arguments": ""}},
            {"id": "h", "type": "function", "function": {"name": "bad", "arguments": ""}},
        ]},
        {"role": "tool", "id": "r", "toolCallId": "h", "content": "r"},
    ]});
    let body = sse(&[started(), messages, finished()]);
    let out = through(&mut without_bad(), EVENTS, [&body[..]]);
    let messages = serde_json::to_value(read(EVENTS, &out).0.messages()).unwrap();
    assert_eq!(
        messages,
        json!([{"role": "assistant", "id": "m", "toolCalls": [
            {"id": "g", "type": "function", "function": {"name": "good", "arguments": ""}},
        ]}])
    );
}

#[test]
fn functions_see_old_words_in_those_of_today_and_what_is_newer_as_it_is() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let mut middleware = Middleware::new().then(inspect(move |event| {
        log.lock().unwrap().push(event.clone());
    }));
    let body = sse(&[
        started(),
        json!({"type": "THINKING_START"}),
        json!({"type": "THINKING_TEXT_MESSAGE_START"}),
        json!({"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "Hm."}),
        json!({"type": "THINKING_TEXT_MESSAGE_END"}),
        json!({"type": "THINKING_END"}),
        json!({"type": "NEXT_YEARS_EVENT", "a": 1}),
        json!([text_start("m"), text_end("m")]),
        json!({"type": "TEXT_MESSAGE_START"}),
    ]);
    let out = through(&mut middleware, EVENTS, [&body[..]]);
    let seen = seen.lock().unwrap();
    let kinds: Vec<_> = seen.iter().map(Event::kind).collect();
    assert_eq!(
        kinds,
        [
            "RUN_STARTED",
            "REASONING_START",
            "REASONING_MESSAGE_START",
            "REASONING_MESSAGE_CONTENT",
            "REASONING_MESSAGE_END",
            "REASONING_END",
            "NEXT_YEARS_EVENT",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_END"
        ]
    );
    let (conversation, end) = read(EVENTS, &out);
    assert_eq!(conversation.reasoning(), "Hm.");
    // What is malformed is for the run to refuse.
    let error = end.unwrap_err().to_string();
    assert!(error.contains("`messageId` is missing"), "{error}");
}

#[test]
fn a_resumed_stream_goes_on_after_the_last_frame_and_the_functions_remember() {
    let mut middleware = without_bad();
    let [start, args, end] = <[Value; 3]>::try_from(call("b", "bad")).unwrap();
    let first = format!(
        "id: 1\ndata: {}\n\nid: 2\ndata: {start}\n\nid: 3\ndata: {{\"ty",
        started()
    );
    middleware.open(Some(EVENTS));
    let mut out = Vec::new();
    middleware.receive(first.as_bytes(), &mut out);
    let mut pipeline = Pipeline::new(Dialect::AgUi, HopIds::default(), FrameLimits::default());
    let mut conversation = Conversation::default();
    pipeline.receive(&out, &mut conversation, &mut ()).unwrap();
    assert_eq!(
        pipeline.last_event_id(),
        Some("2"),
        "also of what was dropped"
    );
    pipeline.reconnect();
    let second = format!(
        "id: 3\ndata: {args}\n\nid: 4\ndata: {end}\n\nid: 5\ndata: {}\n\n",
        finished()
    );
    let out = through(&mut middleware, EVENTS, [second.as_bytes()]);
    pipeline.receive(&out, &mut conversation, &mut ()).unwrap();
    assert_eq!(
        pipeline.end(&mut conversation, &mut ()),
        Ok(StreamEnd::Finished)
    );
    assert_eq!(conversation.messages(), []);
}

#[test]
fn what_is_no_stream_goes_on_untouched() {
    let page = b"<html>\n\ndata: x";
    assert_eq!(
        through(&mut without_bad(), "text/html; charset=x", [&page[..]]),
        page
    );
    // A frame that is too large, and everything after it.
    let huge = [&[0xff; 4][..], &[1; 9]].concat();
    let (_, end) = read(
        MEDIA_TYPE,
        &through(&mut without_bad(), MEDIA_TYPE, [&huge[..]]),
    );
    assert!(end.unwrap_err().to_string().contains("4294967295"));
    // A body that is cut within a frame is so for the run too.
    let mut cut = binary(&[started(), finished()]);
    cut.pop();
    let (_, end) = read(
        MEDIA_TYPE,
        &through(&mut without_bad(), MEDIA_TYPE, [&cut[..]]),
    );
    assert_eq!(end, Ok(StreamEnd::Truncated));
}

proptest! {
    /// Where a body is cut changes nothing, and without functions neither does a middleware.
    #[test]
    fn i03_a_middleware_sees_frames_not_chunks(
        events in prop::collection::vec(any_event(), 0..6),
        size in 1..60_usize,
        is_binary in any::<bool>(),
    ) {
        let events = [vec![started()], events].concat();
        let (media_type, body) = if is_binary {
            (MEDIA_TYPE, binary(&events))
        } else {
            (EVENTS, sse(&events))
        };
        let whole = through(&mut without_bad(), media_type, [&body[..]]);
        prop_assert_eq!(&through(&mut without_bad(), media_type, body.chunks(size)), &whole);
        let plain = through(&mut Middleware::new(), media_type, body.chunks(size));
        prop_assert_eq!(read(media_type, &plain), read(media_type, &body));
    }
}
