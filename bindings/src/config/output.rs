use crate::error::StepwellError;
use crate::json_value::JsonValue;
use serde::Deserialize;
use stepwell_core::tool;
use stepwell_mirror::mirror;

/// A typed answer: the turn ends with JSON that fits the schema, or fails with `OutputInvalid`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, uniffi::Record)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OutputType {
    /// The name of the type, which the model sees: letters, digits, `_` and `-`.
    pub name: String,
    /// The JSON Schema. The root may be anything: an object, a list, a union, a number.
    pub schema: JsonValue,
    /// A description for the model, in addition to the schema.
    #[uniffi(default = None)]
    pub description: Option<String>,
    /// How the model is held to the type; as its provider can if absent.
    #[uniffi(default = None)]
    pub mode: Option<OutputMode>,
    /// How often the model is asked again after an answer that does not fit; 2 if absent.
    #[uniffi(default = None)]
    pub retries: Option<u32>,
    /// Whether the app also decodes the answer, after the schema was checked: with the effect `DecodeOutput`, or by an
    /// `Agent` with its `output_decoder`.
    #[uniffi(default = false)]
    #[serde(default)]
    pub decoded_by_host: bool,
}

mirror! {
    /// How the model is held to a typed answer.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, uniffi::Enum)]
    #[serde(rename_all = "camelCase")]
    #[mirror(stepwell_llm::tool::OutputMode, both)]
    pub enum OutputMode;
}

impl OutputType {
    /// Converts to the core's type.
    ///
    /// # Errors
    /// The name or the schema is invalid.
    pub fn into_core(self) -> Result<tool::OutputType, StepwellError> {
        let schema = serde_json::from_str(self.schema.as_str()).map_err(|error| {
            let reason = format!("the schema of `{}` is no JSON: {error}", self.name);
            StepwellError::configuration(&reason, "give the JSON Schema as a JSON text")
        })?;
        let output = tool::OutputType::new(self.name, schema).map_err(|error| {
            StepwellError::configuration(&error, "look at the type of the answer")
        })?;
        let output = output
            .mode(self.mode.map(Into::into).unwrap_or_default())
            .retries(self.retries.unwrap_or(tool::OutputType::RETRIES))
            .decoded_by_host(self.decoded_by_host);
        Ok(match self.description {
            Some(description) => output.description(description),
            None => output,
        })
    }
}
