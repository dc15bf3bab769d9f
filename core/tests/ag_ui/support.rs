//! What the AG-UI tests share: the fixtures of the AG-UI project, and a sink that keeps what it gets.
#![allow(dead_code, unreachable_pub)] // each test file uses a part of it

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use stepwell_core::dialect::{Decode, DecodeError, Decoder, Dialect, HopIds, Sink};
use stepwell_core::event::{Event, EventRef, Order, Rule, Violation};
use stepwell_core::wire::Frame;

/// The AG-UI fixtures, which are not part of this repository: under `STEPWELL_SHARED`, or beside the repository.
pub fn fixtures(test: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let places = match std::env::var_os("STEPWELL_SHARED") {
        Some(shared) => vec![PathBuf::from(shared)],
        // A worktree of the repository may lie one folder deeper.
        None => vec![root.join("../../shared"), root.join("../../../shared")],
    };
    let found = places
        .iter()
        .map(|place| place.join("fixtures/ag-ui"))
        .find(|folder| folder.is_dir());
    if found.is_none() {
        assert!(
            std::env::var_os("CI").is_none(),
            "no AG-UI fixtures in {places:?}; set STEPWELL_SHARED"
        );
        eprintln!("SKIPPED {test}: no AG-UI fixtures in {places:?}; set STEPWELL_SHARED");
    }
    found
}

pub fn read_json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The fixtures of one verdict (`valid` or `invalid`): (`Definition/name`, payload), sorted.
pub fn payloads(fixtures: &Path, verdict: &str) -> Vec<(String, Value)> {
    let mut payloads = Vec::new();
    for definition in files(&fixtures.join("events")) {
        for file in files(&definition.join(verdict)) {
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            let Some(name) = name
                .strip_suffix(".json")
                .filter(|name| !name.ends_with(".expect"))
            else {
                continue;
            };
            let definition = definition.file_name().unwrap().to_string_lossy();
            payloads.push((format!("{definition}/{name}"), read_json(&file)));
        }
    }
    payloads
}

pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .map(|entries| entries.map(|entry| entry.unwrap().path()).collect())
        .unwrap_or_default();
    files.sort();
    files
}

/// Keeps events and warnings; refuses what the order does not allow, if it is to check it.
#[derive(Default)]
pub struct Recorder {
    pub order: Option<Order>,
    pub events: Vec<Event>,
    pub warnings: Vec<String>,
    /// How many events came in the short, borrowed form.
    pub borrowed: usize,
}

impl Recorder {
    pub fn checking() -> Self {
        Self {
            order: Some(Order::default()),
            ..Self::default()
        }
    }
}

impl Sink for Recorder {
    fn event(&mut self, event: EventRef<'_>) -> Result<(), Violation> {
        if let Some(order) = &mut self.order {
            order.check(event)?;
        }
        if !matches!(event, EventRef::Whole(_)) {
            self.borrowed += 1;
        }
        self.events.push(event.to_event());
        Ok(())
    }

    fn warning(&mut self, message: &str) {
        self.warnings.push(message.to_owned());
    }
}

pub fn decoder() -> Decoder {
    Decoder::new(
        Dialect::AgUi,
        HopIds {
            thread_id: "thread".into(),
            run_id: "run".into(),
            ..HopIds::default()
        },
    )
}

pub fn frame(data: &[u8]) -> Frame<'_> {
    Frame {
        event: &[],
        data,
        id: &[],
        ..Frame::default()
    }
}

/// Decodes each text as one frame, up to the first error.
pub fn decode_into<'a>(
    recorder: &mut Recorder,
    frames: impl IntoIterator<Item = &'a str>,
) -> Result<(), DecodeError> {
    let mut decoder = decoder();
    for data in frames {
        decoder.frame(frame(data.as_bytes()), recorder)?;
    }
    decoder.end(recorder)
}

pub fn decode(frames: &[&str]) -> (Recorder, Result<(), DecodeError>) {
    let mut recorder = Recorder::default();
    let end = decode_into(&mut recorder, frames.iter().copied());
    (recorder, end)
}

