//! JSON Schema validation, by the `jsonschema` crate.

use serde_json::Value;

/// A tool's schema, compiled once. Without the feature `json-schema` it lets everything pass.
#[derive(Debug)]
pub(super) struct Schema {
    #[cfg(feature = "json-schema")]
    validator: jsonschema::Validator,
}

/// As many faults as are told to the model at once.
#[cfg(feature = "json-schema")]
const FAULTS: usize = 5;

#[cfg(feature = "json-schema")]
impl Schema {
    pub(super) fn new(schema: &Value) -> Result<Self, String> {
        // Formats and remote references stay off: the first would surprise, the second would need IO.
        jsonschema::options()
            .build(schema)
            .map(|validator| Self { validator })
            .map_err(|error| error.to_string())
    }

    pub(super) fn check(&self, arguments: &Value) -> Result<(), String> {
        let faults: Vec<String> = self
            .validator
            .iter_errors(arguments)
            .take(FAULTS)
            .map(|error| {
                let path = error.instance_path().to_string();
                if path.is_empty() {
                    error.to_string()
                } else {
                    format!("{error} (at {path})")
                }
            })
            .collect();
        if faults.is_empty() {
            Ok(())
        } else {
            Err(faults.join("; "))
        }
    }
}

#[cfg(not(feature = "json-schema"))]
impl Schema {
    pub(super) fn new(_schema: &Value) -> Result<Self, String> {
        Ok(Self {})
    }

    pub(super) fn check(&self, _arguments: &Value) -> Result<(), String> {
        Ok(())
    }
}
