//! The binary encoding: the reference's own bytes, every event there and back, and bytes that mean no good.

use crate::any_event::any_event;
use crate::support::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use stepwell_core::dialect::{Dialect, HopIds};
use stepwell_core::event::protobuf::{self, EncodeError, MEDIA_TYPE, ProtobufError};
use stepwell_core::event::{Event, EventRef, UnknownEvent};
use stepwell_core::pipeline::{Pipeline, StreamEnd, StreamError};
use stepwell_core::transcript::Transcript;
use stepwell_core::wire::FrameLimits;

fn event(json: &Value) -> Event {
    serde_json::from_value(json.clone()).unwrap_or_else(|error| panic!("{json}: {error}"))
}

/// What protobuf cannot tell apart: an empty list and an absent one.
fn without_empty_lists(mut value: Value) -> Value {
    let lists = ["usage", "pendingToolCallIds", "interruptIds"];
    let inside = ["tools", "context", "resume"];
    for name in lists {
        let is_empty = |value: &Value| value[name].as_array().is_some_and(Vec::is_empty);
        if is_empty(&value) {
            value.as_object_mut().unwrap().shift_remove(name);
        }
        if is_empty(&value["outcome"]) {
            value["outcome"].as_object_mut().unwrap().shift_remove(name);
        }
    }
    if let Some(input) = value["input"].as_object_mut() {
        for name in inside {
            if input.get(name).is_some_and(|list| *list == json!([])) {
                input.shift_remove(name);
            }
        }
    }
    value
}

/// From here on the fixtures have the numbers of a draft: 1.0 put the subagents' events in between, and their ids into the
/// others. `tests/ag-ui-oracle` compares these with what the released reference writes.
const DRAFT: u8 = 19;

/// Written by a draft that had no place for the subagents of messages and interrupts, and that always gave a role.
const DRAFTS: &[&str] = &[
    "MessagesSnapshotEvent__attributed-messages.json.bin",
    "RunFinishedEvent__outcome-interrupt-full.json.bin",
    "RunFinishedEvent__outcome-interrupt.json.bin",
    "TextMessageStartEvent__minimal.json.bin",
];

#[test]
fn the_references_bytes_are_the_events_of_its_fixtures() {
    let Some(fixtures) = fixtures("the_references_bytes_are_the_events_of_its_fixtures") else {
        return;
    };
    let files = files(&fixtures.join("proto"));
    assert!(files.len() >= 90, "only {} files", files.len());
    let (mut same, mut compared) = (0, 0);
    let mut different = Vec::new();
    for file in &files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let (definition, case) = name.strip_suffix(".bin").unwrap().split_once("__").unwrap();
        let json = read_json(&fixtures.join(format!("events/{definition}/valid/{case}")));
        let bytes = std::fs::read(file).unwrap();
        let number = match bytes[..] {
            [low, high, ..] if low > 127 => (low & 127) >> 3 | high << 4,
            _ => bytes[0] >> 3,
        };
        if number >= DRAFT {
            continue;
        }
        compared += 1;
        if name.contains("raw-event-null") {
            // The null is for the decoder's compatibility to drop.
            assert!(protobuf::decode(&bytes).is_err(), "{name}");
            continue;
        }
        let expected = event(&json);
        let plain = |event: &Event| without_empty_lists(serde_json::to_value(event).unwrap());
        let read = match protobuf::decode(&bytes) {
            Ok(read) if plain(&read) == plain(&expected) => read,
            read => {
                different.push(name.clone());
                assert!(DRAFTS.contains(&&*name), "{name}: {read:?}");
                continue;
            }
        };
        let written = protobuf::encode(EventRef::from(&expected)).unwrap();
        assert_eq!(written.len(), bytes.len(), "{name}: {written:?} {bytes:?}");
        assert_eq!(protobuf::decode(&written).unwrap(), read, "{name}");
        same += usize::from(written == bytes);
    }
    // The members of an object have no order, so that a few may differ in it.
    assert_eq!(different, DRAFTS);
    assert!(compared >= 70, "only {compared} of 1.0");
    let alike = same + different.len() + 3;
    assert!(
        alike >= compared,
        "only {same} of {compared} are the same bytes"
    );
}

/// A body of frames.
fn body(events: &[Event]) -> Vec<u8> {
    let mut body = Vec::new();
    for event in events {
        protobuf::encode_frame(event.into(), &mut body).unwrap();
    }
    body
}

