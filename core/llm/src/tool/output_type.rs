//! Typed answers: JSON that fits a schema.

use super::arguments::parse_arguments;
use super::json_in_text::json_in_text;
use super::schema::{Check, CheckSteps, Rules, Spelling, fit};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// A typed answer: the turn ends with JSON that fits this schema, or it has failed.
///
/// The request asks for the type by the provider's own schemas, by a final tool whose arguments are the answer, or in
/// words ([`OutputMode`]). Every answer is checked against the schema here, and also by the host's own decoder if
/// [`decoded_by_host`](Self::decoded_by_host) is set. An answer that does not fit is returned to the model with the
/// path and the reason, up to [`retries`](Self::retries) times.
///
/// The schema's root may be of any type, such as a list, a union or a number. Where the provider wants an object, the
/// model is asked for one that contains the value, and the value is taken out of it.
///
/// ```
/// use serde_json::json;
/// use stepwell_llm::tool::OutputType;
///
/// let trip = OutputType::new("Trip", json!({
///     "type": "object",
///     "properties": { "city": { "type": "string" }, "days": { "type": "integer" } },
///     "required": ["city", "days"],
/// }))?;
/// assert!(trip.check(&json!({ "city": "Bergen", "days": 3 })).is_ok());
/// let misfit = trip.check(&json!({ "city": "Bergen", "days": "three" })).unwrap_err();
/// assert!(misfit.ends_with("(at /days)"), "{misfit}");
/// # Ok::<(), stepwell_llm::tool::OutputTypeError>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct OutputType {
    written: Written,
    checked: Arc<Checked>,
}

/// The data derived from the schema.
#[derive(Debug)]
struct Checked {
    check: Check,
    /// The form in which the model writes the value, if it differs.
    spelling: Option<Spelling>,
    /// The schema of what the model is asked for.
    asked: Value,
}

/// The form in which it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Written {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    schema: Value,
    #[serde(default)]
    mode: OutputMode,
    #[serde(default = "usual_retries")]
    retries: u32,
    #[serde(default)]
    decoded_by_host: bool,
}

fn usual_retries() -> u32 {
    OutputType::RETRIES
}

/// The way in which the model is made to give a typed answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
#[cfg_attr(feature = "definitions", derive(stepwell_definitions::Definition))]
pub enum OutputMode {
    /// The provider's own schemas, if the provider accepts this schema in full (and together with tools, if there are
    /// any); otherwise a final tool; otherwise a description in the instructions.
    #[default]
    Auto,
    /// The provider's own schemas. What the provider cannot express is only checked here.
    Native,
    /// A final tool, whose arguments are the answer. The tool is never run.
    Tool,
    /// Words in the instructions.
    Prompt,
}

/// The reason why an output type cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum OutputTypeError {
    /// No provider would accept the name.
    #[error(
        "`{name}` is not a name for an output type: use 1 to 64 of the letters a–z and A–Z, digits, `_` and `-`"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// The schema is not a JSON Schema.
    #[error(
        "the schema of `{name}` is not a JSON Schema: {reason}; give an object such as {{\"type\": \"object\", …}}"
    )]
    Schema {
        /// The type.
        name: String,
        /// The mistake, with its path.
        reason: String,
    },
}

impl OutputType {
    /// The default number of times that an answer that does not fit is requested again.
    pub const RETRIES: u32 = 2;

    /// Creates a type with this name and JSON Schema. The model sees the name, which may have letters, digits, `_` and
    /// `-`.
    ///
    /// # Errors
    /// The name is not valid, or the schema is not a JSON Schema, refers to a schema outside of it, or allows nothing.
    pub fn new(name: impl Into<String>, schema: Value) -> Result<Self, OutputTypeError> {
        Written {
            name: name.into(),
            description: None,
            schema,
            mode: OutputMode::default(),
            retries: Self::RETRIES,
            decoded_by_host: false,
        }
        .try_into()
    }

