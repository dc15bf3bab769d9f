//! Laws of the AG-UI decoder, for any stream.

use crate::any_event::any_json;
use crate::support::*;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use serde_json::{Value, json};
use stepwell_core::dialect::Decode;
use stepwell_core::event::{Event, Order};

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "proptest-regressions/ag_ui.txt",
        ))),
        ..ProptestConfig::default()
    }
}

/// One item of a stream: its kind, its subagent, and its pieces.
#[derive(Clone, Debug)]
struct Item {
    kind: usize,
    tag: Option<&'static str>,
    pieces: Vec<String>,
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    let item = (
        0_usize..3,
        prop::sample::select(vec![None, Some("s1"), Some("s2"), Some("")]),
        prop::collection::vec(".{0,8}", 0..5),
    )
        .prop_map(|(kind, tag, pieces)| Item { kind, tag, pieces });
    prop::collection::vec(item, 0..8)
}

const KINDS: [(&str, &str, &str); 3] = [
    ("TEXT_MESSAGE", "messageId", "CONTENT"),
    ("TOOL_CALL", "toolCallId", "ARGS"),
    ("REASONING_MESSAGE", "messageId", "CONTENT"),
];

fn with_tag(mut event: Value, tag: Option<&str>) -> Value {
    if let Some(tag) = tag {
        event["subagentRunId"] = tag.into();
    }
    event
}

/// The item in the long form.
fn triad(item: &Item, id: &str) -> Vec<Value> {
    let (kind, field, content) = KINDS[item.kind];
    let mut start = json!({"type": format!("{kind}_START"), field: id});
    match item.kind {
        0 => start["role"] = "assistant".into(),
        1 => start["toolCallName"] = "n".into(),
        _ => start["role"] = "reasoning".into(),
    }
    let pieces = item
        .pieces
        .iter()
        .map(|piece| json!({"type": format!("{kind}_{content}"), field: id, "delta": piece}));
    let end = json!({"type": format!("{kind}_END"), field: id});
    [start]
        .into_iter()
        .chain(pieces)
        .chain([end])
        .map(|event| with_tag(event, item.tag))
        .collect()
}

/// The item as chunks; all but the first leave out what they may, if they are `short`.
fn chunks(item: &Item, id: &str, short: bool) -> Vec<Value> {
    let (kind, field, _) = KINDS[item.kind];
    let mut first = json!({"type": format!("{kind}_CHUNK"), field: id});
    if item.kind == 1 {
        first["toolCallName"] = "n".into();
    }
    let mut chunks = vec![with_tag(first, item.tag)];
    for (index, piece) in item.pieces.iter().enumerate() {
        if index == 0 {
            chunks[0]["delta"] = piece.as_str().into();
            continue;
        }
        let mut chunk = json!({"type": format!("{kind}_CHUNK"), "delta": piece});
        if !short {
            chunk[field] = id.into();
        }
        chunks.push(with_tag(chunk, item.tag));
    }
    chunks
}

fn run(events: Vec<Value>) -> Vec<Value> {
    let started = json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"});
    let finished = json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"});
    [vec![started], events, vec![finished]].concat()
}

/// Items in lanes of their own run side by side; `order` says which goes on next.
fn interleave(lanes: &[Vec<Value>], order: &[prop::sample::Index]) -> Vec<Value> {
    let mut lanes: Vec<_> = lanes.iter().map(|lane| lane.iter().cloned()).collect();
    let mut mixed = Vec::new();
    for index in order {
        let lane = index.index(lanes.len());
        mixed.extend(lanes[lane].next());
    }
    mixed.extend(lanes.into_iter().flatten());
    mixed
}

/// What each item got, whatever else came between: its events, by id.
fn of_item(events: &[Value], id: &str) -> Vec<Value> {
    events
        .iter()
        .filter(|event| event["messageId"] == id || event["toolCallId"] == id)
        .cloned()
        .collect()
}

/// Nothing that some event of an item could say about another.
fn unknown() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({"type": "FUTURE_EVENT"})),
        Just(json!({"type": "FUTURE_EVENT", "messageId": "0", "delta": 1, "subagentRunId": "s1"})),
        Just(json!({"type": "THINKING_HARDER", "rawEvent": null})),
        Just(json!({"type": "text_message_content", "messageId": "0"})),
    ]
}

