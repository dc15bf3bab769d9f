//! What a turn's answer is to be, where it is more than text: JSON that fits a schema.

use super::arguments::parse_arguments;
use super::json_in_text::json_in_text;
use super::schema::{Check, CheckSteps, Rules, Spelling, fit};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// A typed answer: the turn ends with JSON that fits this schema, or it has failed.
///
/// The model is held to it as its provider can: by the provider's own schemas, by a final tool whose arguments are the
/// answer, or in words ([`OutputMode`]). Whatever comes is checked against the schema here, and if
/// [`decoded_by_host`](Self::decoded_by_host) says so by the host's own decoder; what does not fit goes back to the model
/// with the path and the reason, so often as [`retries`](Self::retries) says.
///
/// The schema's root may be anything: a list, a union, a number. The model is asked for an object around it where the
/// provider wants one, which the value does not have.
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

/// What follows from the schema.
#[derive(Debug)]
struct Checked {
    check: Check,
    /// How the model writes the value, if not as it is.
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

/// How the model is held to a typed answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum OutputMode {
    /// By the provider's own schemas where it takes this one in full, beside tools if there are tools; else by a final tool;
    /// else in words.
    #[default]
    Auto,
    /// By the provider's own schemas. What the provider has no words for is checked here alone.
    Native,
    /// By a final tool, whose arguments are the answer. It is never run.
    Tool,
    /// In words, in the instructions.
    Prompt,
}

/// Why something is no type of an answer: the app's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum OutputTypeError {
    /// No provider would accept the name.
    #[error(
        "`{name}` is no name of an answer's type: use 1 to 64 of the letters a–z and A–Z, digits, `_` and `-`"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// The schema is none.
    #[error(
        "the schema of `{name}` is not a JSON Schema: {reason}; give an object such as {{\"type\": \"object\", …}}"
    )]
    Schema {
        /// The type.
        name: String,
        /// What is wrong with it, and where.
        reason: String,
    },
}

impl OutputType {
    /// How often an answer that does not fit is asked for again, if the app does not say otherwise.
    pub const RETRIES: u32 = 2;

    /// The type of this name and JSON Schema. The name is told to the model: letters, digits, `_` and `-`.
    ///
    /// # Errors
    /// The name is none, or the schema is no JSON Schema, refers to what is not in it, or allows nothing.
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

    /// Says to the model what it is, beside what the schema says.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.written.description = Some(description.into());
        self
    }

    /// Sets how the model is held to it. Where the provider cannot do that, the next best is taken, and a
    /// `RunEvent::Warning` says so.
    #[must_use]
    pub fn mode(mut self, mode: OutputMode) -> Self {
        self.written.mode = mode;
        self
    }

    /// Sets how often a turn asks again for an answer that does not fit.
    #[must_use]
    pub fn retries(mut self, retries: u32) -> Self {
        self.written.retries = retries;
        self
    }

    /// Says whether the host decodes the answer too, after the schema was checked: it is asked with
    /// `Effect::DecodeOutput`.
    #[must_use]
    pub fn decoded_by_host(mut self, decodes: bool) -> Self {
        self.written.decoded_by_host = decodes;
        self
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.written.name
    }

    /// The JSON Schema, as it was given.
    #[must_use]
    pub fn schema(&self) -> &Value {
        &self.written.schema
    }

    /// How the model is held to it.
    #[must_use]
    pub fn wanted_mode(&self) -> OutputMode {
        self.written.mode
    }

    /// How often a turn asks again.
    #[must_use]
    pub fn most_retries(&self) -> u32 {
        self.written.retries
    }

    /// Whether the host decodes the answer too.
    #[must_use]
    pub fn is_decoded_by_host(&self) -> bool {
        self.written.decoded_by_host
    }

    /// What the model is told that it is, if anything.
    #[must_use]
    pub fn told(&self) -> Option<&str> {
        self.written.description.as_deref()
    }

    /// Whether the value fits the schema. Without the feature `json-schema` every value does.
    ///
    /// # Errors
    /// What does not fit, each fault with its path, in words for the model.
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

    /// How the model writes the value, if not as it is.
    pub fn spelling(&self) -> Option<&Spelling> {
        self.checked.spelling.as_ref()
    }

    /// The value in the arguments of the final tool.
    ///
    /// # Errors
    /// They are no JSON, or do not fit.
    pub fn read_arguments(&self, raw: &str) -> Result<Value, String> {
        let value = parse_arguments(raw);
        let value = value.map_err(|error| format!("the arguments are no JSON: {error}"))?;
        self.fitting(value, &mut CheckSteps::default())
    }

    /// The value in an answer's text: all of it, or what stands in a code fence or between other words. Of several the
    /// first that fits. If none fits and the type includes plain text, the text itself is the value.
    ///
    /// # Errors
    /// There is none, or it does not fit.
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

    /// The text as a value, if the type includes plain text. What begins like JSON is no plain text: the model meant the
    /// type's other form, and made a mistake in it.
    fn plain_text(&self, text: &str) -> Option<Value> {
        let text = text.trim();
        if !self.takes_plain_text() || text.is_empty() || text.starts_with(['{', '[', '`']) {
            return None;
        }
        let value = Value::from(text);
        self.check(&value).is_ok().then_some(value)
    }

    /// Whether the model may answer in plain text: the schema is that of a string, or of a string or something else.
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

/// Whether a schema says of itself or of one of its alternatives that it is a string.
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