    /// Sets a description for the model, in addition to the schema.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.written.description = Some(description.into());
        self
    }

    /// Sets the mode. Where the provider does not support the mode, the next best is used, and the app gets a warning.
    #[must_use]
    pub fn mode(mut self, mode: OutputMode) -> Self {
        self.written.mode = mode;
        self
    }

    /// Sets the maximum number of retries after an answer that does not fit.
    #[must_use]
    pub fn retries(mut self, retries: u32) -> Self {
        self.written.retries = retries;
        self
    }

    /// Sets whether the host also decodes the answer, after the check against the schema. The run then asks the host
    /// with an effect.
    #[must_use]
    pub fn decoded_by_host(mut self, decodes: bool) -> Self {
        self.written.decoded_by_host = decodes;
        self
    }

    /// Returns the type's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.written.name
    }

    /// Returns the JSON Schema that was given.
    #[must_use]
    pub fn schema(&self) -> &Value {
        &self.written.schema
    }

    /// Returns the mode.
    #[must_use]
    pub fn wanted_mode(&self) -> OutputMode {
        self.written.mode
    }

    /// Returns the maximum number of retries.
    #[must_use]
    pub fn most_retries(&self) -> u32 {
        self.written.retries
    }

    /// Returns whether the host also decodes the answer.
    #[must_use]
    pub fn is_decoded_by_host(&self) -> bool {
        self.written.decoded_by_host
    }

    /// Returns the description for the model, if there is one.
    #[must_use]
    pub fn told(&self) -> Option<&str> {
        self.written.description.as_deref()
    }

    /// Checks whether the value fits the schema. Without the feature `json-schema` every value does.
    ///
    /// # Errors
    /// The parts that do not fit, each with its path, described for the model.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        self.checked.check.check(value)
    }

    /// The schema of what the model is asked for: always that of one object.
    pub(crate) fn asked(&self) -> Value {
        let mut asked = self.checked.asked.clone();
        if let (Some(told), Value::Object(words)) = (self.told(), &mut asked) {
            words
                .entry("description")
                .or_insert_with(|| told.to_owned().into());
        }
        asked
    }

    /// Returns the form in which the model writes the value, if it differs from the value.
    pub fn spelling(&self) -> Option<&Spelling> {
        self.checked.spelling.as_ref()
    }

    /// Reads the value from the arguments of the final tool.
    ///
    /// # Errors
    /// The arguments are not JSON, or do not fit the schema.
    pub fn read_arguments(&self, raw: &str) -> Result<Value, String> {
        let value = parse_arguments(raw);
        let value = value.map_err(|error| format!("the arguments are no JSON: {error}"))?;
        self.fitting(value, &mut CheckSteps::default())
    }

    /// Reads the value from an answer's text: all of the text, or JSON in a code fence or between other words. If there
    /// are several values, the first that fits is used. If none fits and the type includes plain text, the text itself
    /// is the value.
    ///
    /// # Errors
    /// The text has no value, or the value does not fit the schema.
    pub fn read_text(&self, text: &str) -> Result<Value, String> {
        let found = json_in_text(text);
        let mut misfit = None;
        let mut left = CheckSteps::default();
        for value in found.iter().flatten() {
            match self.fitting(value.clone(), &mut left) {
                Ok(value) => return Ok(value),
                Err(reason) => drop(misfit.get_or_insert(reason)),
            }
        }
        if let Some(value) = self.plain_text(text) {
            return Ok(value);
        }
        found?;
        Err(misfit.unwrap_or_else(|| "there is no JSON in the answer".to_owned()))
    }

    /// The text as a value, if the type includes plain text. What begins like JSON is no plain text: the model meant
    /// the type's other form, and made a mistake in it.
    fn plain_text(&self, text: &str) -> Option<Value> {
        let text = text.trim();
        if !self.takes_plain_text() || text.is_empty() || text.starts_with(['{', '[', '`']) {
            return None;
        }
        let value = Value::from(text);
        self.check(&value).is_ok().then_some(value)
    }

    /// Returns whether the model may answer in plain text: the schema is that of a string, or of a string or something
    /// else.
    pub(crate) fn takes_plain_text(&self) -> bool {
        takes_string(self.schema())
    }

    fn fitting(&self, written: Value, left: &mut CheckSteps) -> Result<Value, String> {
        let value = match self.spelling() {
            Some(spelling) => spelling.read(written),
            None => written,
        };
        self.checked.check.check_within(&value, left)?;
        Ok(value)
    }
}

/// Returns whether a schema says of itself or of one of its alternatives that it is a string.
fn takes_string(schema: &Value) -> bool {
    let is_string = match &schema["type"] {
        Value::String(kind) => kind == "string",
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "string"),
        _ => false,
    };
    let alternatives = ["anyOf", "oneOf"]
        .into_iter()
        .filter_map(|key| schema[key].as_array());
    is_string || alternatives.flatten().any(|each| each["type"] == "string")
}

impl PartialEq for OutputType {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl From<OutputType> for Written {
    fn from(output: OutputType) -> Self {
        output.written
    }
}

impl TryFrom<Written> for OutputType {
    type Error = OutputTypeError;