/// The events as JSON, for comparing.
pub fn as_json(events: &[Event]) -> Vec<Value> {
    events
        .iter()
        .map(|event| serde_json::to_value(event).unwrap())
        .collect()
}

/// Validators of AG-UI 1.0's JSON Schema.
pub struct Schema(Value);

impl Schema {
    pub fn load(fixtures: &Path) -> Self {
        Self(read_json(&fixtures.join("schema-1.0.json")))
    }

    pub fn of(&self, definition: &str) -> jsonschema::Validator {
        let mut schema = self.0.clone();
        schema["$ref"] = format!("#/$defs/{definition}").into();
        jsonschema::draft202012::new(&schema).unwrap()
    }
}

pub fn assert_valid(validator: &jsonschema::Validator, value: &Value, name: &str) {
    let errors: Vec<_> = validator
        .iter_errors(value)
        .map(|e| e.to_string())
        .collect();
    assert!(
        errors.is_empty(),
        "{name}: {value} is not valid: {errors:?}"
    );
}

pub const STARTED: &str = r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#;

/// The events and warnings of frames that are all taken.
pub fn taken(frames: &[Value]) -> (Vec<Value>, Vec<String>) {
    let texts: Vec<_> = frames.iter().map(Value::to_string).collect();
    let texts: Vec<_> = texts.iter().map(String::as_str).collect();
    let (recorder, end) = decode(&texts);
    end.unwrap_or_else(|error| panic!("{frames:?}: {error}"));
    (as_json(&recorder.events), recorder.warnings)
}

/// The one event and one warning of one frame.
pub fn one(frame: Value) -> (Value, String) {
    let (mut events, mut warnings) = taken(&[frame]);
    assert_eq!(
        (events.len(), warnings.len()),
        (1, 1),
        "{events:?} {warnings:?}"
    );
    (events.remove(0), warnings.remove(0))
}

/// The error of the last of these frames; the others are taken.
pub fn refused(frames: &[Value]) -> String {
    let texts: Vec<_> = frames.iter().map(Value::to_string).collect();
    let mut recorder = Recorder::default();
    let (last, before) = texts.split_last().unwrap();
    let mut decoder = decoder();
    for text in before {
        decoder
            .frame(frame(text.as_bytes()), &mut recorder)
            .unwrap();
    }
    let events = recorder.events.len();
    let error = decoder
        .frame(frame(last.as_bytes()), &mut recorder)
        .expect_err(last);
    assert_eq!(
        recorder.events.len(),
        events,
        "a frame that fails gives no event"
    );
    error.to_string()
}

/// Whether a whole stream is taken, by the decoder and by the order of events.
pub fn stream(frames: &[Value]) -> Result<Vec<Value>, DecodeError> {
    let texts: Vec<_> = frames.iter().map(Value::to_string).collect();
    let mut recorder = Recorder::checking();
    decode_into(&mut recorder, texts.iter().map(String::as_str))?;
    Ok(as_json(&recorder.events))
}

pub fn rule(frames: &[Value]) -> Option<Rule> {
    match stream(frames) {
        Err(DecodeError::Order(violation)) => Some(violation.rule),
        Err(other) => panic!("{other}"),
        Ok(_) => None,
    }
}

pub fn started() -> Value {
    serde_json::from_str(STARTED).unwrap()
}

pub fn finished() -> Value {
    json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"})
}

pub fn text_chunk(fields: Value) -> Value {
    chunk("TEXT_MESSAGE_CHUNK", fields)
}

pub fn chunk(kind: &str, mut fields: Value) -> Value {
    fields["type"] = kind.into();
    fields
}

pub fn text_start(id: &str) -> Value {
    json!({"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"})
}

pub fn text_content(id: &str, delta: &str) -> Value {
    json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": delta})
}

pub fn text_end(id: &str) -> Value {
    json!({"type": "TEXT_MESSAGE_END", "messageId": id})
}

pub fn of(mut event: Value, subagent: &str) -> Value {
    event["subagentRunId"] = subagent.into();
    event
}

/// The events of frames that are all taken without a warning.
pub fn expanded(frames: &[Value]) -> Vec<Value> {
    let (events, warnings) = taken(frames);
    assert_eq!(warnings, Vec::<String>::new());
    events
}
