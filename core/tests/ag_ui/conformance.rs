//! The official conformance streams of AG-UI 1.0, as far as a decoder and the order of events can be held to them: the
//! outcome, the events that come out, and what the warnings name.

use crate::support::*;
use serde_json::Value;
use stepwell_core::event::{Event, Phase};

/// Warnings of the reducer, which is not part of this.
const REDUCERS_WARNINGS: &[&str] = &["Failed to apply state patch"];

/// What the reference client's errors say, and what ours say instead.
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
];

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
                let ours = WORDING.iter().find(|(theirs, _)| *theirs == expected);
                let expected = ours.map_or(expected, |(_, ours)| ours);
                assert!(error.contains(expected), "{name}: {error}");
            }
            other => panic!("{name}: unknown outcome {other}"),
        }
        warnings(name, expect, &recorder.warnings);
        events(name, expect, &recorder.events);
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn warnings(name: &str, expect: &Value, warnings: &[String]) {
    for expected in list(&expect["warnings"]) {
        let expected = expected.as_str().unwrap();
        assert!(
            REDUCERS_WARNINGS.contains(&expected)
                || warnings.iter().any(|warning| warning.contains(expected)),
            "{name}: {warnings:?}"
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
