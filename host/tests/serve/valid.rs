//! The official JSON Schema of AG-UI 1.0, which is not part of this repository: under `STEPWELL_SHARED`, or next to it.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The validator of events.
static EVENTS: LazyLock<Option<jsonschema::Validator>> =
    LazyLock::new(|| Some(jsonschema::draft202012::new(&schema()?).expect("a schema")));

/// Holds an event to the schema.
pub(crate) fn check_event(event: &Value) {
    if let Some(validator) = &*EVENTS {
        check(validator, event);
    }
}

fn schema() -> Option<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let places = match std::env::var_os("STEPWELL_SHARED") {
        Some(shared) => vec![PathBuf::from(shared)],
        // A worktree of the repository may lie one folder deeper.
        None => vec![root.join("../../shared"), root.join("../../../shared")],
    };
    let mut files = places
        .iter()
        .map(|place| place.join("fixtures/ag-ui/schema-1.0.json"));
    let Some(file) = files.find(|file| file.is_file()) else {
        assert!(
            std::env::var_os("CI").is_none(),
            "no AG-UI schema in {places:?}; set STEPWELL_SHARED"
        );
        eprintln!("SKIPPED the JSON Schema of AG-UI: it is not in {places:?}; set STEPWELL_SHARED");
        return None;
    };
    let text = std::fs::read_to_string(file).expect("the schema can be read");
    Some(serde_json::from_str(&text).expect("the schema is JSON"))
}

/// Holds a value to one definition of the schema.
pub(crate) fn check_definition(name: &str, value: &Value) {
    let Some(mut schema) = schema() else {
        return;
    };
    schema["$ref"] = json!(format!("#/$defs/{name}"));
    check(
        &jsonschema::draft202012::new(&schema).expect("a schema"),
        value,
    );
}

fn check(validator: &jsonschema::Validator, value: &Value) {
    let errors: Vec<_> = validator
        .iter_errors(value)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{value}: {errors:?}");
}

/// The check itself can fail.
#[test]
fn what_the_schema_does_not_allow_is_found() {
    let Some(validator) = &*EVENTS else {
        return;
    };
    let is_valid = |event: Value| validator.is_valid(&event);
    assert!(is_valid(json!({"type": "RUN_ERROR", "message": "m"})));
    assert!(!is_valid(
        json!({"type": "RUN_ERROR", "message": "m", "stack": "s"})
    ));
    assert!(!is_valid(json!({"type": "RUN_ERROR", "message": null})));
}