    fn try_from(written: Written) -> Result<Self, OutputTypeError> {
        let Written { name, schema, .. } = &written;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if !(1..=64).contains(&name.len()) || !name.bytes().all(is_plain) {
            return Err(OutputTypeError::Name { name: name.clone() });
        }
        let refused = |reason: String| OutputTypeError::Schema {
            name: name.clone(),
            reason,
        };
        if !schema.is_object() && *schema != Value::Bool(true) {
            return Err(refused(format!("`{schema}` is no schema")));
        }
        let check = Check::new(schema).map_err(|fault| refused(fault.to_string()))?;
        let asked = fit(schema, Rules::default()).map_err(|unfit| refused(unfit.to_string()))?;
        let checked = Arc::new(Checked {
            check,
            spelling: Spelling::of(schema),
            asked: asked.schema,
        });
        Ok(Self { written, checked })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_no_type_of_an_answer_is_said_so() {
        let refused = |name: &str, schema| OutputType::new(name, schema).unwrap_err().to_string();
        assert!(refused("Trip[int]", json!({})).contains("`Trip[int]`"));
        assert!(refused("", json!({})).contains("1 to 64"));
        for schema in [
            json!({"type": "objekt"}),
            json!({"properties": 3}),
            json!({"$ref": "#/$defs/Trip"}),
            json!(false),
            json!(null),
            json!("string"),
        ] {
            let error = refused("Trip", schema.clone());
            assert!(
                error.contains("`Trip` is not a JSON Schema"),
                "{schema}: {error}"
            );
        }
    }

    #[test]
    fn a_root_that_is_no_object_is_asked_for_in_one() {
        let list = OutputType::new(
            "Cities",
            json!({"type": "array", "items": {"type": "string"}}),
        );
        let list = list.unwrap();
        assert_eq!(list.asked()["type"], "object");
        for text in [r#"{"arguments": ["Bergen"]}"#, r#"["Bergen"]"#] {
            assert_eq!(list.read_text(text), Ok(json!(["Bergen"])), "{text}");
        }
        let misfit = list.read_arguments(r#"{"arguments": [1]}"#).unwrap_err();
        assert!(misfit.contains("(at /0)"), "{misfit}");
        let number = OutputType::new("Age", json!({"type": "integer"})).unwrap();
        assert_eq!(number.read_text(r#"{"arguments": 7}"#), Ok(json!(7)));
        assert_eq!(number.read_text("7"), Ok(json!(7)));
    }

    #[test]
    fn plain_text_is_read_where_the_type_includes_it() {
        let text = OutputType::new("Text", json!({"type": "string"})).unwrap();
        for (said, read) in [
            ("Bergen is wet.", "Bergen is wet."),
            (r#"{"arguments": "Bergen"}"#, "Bergen"),
            (r#""Bergen""#, "Bergen"),
            ("  42 \n", "42"),
        ] {
            assert_eq!(text.read_text(said), Ok(json!(read)), "{said}");
        }
        let trip = json!({
            "type": "object",
            "properties": {"days": {"type": "integer"}},
            "required": ["days"],
        });
        let either = json!({"anyOf": [{"type": "string"}, trip]});
        let either = OutputType::new("Either", either).unwrap();
        assert!(either.takes_plain_text());
        assert_eq!(
            either.read_text("How many days?"),
            Ok(json!("How many days?"))
        );
        assert_eq!(either.read_text(r#"{"days": 3}"#), Ok(json!({"days": 3})));
        // A value with a mistake in it, and nothing at all, are asked for again.
        for said in [r#"{"days": "three"}"#, r#"{"days": 3"#, ""] {
            assert!(either.read_text(said).is_err(), "{said}");
        }
        let trip = OutputType::new("Trip", trip).unwrap();
        assert!(!trip.takes_plain_text());
        assert!(trip.read_text("How many days?").is_err());
        // Whatever it may be, it is asked for as JSON.
        let any = OutputType::new("Any", json!({})).unwrap();
        assert!(any.read_text("How many days?").is_err());
    }

    #[test]
    fn it_is_stored_and_read_again() {
        let trip = OutputType::new("Trip", json!({"type": "object"})).unwrap();
        let trip = trip.description("A trip").retries(1).mode(OutputMode::Tool);
        let again: OutputType = serde_json::from_value(json!(trip)).unwrap();
        assert_eq!(again, trip);
        let read = serde_json::from_value::<OutputType>(json!({"name": "Trip", "schema": 3}));
        assert!(read.unwrap_err().to_string().contains("is no schema"));
    }
}
