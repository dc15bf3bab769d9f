//! Chunks, lane by lane.

use crate::support::*;
use serde_json::{Value, json};
use stepwell_core::dialect::{Decode, DecodeError};

#[test]
fn chunks_become_start_content_and_end() {
    assert_eq!(
        expanded(&[
            text_chunk(json!({"messageId": "m", "delta": "a"})),
            text_chunk(json!({"delta": "b"})),
            text_chunk(json!({"messageId": "m", "delta": ""})),
            text_chunk(json!({"messageId": "m", "role": "assistant"})),
            text_chunk(json!({"messageId": "n", "role": "user", "name": "Ada"})),
            finished(),
        ]),
        [
            text_start("m"),
            text_content("m", "a"),
            text_content("m", "b"),
            text_content("m", ""),
            text_end("m"),
            json!({"type": "TEXT_MESSAGE_START", "messageId": "n", "role": "user", "name": "Ada"}),
            text_end("n"),
            finished(),
        ]
    );
    assert_eq!(
        expanded(&[
            chunk(
                "TOOL_CALL_CHUNK",
                json!({"toolCallId": "c", "toolCallName": "n", "parentMessageId": "m"})
            ),
            chunk("TOOL_CALL_CHUNK", json!({"delta": "{}"})),
            chunk(
                "REASONING_MESSAGE_CHUNK",
                json!({"messageId": "r", "delta": "hm"})
            ),
            finished(),
        ]),
        [
            json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "n", "parentMessageId": "m"}),
            json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"}),
            json!({"type": "TOOL_CALL_END", "toolCallId": "c"}),
            json!({"type": "REASONING_MESSAGE_START", "messageId": "r", "role": "reasoning"}),
            json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": "r", "delta": "hm"}),
            json!({"type": "REASONING_MESSAGE_END", "messageId": "r"}),
            finished(),
        ]
    );
}

#[test]
fn a_first_chunk_says_what_it_begins() {
    for (first, missing) in [
        (text_chunk(json!({"delta": "d"})), "messageId"),
        (
            chunk("REASONING_MESSAGE_CHUNK", json!({"delta": "d"})),
            "messageId",
        ),
        (
            chunk("TOOL_CALL_CHUNK", json!({"delta": "d"})),
            "toolCallId",
        ),
        (
            chunk("TOOL_CALL_CHUNK", json!({"toolCallName": "n"})),
            "toolCallId",
        ),
        (
            chunk("TOOL_CALL_CHUNK", json!({"toolCallId": "c"})),
            "toolCallName",
        ),
    ] {
        let error = refused(std::slice::from_ref(&first));
        assert!(error.contains(missing), "{first}: {error}");
    }
    // Not the same kind: it goes on with nothing.
    let text = text_chunk(json!({"messageId": "m"}));
    refused(&[
        text,
        chunk("REASONING_MESSAGE_CHUNK", json!({"delta": "d"})),
    ]);
}

#[test]
fn a_continuing_chunk_only_repeats() {
    let text = |role: Value, name: Value| {
        let mut fields = json!({"messageId": "m"});
        if !role.is_null() {
            fields["role"] = role;
        }
        if !name.is_null() {
            fields["name"] = name;
        }
        text_chunk(fields)
    };
    let null = Value::Null;
    for (first, next, field) in [
        (
            text(null.clone(), null.clone()),
            text(json!("user"), null.clone()),
            "role",
        ),
        (
            text(json!("user"), null.clone()),
            text(json!("assistant"), null.clone()),
            "role",
        ),
        (
            text(null.clone(), null.clone()),
            text(null.clone(), json!("Ada")),
            "name",
        ),
        (
            text(null.clone(), json!("Ada")),
            text(null.clone(), json!("Bob")),
            "name",
        ),
    ] {
        let error = refused(&[first, next]);
        assert!(error.contains(&format!("another {field}")), "{error}");
    }
    let call = chunk(
        "TOOL_CALL_CHUNK",
        json!({"toolCallId": "c", "toolCallName": "n", "parentMessageId": "m"}),
    );
    let error = refused(&[
        call.clone(),
        chunk("TOOL_CALL_CHUNK", json!({"toolCallName": "o"})),
    ]);
    assert!(error.contains("another toolCallName"), "{error}");
    let error = refused(&[
        call.clone(),
        chunk("TOOL_CALL_CHUNK", json!({"parentMessageId": "o"})),
    ]);
    assert!(error.contains("another parentMessageId"), "{error}");
    assert_eq!(expanded(&[call.clone(), call]).len(), 1, "it only repeats");
}