fn sse(events: &[Event]) -> Vec<u8> {
    let frame = |event| format!("data: {}\n\n", serde_json::to_string(event).unwrap());
    events.iter().map(frame).collect::<String>().into_bytes()
}

fn pipeline(media_type: &str) -> Pipeline {
    let ids = HopIds {
        thread_id: "t".into(),
        run_id: "r".into(),
        ..HopIds::default()
    };
    Pipeline::of_media_type(Dialect::AgUi, media_type, ids, FrameLimits::default())
}

#[derive(Debug, PartialEq)]
struct Seen {
    transcript: Transcript,
    end: Result<StreamEnd, StreamError>,
}

fn read<'a>(
    mut pipeline: Pipeline,
    chunks: impl IntoIterator<Item = &'a [u8]>,
    snapshots: bool,
) -> Seen {
    let mut transcript = Transcript::default();
    let mut end = Ok(StreamEnd::Truncated);
    for chunk in chunks {
        if let Err(error) = pipeline.receive(chunk, &mut transcript, &mut ()) {
            end = Err(error);
            break;
        }
        if snapshots {
            let text = serde_json::to_string(&pipeline).unwrap();
            pipeline = serde_json::from_str(&text).unwrap();
        }
    }
    if end.is_ok() {
        end = pipeline.end(&mut transcript, &mut ());
    }
    Seen { transcript, end }
}

fn a_run() -> Vec<Event> {
    [
        started(),
        text_start("m"),
        text_content("m", "Grüß "),
        text_content("m", "dich 🚀"),
        text_end("m"),
        json!({"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "n", "delta": "{\"a\":"}),
        json!({"type": "TOOL_CALL_CHUNK", "delta": "1}"}),
        json!({"type": "REASONING_MESSAGE_START", "messageId": "r", "role": "reasoning"}),
        json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": "r", "delta": "Hm."}),
        json!({"type": "REASONING_MESSAGE_END", "messageId": "r", "metadata": {"a": null}}),
        json!({"type": "STATE_SNAPSHOT", "snapshot": {"list": [1, 2.5, null, true]}}),
        json!({"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/list/0", "value": -7}]}),
        finished(),
    ]
    .iter()
    .map(event)
    .collect()
}

#[test]
fn i03_i04_where_a_body_is_cut_and_stored_changes_nothing() {
    let body = body(&a_run());
    let whole = read(pipeline(MEDIA_TYPE), [&body[..]], false);
    assert_eq!(whole.end, Ok(StreamEnd::Finished));
    assert_eq!(whole.transcript.text(), "Grüß dich 🚀");
    assert_eq!(whole.transcript.reasoning(), "Hm.");
    assert_eq!(
        whole.transcript.shared_state(),
        &json!({"list": [-7, 2.5, null, true]})
    );
    for at in 0..=body.len() {
        let (left, right) = body.split_at(at);
        assert_eq!(
            read(pipeline(MEDIA_TYPE), [left, right], true),
            whole,
            "{at}"
        );
    }
    assert_eq!(read(pipeline(MEDIA_TYPE), body.chunks(1), true), whole);
}

#[test]
fn l6_both_encodings_of_a_run_are_the_same_conversation() {
    let events = a_run();
    let text = sse(&events);
    let lines: Vec<u8> = events
        .iter()
        .flat_map(|event| [serde_json::to_vec(event).unwrap(), b"\n".to_vec()].concat())
        .collect();
    let binary = read(pipeline(MEDIA_TYPE), [&body(&events)[..]], false);
    assert_eq!(
        binary,
        read(pipeline("text/event-stream"), [&text[..]], false)
    );
    assert_eq!(
        binary,
        read(pipeline("application/x-ndjson"), [&lines[..]], false)
    );
}

#[test]
fn a_body_that_ends_within_a_frame_is_truncated_wherever() {
    let body = body(&a_run());
    let mut frames = vec![0];
    while let Some(header) = body[frames[frames.len() - 1]..].first_chunk() {
        let length = usize::try_from(u32::from_be_bytes(*header)).unwrap();
        frames.push(frames[frames.len() - 1] + 4 + length);
    }
    for at in 0..body.len() {
        let seen = read(pipeline(MEDIA_TYPE), [&body[..at]], false);
        assert_eq!(seen.end, Ok(StreamEnd::Truncated), "cut at {at}");
    }
    // What comes after the end may say that the run failed after all.
    let late = [&body[..], &[0, 0, 0, 9, 1]].concat();
    let seen = read(pipeline(MEDIA_TYPE), [&late[..]], false);
    assert_eq!(seen.end, Ok(StreamEnd::Truncated));
    assert_eq!(frames.last(), Some(&body.len()));
}

