//! Every event that comes out is one by AG-UI's own JSON Schema.
#![allow(dead_code, unreachable_pub)] // each test uses a part of it

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use stepwell_core::event::Event;

/// The schema, which is not part of this repository: under `STEPWELL_SHARED`, or beside the repository.
fn schema() -> Option<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let places = match std::env::var_os("STEPWELL_SHARED") {
        Some(shared) => vec![PathBuf::from(shared)],
        // A worktree of the repository may lie one folder deeper.
        None => vec![root.join("../../shared"), root.join("../../../shared")],
    };
    let read = |place: &PathBuf| {
        let file = place.join("fixtures/ag-ui/schema-1.0.json");
        let text = std::fs::read_to_string(file).ok()?;
        Some(serde_json::from_str(&text).expect("the schema is JSON"))
    };
    let found = places.iter().find_map(read);
    if found.is_none() {
        assert!(
            std::env::var_os("CI").is_none(),
            "no AG-UI schema in {places:?}; set STEPWELL_SHARED"
        );
        eprintln!("SKIPPED the schema of emitted events: not in {places:?}; set STEPWELL_SHARED");
    }
    found
}

fn validator() -> Option<&'static jsonschema::Validator> {
    static VALIDATOR: OnceLock<Option<jsonschema::Validator>> = OnceLock::new();
    let make = || {
        let mut schema = schema()?;
        schema["$ref"] = "#/$defs/Event".into();
        Some(jsonschema::draft202012::new(&schema).expect("the schema is one"))
    };
    VALIDATOR.get_or_init(make).as_ref()
}

/// Fails if `event` is not what the schema has. What a newer agent said is handed on as it came: an unknown event is none
/// of the schema's, and unknown fields are left out of the check.
#[track_caller]
pub fn assert_schema(event: &Event) {
    static SEEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let Some(validator) = validator() else { return };
    if matches!(event, Event::Unknown(_)) {
        return;
    }
    let mut value = serde_json::to_value(event).expect("an event is JSON");
    for field in event.common().iter().flat_map(|common| common.extra.keys()) {
        value
            .as_object_mut()
            .expect("an object")
            .shift_remove(field);
    }
    // Worlds say the same things many thousand times: what is alike but for its texts and numbers is looked at once.
    let is_new = {
        let mut seen = SEEN.lock().expect("no test panics while it holds it");
        seen.insert(shape(&value))
    };
    if is_new {
        let errors: Vec<_> = validator
            .iter_errors(&value)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{value} is no AG-UI event: {errors:?}");
    }
}

/// A value with its texts and numbers left out, but for the words that the protocol gives a meaning.
fn shape(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) => value.to_string(),
        Value::Number(number) => if number.is_f64() { "f" } else { "n" }.to_owned(),
        Value::String(_) => "s".to_owned(),
        Value::Array(items) => {
            let items: BTreeSet<_> = items.iter().map(shape).collect();
            format!("{items:?}")
        }
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| match name.as_str() {
                "type" | "role" | "op" | "status" | "subtype" | "path" | "from" => {
                    format!("{name}={value}")
                }
                _ => format!("{name}:{}", shape(value)),
            };
            let fields: BTreeSet<_> = fields.iter().map(field).collect();
            format!("{{{fields:?}}}")
        }
    }
}
