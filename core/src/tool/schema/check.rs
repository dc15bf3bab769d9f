//! JSON Schema validation, by the `jsonschema` crate.

use serde_json::Value;

/// A tool's schema, compiled once. Without the feature `json-schema` it lets everything pass.
#[derive(Debug)]
pub(crate) struct Check {
    #[cfg(feature = "json-schema")]
    validator: jsonschema::Validator,
}

/// As many faults as are told to the model at once.
#[cfg(feature = "json-schema")]
const FAULTS: usize = 5;

#[cfg(feature = "json-schema")]
impl Check {
    pub(crate) fn new(schema: &Value) -> Result<Self, String> {
        // Formats and remote references stay off: the first would surprise, the second would need IO.
        jsonschema::options()
            .build(schema)
            .map(|validator| Self { validator })
            .map_err(|error| error.to_string())
    }

    pub(crate) fn check(&self, arguments: &Value) -> Result<(), String> {
        let faults: Vec<String> = self
            .validator
            .iter_errors(arguments)
            .take(FAULTS)
            .map(|error| {
                // An error repeats the value at fault, which may be large: the model has it already.
                let fault = shortened(error.to_string());
                let path = error.instance_path().to_string();
                if path.is_empty() {
                    fault
                } else {
                    format!("{fault} (at {})", shortened(path))
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

/// The longest text of one fault, in bytes.
#[cfg(feature = "json-schema")]
const LONGEST: usize = 300;

#[cfg(feature = "json-schema")]
fn shortened(mut fault: String) -> String {
    if fault.len() > LONGEST {
        // Both ends count: the value stands first, what is wrong with it last.
        let boundary = |from: usize| (from..).find(|at| fault.is_char_boundary(*at));
        let head = boundary(LONGEST / 2).unwrap_or_default();
        let tail = boundary(fault.len() - LONGEST / 2).unwrap_or(fault.len());
        fault.replace_range(head..tail, " … ");
    }
    fault
}

#[cfg(not(feature = "json-schema"))]
impl Check {
    pub(crate) fn new(_schema: &Value) -> Result<Self, String> {
        Ok(Self {})
    }

    pub(crate) fn check(&self, _arguments: &Value) -> Result<(), String> {
        Ok(())
    }
}