#[test]
fn a_frame_beyond_the_cap_is_refused_by_its_header() {
    let limit = FrameLimits::default().event;
    for (length, is_refused) in [(limit, false), (limit + 1, true), (0xffff_ffff, true)] {
        let header = u32::try_from(length).unwrap().to_be_bytes();
        let seen = read(pipeline(MEDIA_TYPE), [&header[..]], false);
        match seen.end {
            Err(error) => {
                assert!(is_refused, "{error}");
                assert!(error.to_string().contains(&limit.to_string()), "{error}");
            }
            Ok(end) => assert!(!is_refused && end == StreamEnd::Truncated, "{length}"),
        }
    }
}

fn varint(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 127 {
        bytes.push((value & 127) as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A field of wire type 2.
fn field(number: usize, payload: &[u8]) -> Vec<u8> {
    [&varint((number << 3) | 2), &varint(payload.len()), payload].concat()
}

fn base(kind: u8) -> Vec<u8> {
    field(1, &[8, kind])
}

fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap();
    [&length.to_be_bytes()[..], message].concat()
}

#[test]
fn an_event_of_the_future_is_dropped_with_a_warning_and_the_run_goes_on() {
    struct Warned(Vec<String>);
    impl stepwell_core::pipeline::Listener for Warned {
        fn applied(
            &mut self,
            _: EventRef<'_>,
            _: &stepwell_core::transcript::Applied,
            _: &Transcript,
        ) {
        }
        fn moving(&mut self, _: &Transcript) {}
        fn warning(&mut self, message: &str) {
            self.0.push(message.to_owned());
        }
        fn unknown_call(&mut self, _: &str, _: &str) {}
    }
    let future = framed(&field(40, &field(1, &[8, 39])));
    let wrong_type = [base(7), field(2, b"m")].concat();
    let wrong_type = framed(&field(3, &wrong_type));
    let run = [
        body(&[event(&started()), event(&text_start("m"))]),
        future,
        wrong_type,
        body(&[event(&finished())]),
    ]
    .concat();
    let mut pipeline = pipeline(MEDIA_TYPE);
    let (mut warned, mut transcript) = (Warned(Vec::new()), Transcript::default());
    pipeline
        .receive(&run, &mut transcript, &mut warned)
        .unwrap();
    assert_eq!(
        pipeline.end(&mut transcript, &mut warned),
        Ok(StreamEnd::Finished)
    );
    assert_eq!(warned.0.len(), 2, "{:?}", warned.0);
    assert!(
        warned.0[0].contains("newer than AG-UI 1.0"),
        "{:?}",
        warned.0
    );
    assert!(
        warned.0[1].contains("the envelope counts"),
        "{:?}",
        warned.0
    );
}

#[test]
fn what_is_no_envelope_is_refused() {
    let text = [base(1), field(2, b"m"), field(3, b"d")].concat();
    let infinite = [&[9 + 8][..], &f64::INFINITY.to_le_bytes()].concat();
    let custom = |value: &[u8]| field(11, &[base(10), field(2, b"n"), field(3, value)].concat());
    for (message, reason) in [
        (vec![], "empty"),
        (vec![0x10, 1], "not a message"),
        ([field(2, &text), field(3, &text)].concat(), "both"),
        (field(2, &[18, 200]), "cut off"),
        (vec![0x12, 0xff, 0xff, 0xff, 0xff, 0x0f], "cut off"),
        (vec![0, 0], "number 0"),
        (field(40, &[15]), "wire type"),
        (field(2, &[base(1), field(2, &[0xff])].concat()), "UTF-8"),
        (custom(&infinite), "not finite"),
        (custom(&[]), "of no kind"),
        (
            field(11, &[base(10), field(2, b"n")].concat()),
            "`value` is missing",
        ),
    ] {
        let error = protobuf::decode(&message).expect_err(reason).to_string();
        assert!(
            error.to_lowercase().contains(&reason.to_lowercase()),
            "{reason}: {error}"
        );
        let seen = read(pipeline(MEDIA_TYPE), [&framed(&message)[..]], false);
        assert!(seen.end.is_err(), "{reason}");
    }
}

#[test]
fn a_message_that_comes_in_pieces_is_merged_as_protobuf_has_it() {
    let pieces = [
        field(2, &[base(1), field(2, b"other"), field(3, b"old")].concat()),
        field(40, b""),
        field(2, &[field(2, b"m"), field(3, b"d")].concat()),
    ]
    .concat();
    assert_eq!(
        protobuf::decode(&pieces).unwrap(),
        event(&text_content("m", "d"))
    );
}

#[test]
fn deep_json_is_refused_and_no_stack_overflows() {
    let nested = |levels: usize| {
        let mut value = json!(1);
        for _ in 0..levels {
            value = json!([value]);
        }
        Event::from(stepwell_core::event::Custom {
            name: "n".to_owned(),
            value,
            ..Default::default()
        })
    };
    let bytes = protobuf::encode((&nested(90)).into()).unwrap();
    assert_eq!(protobuf::decode(&bytes).unwrap(), nested(90));
    let mut value = vec![8, 0];
    for _ in 0..20_000 {
        value = field(6, &field(1, &value));
    }
    let bytes = field(11, &[base(10), field(2, b"n"), field(3, &value)].concat());
    let error = protobuf::decode(&bytes).unwrap_err().to_string();
    assert!(error.contains("nests deeper"), "{error}");
}

#[test]
fn unknown_operations_and_parts_are_dropped_as_they_are_in_json() {
    let operation = [&[8, 17][..], &field(2, b"/a")].concat();
    let delta = framed(&field(8, &[base(7), field(2, &operation)].concat()));
    let part = field(9, b"");
    let message = [
        field(1, b"u"),
        field(2, b"user"),
        field(8, &part),
        field(8, &field(1, &field(1, b"Hi"))),
    ]
    .concat();
    let snapshot = framed(&field(9, &[base(8), field(2, &message)].concat()));
    let run = [
        body(&[event(&started())]),
        delta,
        snapshot,
        body(&[event(&finished())]),
    ]
    .concat();
    let seen = read(pipeline(MEDIA_TYPE), [&run[..]], false);
    assert_eq!(seen.end, Ok(StreamEnd::Finished));
    assert_eq!(
        serde_json::to_value(seen.transcript.messages()).unwrap(),
        json!([{"role": "user", "id": "u", "content": [{"type": "text", "text": "Hi"}]}])
    );
}

#[test]
fn an_event_that_is_not_known_cannot_be_written() {
    let unknown = Event::Unknown(UnknownEvent {
        kind: "NEXT_YEARS_EVENT".to_owned(),
        fields: Default::default(),
    });
    let error = protobuf::encode((&unknown).into()).unwrap_err();
    let kind = "NEXT_YEARS_EVENT".to_owned();
    assert_eq!(error, EncodeError::Unknown { kind });
    let mut out = vec![1];
    assert!(protobuf::encode_frame((&unknown).into(), &mut out).is_err());
    assert_eq!(out, [1], "nothing is left of it");
    assert_eq!(
        protobuf::decode(&field(40, b"")).unwrap_err(),
        ProtobufError::UnknownEvent
    );
}

proptest! {
    #[test]
    fn every_event_comes_back(json in any_event()) {
        let event = event(&json);
        let bytes = protobuf::encode(EventRef::Whole(&event)).unwrap();
        let borrowed = protobuf::encode(EventRef::from(&event)).unwrap();
        prop_assert_eq!(&bytes, &borrowed, "both forms of a delta are the same bytes");
        let read = protobuf::decode(&bytes).unwrap();
        prop_assert_eq!(
            without_empty_lists(serde_json::to_value(&read).unwrap()),
            without_empty_lists(serde_json::to_value(&event).unwrap())
        );
    }

    #[test]
    fn i1_any_bytes_are_survived_and_cut_anywhere_the_same(
        events in prop::collection::vec(any_event(), 1..4),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3), 0..4),
        at in any::<prop::sample::Index>(),
    ) {
        let events: Vec<_> = events.iter().map(event).collect();
        let mut bytes = body(&[vec![event(&started())], events].concat());
        for (place, byte, how) in changes {
            let place = place.index(bytes.len());
            match how {
                0 => bytes[place] = byte,
                1 => bytes.insert(place, byte),
                _ => drop(bytes.remove(place)),
            }
        }
        let whole = read(pipeline(MEDIA_TYPE), [&bytes[..]], false);
        let (left, right) = bytes.split_at(at.index(bytes.len() + 1));
        prop_assert_eq!(&read(pipeline(MEDIA_TYPE), [left, right], true), &whole);
        prop_assert_eq!(&read(pipeline(MEDIA_TYPE), bytes.chunks(1), false), &whole);
    }
}