/// A frame that is nearly an event: a valid one with one byte changed, cut or put in.
fn broken_frame() -> impl Strategy<Value = Vec<u8>> {
    let frames = vec![
        r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a\"\u00e9"}"#,
        r#"{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"n","delta":"{\"a\":1}"}"#,
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"x"}]}}"#,
        r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"user","id":"u","content":[{"type":"binary","mimeType":"image/png","url":"u"}]}]}"#,
        r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a~1","value":[1e3,-0]}]}"#,
        r#"[{"type":"THINKING_START"},{"type":"REASONING_MESSAGE_CONTENT","messageId":"r","delta":"d"}]"#,
    ];
    (
        prop::sample::select(frames),
        any::<prop::sample::Index>(),
        any::<u8>(),
        0..4,
    )
        .prop_map(|(frame, at, byte, how)| {
            let mut frame = frame.as_bytes().to_vec();
            let at = at.index(frame.len());
            match how {
                0 => frame[at] = byte,
                1 => frame.insert(at, byte),
                2 => frame.truncate(at),
                _ => {
                    frame.remove(at);
                }
            }
            frame
        })
}

proptest! {
    #![proptest_config(config())]

    /// L1: chunks and the long form are the same events. Items follow each other, so each chunk leaves out all it may.
    #[test]
    fn l1_chunks_are_the_long_form(items in items(), short in any::<bool>()) {
        let (mut long, mut brief) = (Vec::new(), Vec::new());
        for (index, item) in items.iter().enumerate() {
            let id = index.to_string();
            long.extend(triad(item, &id));
            brief.extend(chunks(item, &id, short));
            // What ends an item that nothing follows in its lane.
            let closer = json!({"type": "STEP_STARTED", "stepName": id});
            let closer = with_tag(closer, item.tag);
            let mut finished = closer.clone();
            finished["type"] = "STEP_FINISHED".into();
            for events in [&mut long, &mut brief] {
                events.extend([closer.clone(), finished.clone()]);
            }
        }
        prop_assert_eq!(stream(&run(brief)).unwrap(), stream(&run(long)).unwrap());
    }

    /// L1, side by side: each lane's item is assembled as if it were alone.
    #[test]
    fn l1_lanes_do_not_disturb_each_other(
        pieces in prop::collection::vec(prop::collection::vec(".{0,4}", 0..5), 3),
        kinds in prop::collection::vec(0_usize..3, 3),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let tags = [None, Some("s1"), Some("s2")];
        let items: Vec<_> = pieces
            .into_iter()
            .zip(kinds)
            .zip(tags)
            .map(|((pieces, kind), tag)| Item { kind, tag, pieces })
            .collect();
        let lanes: Vec<_> = items
            .iter()
            .enumerate()
            .map(|(index, item)| chunks(item, &index.to_string(), true))
            .collect();
        let events = stream(&run(interleave(&lanes, &order))).unwrap();
        for (index, item) in items.iter().enumerate() {
            let id = index.to_string();
            prop_assert_eq!(of_item(&events, &id), triad(item, &id));
        }
    }

    /// L3: unknown events and fields change nothing of what is known.
    #[test]
    fn l3_unknown_things_change_nothing(
        items in items(),
        chunked in any::<bool>(),
        strays in prop::collection::vec((any::<prop::sample::Index>(), unknown()), 0..6),
        fields in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut plain = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let id = index.to_string();
            plain.extend(if chunked { chunks(item, &id, false) } else { triad(item, &id) });
        }
        let plain = run(plain);
        let mut mixed = plain.clone();
        for index in fields {
            let index = index.index(mixed.len());
            mixed[index]["somethingNewer"] = json!({"a": [null]});
        }
        for (index, stray) in strays {
            mixed.insert(index.index(mixed.len() + 1), stray);
        }
        let known: Vec<_> = stream(&mixed)
            .unwrap()
            .into_iter()
            .filter(|event| {
                let event: Event = serde_json::from_value(event.clone()).unwrap();
                !matches!(event, Event::Unknown(_))
            })
            .map(|mut event| {
                event.as_object_mut().unwrap().shift_remove("somethingNewer");
                event
            })
            .collect();
        prop_assert_eq!(known, stream(&plain).unwrap());
    }

    /// The short way of a delta and the long one (which a batch of one takes) give the same.
    #[test]
    fn both_ways_of_a_delta_agree(
        kind in prop::sample::select(vec![
            "TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_ARGS", "TEXT_MESSAGE_END", "RAW",
        ]),
        fields in prop::collection::vec(
            (
                prop::sample::select(vec![
                    "messageId", "toolCallId", "delta", "metadata", "d\\u0065lta", "newer", "type",
                ]),
                prop_oneof![
                    3 => "\\PC{0,6}".prop_map(|text| json!(text).to_string()),
                    1 => Just(r#""\u0041\ud83d\ude00\"\\""#.to_owned()),
                    1 => Just(r#""\ud800""#.to_owned()),
                    1 => Just(r#""TOOL_CALL_ARGS""#.to_owned()),
                    1 => Just("null".to_owned()),
                    1 => Just("{}".to_owned()),
                    1 => Just("1".to_owned()),
                ],
            ),
            0..5,
        ),
        at in any::<prop::sample::Index>(),
        space in "[ \t\n]{0,2}",
    ) {
        let mut members: Vec<_> = fields
            .iter()
            .map(|(field, value)| format!("\"{field}\"{space}:{space}{value}"))
            .collect();
        members.insert(at.index(members.len() + 1), format!("\"type\":\"{kind}\""));
        let frame = format!("{space}{{{}}}{space}", members.join(","));
        let (short, short_end) = decode(&[&frame]);
        let (long, long_end) = decode(&[&format!("[{frame}]")]);
        prop_assert_eq!(as_json(&short.events), as_json(&long.events), "{}", frame);
        prop_assert_eq!(short_end.is_ok(), long_end.is_ok(), "{}", frame);
    }

    /// I1, for the decoder: whatever comes, it is an error or events, and a frame that fails gives none.
    #[test]
    fn i1_any_bytes_are_survived(
        frames in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(any::<u8>(), 0..40),
                broken_frame(),
            ],
            1..8,
        ),
    ) {
        let mut decoder = decoder();
        let mut recorder = Recorder::default();
        for data in &frames {
            let before = recorder.events.len();
            if decoder.frame(frame(data), &mut recorder).is_err() {
                prop_assert_eq!(recorder.events.len(), before);
            }
        }
        prop_assert!(decoder.end(&mut recorder).is_ok());
        // Whatever came out can be judged, written and read again.
        let mut order = Order::default();
        for event in &recorder.events {
            let _ = order.check(event.into());
            let text = serde_json::to_string(event).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Event>(&text).unwrap(), event);
        }
    }
}

proptest! {
    #![proptest_config(config())]

    /// Whatever is asked, and whatever its fields are, the run waits for an answer that can name it.
    #[test]
    fn whatever_langgraph_asks_is_an_interrupt(
        fields in prop::array::uniform7(any_json(true)),
        is_text: bool,
    ) {
        let [message, reason, call, schema, expiry, id, native] = fields;
        let question = json!({
            "message": message, "reason": reason, "toolCallId": call, "responseSchema": schema, "expiresAt": expiry,
        });
        let value = if is_text { json!(question.to_string()) } else { question.clone() };
        let asked = json!({
            "type": "CUSTOM", "name": "on_interrupt", "value": value,
            "rawEvent": {"id": id, "response_schema": native},
        });
        let (events, _) = taken(&[started(), asked, finished()]);
        let outcome = &events.last().unwrap()["outcome"];
        prop_assert_eq!(&outcome["type"], "interrupt");
        let interrupt = &outcome["interrupts"][0];
        prop_assert!(interrupt["id"].as_str().is_some_and(|id| !id.is_empty()));
        prop_assert_eq!(&interrupt["metadata"]["langgraph"]["raw"], &question);
    }
}
