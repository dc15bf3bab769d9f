//! The official conformance streams of AG-UI 1.0: the outcome, the events that come out, what the warnings name, and the
//! conversation that comes of them.
//!
//! Relaxed is what others are allowed to: the wording of errors and warnings. An event of an unknown type is handed on to
//! the app as one of its own kind here, which the protocol calls dropped.

use crate::support::*;
use serde_json::Value;
use stepwell_core::dialect::{Dialect, HopIds};
use stepwell_core::event::{Event, EventRef, Phase};
use stepwell_core::pipeline::{Listener, Pipeline, StreamEnd};
use stepwell_core::transcript::{Applied, Transcript};
use stepwell_core::wire::FrameLimits;

/// What the reference client says, and what is said here instead.
const WORDING: &[(&str, &str)] = &[
    (
        "No active text message found with ID 'orphan-content-m1'",
        "no text message 'orphan-content-m1' is open",
    ),
    (
        "First TEXT_MESSAGE_CHUNK must have a messageId",
        "must have a messageId",
    ),
    ("that was not started", "has no open step"),
    (
        "Failed to apply state patch",
        "a state delta that does not apply",
    ),
];

fn ours(theirs: &str) -> &str {
    let ours = WORDING.iter().find(|(known, _)| *known == theirs);
    ours.map_or(theirs, |(_, ours)| ours)
}

#[derive(Default)]
struct Heard(Vec<String>);

impl Listener for Heard {
    fn applied(&mut self, _: EventRef<'_>, _: &Applied, _: &Transcript) {}
    fn moving(&mut self, _: &Transcript) {}
    fn warning(&mut self, message: &str) {
        self.0.push(message.to_owned());
    }
    fn unknown_call(&mut self, _: &str, message: &str) {
        self.0.push(message.to_owned());
    }
}

/// The whole way from bytes, seven at a time, to the conversation, and what was warned of.
fn transcript(frames: &[String]) -> (Transcript, Result<StreamEnd, String>, Vec<String>) {
    let body: String = frames
        .iter()
        .map(|frame| format!("data: {frame}\n\n"))
        .collect();
    let (ids, limits) = (HopIds::default(), FrameLimits::default());
    let mut pipeline = Pipeline::new(Dialect::AgUi, ids, limits);
    let (mut transcript, mut heard) = (Transcript::default(), Heard::default());
    let mut received = Ok(());
    for chunk in body.as_bytes().chunks(7) {
        received = received.and_then(|()| pipeline.receive(chunk, &mut transcript, &mut heard));
    }
    let end = received.and_then(|()| pipeline.end(&mut transcript, &mut heard));
    (transcript, end.map_err(|error| error.to_string()), heard.0)
}

/// Whether `value` has all that `expected` has: lists of the same length, objects with at least these fields.
fn has(value: &Value, expected: &Value) -> bool {
    match (value, expected) {
        (Value::Object(value), Value::Object(expected)) => expected
            .iter()
            .all(|(name, expected)| value.get(name).is_some_and(|value| has(value, expected))),
        (Value::Array(values), Value::Array(expected)) => {
            let mut pairs = values.iter().zip(expected);
            values.len() == expected.len() && pairs.all(|(value, expected)| has(value, expected))
        }
        _ => value == expected,
    }
}

#[test]
fn the_official_streams_end_as_they_should() {
    let Some(fixtures) = fixtures("the_official_streams_end_as_they_should") else {
        return;
    };
    let streams = files(&fixtures.join("conformance"));
    assert!(streams.len() >= 14, "only {} streams", streams.len());
    for file in streams {
        let case = read_json(&file);
        let name = case["name"].as_str().unwrap();
        let expect = &case["expect"];
        let frames: Vec<_> = list(&case["stream"]).iter().map(Value::to_string).collect();
        let mut recorder = Recorder::checking();
        let end = decode_into(&mut recorder, frames.iter().map(String::as_str));
        match expect["outcome"].as_str().unwrap() {
            "completed" => {
                end.unwrap_or_else(|error| panic!("{name}: {error}"));
                let phase = recorder.order.as_ref().unwrap().phase();
                assert_eq!(phase, Phase::Finished, "{name}");
            }
            "failed" => {
                let error = end.expect_err(name).to_string();
                let expected = expect["errorContains"].as_str().unwrap();
                assert!(error.contains(ours(expected)), "{name}: {error}");
            }
            other => panic!("{name}: unknown outcome {other}"),
        }
        let (transcript, end, heard) = transcript(&frames);
        let is_completed = expect["outcome"] == "completed";
        assert_eq!(
            end == Ok(StreamEnd::Finished),
            is_completed,
            "{name}: {end:?}"
        );
        assert_eq!(end.is_err(), !is_completed, "{name}: {end:?}");
        warnings(name, expect, &heard);
        events(name, expect, &recorder.events);
        let messages = serde_json::to_value(transcript.messages()).unwrap();
        if let Some(count) = expect["messageCount"].as_u64() {
            let count = usize::try_from(count).unwrap();
            assert_eq!(transcript.messages().len(), count, "{name}: {messages}");
        }
        for (part, value) in [
            ("messages", &messages),
            ("state", transcript.shared_state()),
        ] {
            if let Some(expected) = expect.get(part) {
                assert!(has(value, expected), "{name}: {value} is not {expected}");
            }
        }
        let known = [
            "outcome",
            "errorContains",
            "warnings",
            "noWarnings",
            "eventTypes",
            "eventTypesAbsent",
            "eventPaths",
            "eventAbsentPaths",
            "messageCount",
            "messages",
            "state",
        ];
        let expectations = expect.as_object().unwrap().keys();
        let unread: Vec<_> = expectations
            .filter(|key| !known.contains(&key.as_str()))
            .collect();
        assert!(unread.is_empty(), "{name}: nobody looks at {unread:?}");
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn warnings(name: &str, expect: &Value, warnings: &[String]) {
    for expected in list(&expect["warnings"]) {
        let expected = ours(expected.as_str().unwrap());
        assert!(
            warnings.iter().any(|warning| warning.contains(expected)),
            "{name}: {expected}: {warnings:?}"
        );
    }
    if expect["noWarnings"] == true {
        assert_eq!(warnings, &[] as &[String], "{name}");
    }
}

/// An unknown event is handed on to the app here, as one of its own kind; as far as the protocol goes it is dropped.
fn events(name: &str, expect: &Value, events: &[Event]) {
    let known: Vec<_> = events
        .iter()
        .filter(|event| !matches!(event, Event::Unknown(_)))
        .cloned()
        .collect();
    if let Some(kinds) = expect["eventTypes"].as_array() {
        let ours: Vec<_> = known.iter().map(Event::kind).collect();
        assert_eq!(ours, *kinds, "{name}");
    }
    for absent in list(&expect["eventTypesAbsent"]) {
        assert!(known.iter().all(|event| event.kind() != absent), "{name}");
    }
    let events = Value::Array(as_json(&known));
    let at = |path: &str| events.pointer(&format!("/{}", path.replace('.', "/")));
    for (path, value) in expect["eventPaths"].as_object().into_iter().flatten() {
        assert_eq!(at(path), Some(value), "{name}: {path}");
    }
    for path in list(&expect["eventAbsentPaths"]) {
        assert_eq!(at(path.as_str().unwrap()), None, "{name}: {path}");
    }
}
