//! The providers that a configuration may name.

use crate::config::catalog;
use crate::error::StepwellError;
use crate::json_value::JsonValue;
use stepwell_core::provider;

/// Someone who answers requests.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Provider {
    /// Its name, for `RunConfig.provider`.
    pub name: String,
    /// Its APIs; never empty.
    pub apis: Vec<Api>,
    /// The API that is used where none is asked for.
    pub default_api: String,
    /// The environment variable that holds its key by custom. Stepwell reads no environment by itself.
    pub key_variable: String,
    /// Whether it refuses requests without a key.
    pub needs_key: bool,
}

/// One of a provider's APIs.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Api {
    /// Its name, for `RunConfig.api`.
    pub name: String,
    /// The wire format it speaks.
    pub dialect: String,
    /// Its address; absent where everyone runs their own, and `RunConfig.base_url` is needed.
    pub base_url: Option<String>,
    /// What it can do.
    pub capabilities: Capabilities,
}

/// What an API can do as far as it goes; a model behind it may do less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Capabilities {
    /// It streams its answers.
    pub streaming: bool,
    /// It takes tools.
    pub tools: bool,
    /// The model may ask for several tools at once.
    pub parallel_tools: bool,
    /// It gives each call an id.
    pub call_ids: bool,
    /// It shows what the model thinks.
    pub reasoning: bool,
    /// It takes that back with the next request, so that the model can go on with its thought.
    pub reasoning_return: bool,
    /// It takes pictures.
    pub images: bool,
    /// It takes sound.
    pub audio: bool,
    /// It takes documents, such as PDF files.
    pub documents: bool,
    /// It holds the answer to a JSON Schema.
    pub structured_output: bool,
    /// It takes marks for its prompt cache.
    pub cache_marks: bool,
    /// It counts tokens in the stream.
    pub usage: bool,
    /// Requests name a model.
    pub model: bool,
}

/// What a model takes and gives, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ContextWindow {
    /// The most of question and answer together.
    pub window: u64,
    /// The most of an answer; absent where the vendor names none.
    pub output: Option<u64>,
}

/// The providers, those of `own` among them: the app's own, as `RunConfig.providers` takes them.
#[uniffi::export(default(own = None))]
pub fn providers(own: Option<JsonValue>) -> Result<Vec<Provider>, StepwellError> {
    let own = own.unwrap_or_else(|| JsonValue::from_text(r#"{"providers":[]}"#.to_owned()));
    let catalog = catalog(Some(&own))?;
    Ok(catalog.all().map(Into::into).collect())
}

/// What a model takes and gives, if its vendor says so.
#[uniffi::export]
pub fn context_window(provider: &str, model: &str) -> Option<ContextWindow> {
    provider::context_window(provider, model).map(|found| ContextWindow {
        window: found.window,
        output: found.output,
    })
}

impl From<&provider::Provider> for Provider {
    fn from(provider: &provider::Provider) -> Self {
        let api = |api: &provider::Api| Api {
            name: api.name.to_string(),
            dialect: api.dialect.name().to_owned(),
            base_url: api.base_url.as_ref().map(ToString::to_string),
            capabilities: api.capabilities.into(),
        };
        Self {
            name: provider.name.to_string(),
            apis: provider.apis.iter().map(api).collect(),
            default_api: provider.default_api.to_string(),
            key_variable: provider.key_variable.to_string(),
            needs_key: provider.needs_key,
        }
    }
}

impl From<provider::Capabilities> for Capabilities {
    fn from(can: provider::Capabilities) -> Self {
        Self {
            streaming: can.streaming,
            tools: can.tools,
            parallel_tools: can.parallel_tools,
            call_ids: can.call_ids,
            reasoning: can.reasoning,
            reasoning_return: can.reasoning_return,
            images: can.images,
            audio: can.audio,
            documents: can.documents,
            structured_output: can.structured_output,
            cache_marks: can.cache_marks,
            usage: can.usage,
            model: can.model,
        }
    }
}
