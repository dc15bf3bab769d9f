//! Whole streams: the short way of a delta, the verdicts of the reference client, snapshots.

use crate::support::*;
use serde_json::{Value, json};
use stepwell_core::dialect::{Decode, DecodeError};
use stepwell_core::event::{Event, EventError, Rule};

#[test]
fn the_reference_clients_verdicts() {
    let text = |id: &str| vec![text_start(id), text_content(id, "a"), text_end(id)];
    let run = |events: &[Value]| [&[started()], events, &[finished()]].concat();
    let error = json!({"type": "RUN_ERROR", "message": "m"});
    let raw = json!({"type": "RAW", "event": 1});
    let custom = json!({"type": "CUSTOM", "name": "n", "value": 1});
    let first = text_chunk(json!({"messageId": "m", "delta": "a"}));
    let next = text_chunk(json!({"delta": "b"}));
    let result = json!({"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "unknown", "content": ""});
    let ok = |frames: &[Value]| {
        stream(frames).unwrap_or_else(|error| panic!("{frames:?}: {error}"));
    };
    ok(&run(&[text("m"), text("m")].concat()));
    ok(&[]);
    ok(&[started()]);
    ok(std::slice::from_ref(&error));
    ok(&[error.clone(), started(), finished()]);
    assert_eq!(
        rule(&[started(), error.clone(), finished()]),
        Some(Rule::O4)
    );
    ok(&[started(), finished(), error]);
    ok(&run(&[result.clone(), result]));
    ok(&run(&[
        json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "n", "parentMessageId": null}),
        json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{not json"}),
        json!({"type": "TOOL_CALL_END", "toolCallId": "c"}),
    ]));
    ok(&run(&[
        json!({"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a", "value": 1}]}),
    ]));
    ok(&run(&[first.clone(), raw, next.clone()]));
    assert!(matches!(
        stream(&run(&[first.clone(), custom.clone(), next])),
        Err(DecodeError::Event(EventError::Chunk { .. }))
    ));
    // A chunk that repeats the id opens the message again.
    ok(&run(&[first.clone(), custom, first.clone()]));
    assert_eq!(rule(&run(&[first, text_content("m", "b")])), Some(Rule::O7));
    let call = json!({"type": "TOOL_CALL_START", "toolCallId": "m", "toolCallName": "n"});
    let call_end = json!({"type": "TOOL_CALL_END", "toolCallId": "m"});
    ok(&run(&[&[call], &text("m")[..], &[call_end]].concat()));
    ok(&[
        started(),
        json!({"type": "RUN_FINISHED", "threadId": "other", "runId": "other"}),
        json!({"type": "RUN_STARTED", "threadId": "another", "runId": "r"}),
    ]);
}

#[test]
fn plain_deltas_take_the_short_way() {
    let (recorder, end) = decode(&[
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"plain"}"#,
        r#" { "delta" : "q\"\u00e9\ud83d\ude00" , "messageId":"\u006d","type":"REASONING_MESSAGE_CONTENT"} "#,
        r#"{"toolCallId":"c","delta":"{\"a\":1}","type":"TOOL_CALL_ARGS"}"#,
    ]);
    end.unwrap();
    assert_eq!(recorder.borrowed, 3);
    assert_eq!(
        as_json(&recorder.events),
        [
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "plain"}),
            json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": "m", "delta": "q\"é😀"}),
            json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{\"a\":1}"}),
        ]
    );
}

#[test]
fn a_delta_with_attachments_loses_nothing() {
    for (field, value) in [
        ("timestamp", json!(7)),
        ("metadata", json!({})),
        ("subagentRunId", json!("s")),
        ("rawEvent", json!([1])),
    ] {
        let mut event = text_content("m", "d");
        event[field] = value;
        assert_eq!(expanded(std::slice::from_ref(&event)), [event]);
    }
}

#[test]
fn a_plain_delta_ends_the_parents_chunk() {
    let (events, _) = taken(&[
        text_chunk(json!({"messageId": "m"})),
        of(text_chunk(json!({"messageId": "n"})), "s"),
        text_content("x", "d"),
    ]);
    assert_eq!(events[2..], [text_end("m"), text_content("x", "d")]);
}

#[test]
fn i4_a_snapshot_in_mid_stream_goes_on_the_same() {
    let frames = [
        json!({"type": "THINKING_START"}),
        json!({"type": "THINKING_TEXT_MESSAGE_START"}),
        of(
            chunk(
                "TOOL_CALL_CHUNK",
                json!({"toolCallId": "c", "toolCallName": "n"}),
            ),
            "s",
        ),
        text_content("x", "with \"escapes\""),
        json!({"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "d"}),
        of(chunk("TOOL_CALL_CHUNK", json!({"delta": "{}"})), "s"),
        json!({"type": "THINKING_TEXT_MESSAGE_END"}),
        json!({"type": "THINKING_END"}),
        finished(),
    ];
    let (expected, _) = taken(&frames);
    let mut recorder = Recorder::default();
    let mut live = decoder();
    for data in &frames {
        let snapshot = serde_json::to_string(&live).unwrap();
        let mut restored = serde_json::from_str(&snapshot).unwrap();
        assert_eq!(live, restored);
        restored
            .frame(frame(data.to_string().as_bytes()), &mut recorder)
            .unwrap();
        live = restored;
    }
    assert_eq!(as_json(&recorder.events), expected);
}

#[test]
fn the_sinks_refusal_stops_the_stream() {
    let mut recorder = Recorder::checking();
    let end = decode_into(
        &mut recorder,
        [
            STARTED,
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":""}"#,
        ],
    );
    assert!(matches!(end, Err(DecodeError::Order(violation)) if violation.rule == Rule::O7));
    assert!(matches!(recorder.events[..], [Event::RunStarted(_)]));
}
