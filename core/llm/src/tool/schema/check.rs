//! JSON Schema validation, by the `jsonschema` crate, at a bounded cost.
//!
//! Many schemas are not the app's own: those of a client's tools, of MCP servers, of questions. The unfolded form of a
//! schema for one value, its size and its patterns are bounded when it is accepted ([`Plan`]), and the cost of a value
//! is counted before it is checked ([`cost`]). Both counts are the same on every host, so that a replay has the same
//! result; with a deadline it might not.

use super::SchemaFault;
use serde_json::Value;

use super::{
    cost::{Cost, MAX_STEPS, cost},
    pattern::{MAX_PATTERN_BYTES, MAX_PATTERNS_BYTES, engine},
    plan::{MAX_VALUES, Plan},
};

/// A tool's schema, compiled once.
#[derive(Debug)]
pub struct Check {
    validator: jsonschema::Validator,
    plan: Plan,
}

/// The memory that schemas take.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weight {
    values: usize,
    pattern_bytes: usize,
}

/// The steps that the checks of all calls of one answer may still take.
#[derive(Clone, Copy, Debug)]
pub struct CheckSteps(u64);

/// The maximum number of faults in one message to the model.
const MAX_FAULTS: usize = 5;

/// The maximum number of steps of a check that collects all faults, since each fault takes memory.
const MAX_COLLECTED: u64 = 50_000;

/// The maximum number of steps of a check that finds the first fault.
const MAX_LOCATED: u64 = 250_000;

/// The memory of all schemas of a registry, as a multiple of the maximum for one schema.
const SCHEMAS_TOGETHER: usize = 5;

/// The cost of all checks of one answer, as a multiple of the maximum for one check.
const CHECKS_TOGETHER: u64 = 4;

impl Check {
    /// Compiles a schema.
    ///
    /// # Errors
    /// The value is not a schema, or a check against it could take too long or too much memory.
    pub fn new(schema: &Value) -> Result<Self, SchemaFault> {
        let plan = Plan::new(schema)?;
        // Formats and remote references stay off: the first would surprise, the second would need IO.
        let validator = jsonschema::options()
            .with_pattern_options(engine(MAX_PATTERN_BYTES))
            .build(schema)
            .map_err(|error| SchemaFault {
                path: String::new(),
                reason: shortened(error.to_string()),
                is_too_costly: false,
            })?;
        match &plan.missing {
            None => Ok(Self { validator, plan }),
            Some(target) => Err(SchemaFault {
                path: String::new(),
                reason: format!("it refers to `{target}`, which is not in it"),
                is_too_costly: false,
            }),
        }
    }

    /// Checks a value against the schema.
    ///
    /// # Errors
    /// The parts that do not fit, described for the model.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        self.check_within(value, &mut CheckSteps::default())
    }

    /// Checks a value against the schema, and subtracts the steps of the check from `left`.
    ///
    /// # Errors
    /// The parts that do not fit, described for the model.
    pub fn check_within(&self, value: &Value, left: &mut CheckSteps) -> Result<(), String> {
        let cost = cost(&self.plan, value, left.0);
        left.0 = left
            .0
            .saturating_sub(cost.map_or(MAX_STEPS, |cost| cost.least));
        let Ok(Cost { most, .. }) = cost else {
            return Err(
                "it could not be checked, since that would take too long: write it shorter, or less nested"
                    .to_owned(),
            );
        };
        if most > MAX_LOCATED {
            let fits = self.validator.is_valid(value);
            return if fits {
                Ok(())
            } else {
                Err("something in it does not fit; it is too large to say what".to_owned())
            };
        }
        let most_faults = if most > MAX_COLLECTED { 1 } else { MAX_FAULTS };
        let faults: Vec<String> = if most_faults == 1 {
            let first = self.validator.validate(value).err();
            first.iter().map(described).collect()
        } else {
            let faults = self.validator.iter_errors(value).take(most_faults);
            faults.map(|fault| described(&fault)).collect()
        };
        if faults.is_empty() {
            Ok(())
        } else {
            Err(faults.join("; "))
        }
    }

    pub(crate) fn weight(&self) -> Weight {
        Weight {
            values: self.plan.values,
            pattern_bytes: self.plan.patterns.bytes,
        }
    }
}

impl Weight {
    /// Returns the sum of both weights.
    pub(crate) fn plus(self, more: Self) -> Self {
        Self {
            values: self.values + more.values,
            pattern_bytes: self.pattern_bytes + more.pattern_bytes,
        }
    }
}

fn described(error: &jsonschema::ValidationError<'_>) -> String {
    // An error repeats the value at fault, which may be large: the model has it already.
    let fault = shortened(error.to_string());
    let path = error.instance_path().to_string();
    if path.is_empty() {
        fault
    } else {
        format!("{fault} (at {})", shortened(path))
    }
}

impl Weight {
    /// # Errors
    /// The schemas exceed the limits of one registry.
    pub(crate) fn fits(self) -> Result<(), SchemaFault> {
        let too_much = |reason| Err(SchemaFault::too_costly(String::new(), reason));
        let values = MAX_VALUES * SCHEMAS_TOGETHER;
        if self.values > values {
            return too_much(format!(
                "the schemas of all tools together have more than {values} JSON values"
            ));
        }
        if self.pattern_bytes > MAX_PATTERNS_BYTES {
            return too_much(format!(
                "the patterns of all tools together are larger than {MAX_PATTERNS_BYTES} bytes when they are compiled"
            ));
        }
        Ok(())
    }
}

impl Default for CheckSteps {
    fn default() -> Self {
        Self(MAX_STEPS * CHECKS_TOGETHER)
    }
}

/// The maximum length of the text of one fault, in bytes.
const MAX_FAULT_CHARS: usize = 300;

fn shortened(mut fault: String) -> String {
    if fault.len() > MAX_FAULT_CHARS {
        // Both ends matter: the value comes first, the error last.
        let boundary = |from: usize| (from..).find(|at| fault.is_char_boundary(*at));
        let head = boundary(MAX_FAULT_CHARS / 2).unwrap_or_default();
        let tail = boundary(fault.len() - MAX_FAULT_CHARS / 2).unwrap_or(fault.len());
        fault.replace_range(head..tail, " … ");
    }
    fault
}