#[test]
fn attachments_of_a_chunk_go_where_they_belong() {
    let (metadata, raw) = (json!({"k": 1}), json!({"provider": "own"}));
    assert_eq!(
        expanded(&[
            text_chunk(
                json!({"messageId": "m", "metadata": metadata, "rawEvent": raw, "timestamp": 7})
            ),
            text_chunk(json!({"metadata": metadata})),
            text_chunk(json!({"rawEvent": raw})),
            text_chunk(json!({})),
            text_chunk(json!({"messageId": "n", "metadata": metadata})),
        ]),
        [
            json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant", "timestamp": 7, "metadata": metadata}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "", "timestamp": 7, "rawEvent": raw, "metadata": metadata}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "", "metadata": metadata}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "", "rawEvent": raw}),
            // Nothing of a chunk goes onto the end of the item before.
            text_end("m"),
            json!({"type": "TEXT_MESSAGE_START", "messageId": "n", "role": "assistant", "metadata": metadata}),
        ]
    );
}

#[test]
fn lanes_are_found_by_id_by_subagent_or_by_being_the_only_one() {
    let opened = [
        of(text_chunk(json!({"messageId": "a", "delta": "1"})), "s1"),
        of(text_chunk(json!({"messageId": "b", "delta": "1"})), "s2"),
    ];
    let after = |more: &[Value]| {
        let frames = [&opened[..], more].concat();
        expanded(&frames).split_off(4)
    };
    // By id, with the opener's subagent.
    assert_eq!(
        after(&[text_chunk(json!({"messageId": "a", "delta": "2"}))]),
        [of(text_content("a", "2"), "s1")]
    );
    // By subagent.
    assert_eq!(
        after(&[of(text_chunk(json!({"delta": "2"})), "s2")]),
        [of(text_content("b", "2"), "s2")]
    );
    // Neither: two lanes hold text.
    let frames = [&opened[..], &[text_chunk(json!({"delta": "2"}))]].concat();
    assert!(refused(&frames).contains("several subagents"));
    // Neither, but the parent's own lane holds text.
    assert_eq!(
        after(&[
            text_chunk(json!({"messageId": "p"})),
            text_chunk(json!({"delta": "2"}))
        ]),
        [text_start("p"), text_content("p", "2")]
    );
    // Neither, and only one lane holds text.
    assert_eq!(
        expanded(&[opened[0].clone(), text_chunk(json!({"delta": "2"}))])[2..],
        [of(text_content("a", "2"), "s1")]
    );
    // The id of one lane with the subagent of another.
    let frames = [
        &opened[..],
        &[of(text_chunk(json!({"messageId": "a"})), "s2")],
    ]
    .concat();
    assert!(refused(&frames).contains("subagent 's1'"));
    // An id of another kind of item says nothing.
    let call = chunk(
        "TOOL_CALL_CHUNK",
        json!({"toolCallId": "a", "toolCallName": "n"}),
    );
    assert_eq!(after(&[call]).len(), 1);
    // The subagent with the empty name is not the parent agent.
    let empty = of(text_chunk(json!({"messageId": "e"})), "");
    assert_eq!(
        after(&[empty, text_chunk(json!({"messageId": "p"}))]).len(),
        2
    );
}

#[test]
fn each_event_ends_the_chunks_that_the_protocol_says() {
    let open = [
        text_chunk(json!({"messageId": "p"})),
        of(text_chunk(json!({"messageId": "s"})), "sub"),
    ];
    let ended_by = |event: Value| {
        let frames = [&open[..], std::slice::from_ref(&event)].concat();
        let events = expanded(&frames).split_off(2);
        assert_eq!(
            events.last(),
            Some(&event),
            "the event comes after the ends"
        );
        let ended: Vec<_> = events[..events.len() - 1]
            .iter()
            .map(|end| {
                assert_eq!(end["type"], "TEXT_MESSAGE_END");
                end["messageId"].as_str().unwrap().to_owned()
            })
            .collect();
        ended.concat()
    };
    for own in [
        json!({"type": "TEXT_MESSAGE_START", "messageId": "x"}),
        json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "x", "delta": ""}),
        json!({"type": "TEXT_MESSAGE_END", "messageId": "x"}),
        json!({"type": "TOOL_CALL_START", "toolCallId": "x", "toolCallName": "n"}),
        json!({"type": "TOOL_CALL_ARGS", "toolCallId": "x", "delta": ""}),
        json!({"type": "TOOL_CALL_END", "toolCallId": "x"}),
        json!({"type": "TOOL_CALL_RESULT", "messageId": "x", "toolCallId": "x", "content": ""}),
        json!({"type": "STATE_SNAPSHOT", "snapshot": 1}),
        json!({"type": "STATE_DELTA", "delta": []}),
        json!({"type": "CUSTOM", "name": "n", "value": 1}),
        json!({"type": "STEP_STARTED", "stepName": "x"}),
        json!({"type": "STEP_FINISHED", "stepName": "x"}),
        json!({"type": "REASONING_START", "messageId": "x"}),
        json!({"type": "REASONING_END", "messageId": "x"}),
        json!({"type": "REASONING_MESSAGE_START", "messageId": "x", "role": "reasoning"}),
        json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": "x", "delta": ""}),
        json!({"type": "REASONING_MESSAGE_END", "messageId": "x"}),
    ] {
        assert_eq!(ended_by(own.clone()), "p", "{own}");
        assert_eq!(ended_by(of(own.clone(), "sub")), "s", "{own}");
        assert_eq!(ended_by(of(own.clone(), "other")), "", "{own}");
    }
    for all in [
        started(),
        finished(),
        json!({"type": "RUN_ERROR", "message": "m"}),
        json!({"type": "MESSAGES_SNAPSHOT", "messages": []}),
    ] {
        assert_eq!(ended_by(all.clone()), "ps", "{all}");
    }
    for subagents in [
        json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "sub"}),
        json!({"type": "SUBAGENT_ERROR", "subagentRunId": "sub", "message": "m"}),
    ] {
        assert_eq!(ended_by(subagents.clone()), "s", "{subagents}");
    }
    for none in [
        json!({"type": "RAW", "event": 1}),
        json!({"type": "ACTIVITY_SNAPSHOT", "messageId": "x", "activityType": "t", "content": {}}),
        json!({"type": "ACTIVITY_DELTA", "messageId": "x", "activityType": "t", "patch": []}),
        json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "x", "encryptedValue": ""}),
        json!({"type": "SUBAGENT_STARTED", "subagentRunId": "sub", "name": "n"}),
        json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "other"}),
    ] {
        assert_eq!(ended_by(none.clone()), "", "{none}");
    }
}

#[test]
fn the_ends_of_chunks_come_in_the_order_of_their_starts() {
    let chunks: Vec<_> = ["s3", "s1", "s2"]
        .iter()
        .map(|id| of(text_chunk(json!({"messageId": id})), id))
        .chain([finished()])
        .collect();
    let events = expanded(&chunks);
    let ends: Vec<_> = events[3..6]
        .iter()
        .map(|event| &event["messageId"])
        .collect();
    assert_eq!(ends, ["s3", "s1", "s2"]);
}

#[test]
fn the_end_of_the_stream_ends_no_chunk() {
    assert_eq!(
        expanded(&[text_chunk(json!({"messageId": "m"}))]),
        [text_start("m")]
    );
}

#[test]
fn open_chunks_are_bounded() {
    let mut recorder = Recorder::default();
    let mut decoder = decoder();
    let error = (0..5_000).find_map(|index| {
        let chunk = of(text_chunk(json!({"messageId": "m"})), &index.to_string());
        let chunk = chunk.to_string().replace("\"m\"", &format!("\"m{index}\""));
        decoder.frame(frame(chunk.as_bytes()), &mut recorder).err()
    });
    assert!(matches!(error, Some(DecodeError::Answer(_))), "{error:?}");
}
