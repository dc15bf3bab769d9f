//! The providers that a configuration may name.

use crate::config::catalog;
use crate::error::StepwellError;
use crate::json_value::JsonValue;
use stepwell_core::provider;

/// A provider that answers requests.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Provider {
    /// The provider's name, for `RunConfig.provider`.
    pub name: String,
    /// The provider's APIs; never empty.
    pub apis: Vec<Api>,
    /// The API that is used if none is named.
    pub default_api: String,
    /// The environment variable that usually holds the key. Stepwell itself reads no environment.
    pub key_variable: String,
    /// Whether the provider refuses requests without a key.
    pub needs_key: bool,
}

/// One of a provider's APIs.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Api {
    /// The API's name, for `RunConfig.api`.
    pub name: String,
    /// The wire format of the API.
    pub dialect: String,
    /// The address; absent for an API that users host themselves, which needs `RunConfig.base_url`.
    pub base_url: Option<String>,
    /// What the API can do.
    pub capabilities: Capabilities,
}

/// What an API can do at most; a model behind it may do less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Capabilities {
    /// The API streams its answers.
    pub streaming: bool,
    /// The API takes tools.
    pub tools: bool,
    /// The model may ask for several tools at once.
    pub parallel_tools: bool,
    /// The API gives each call an id.
    pub call_ids: bool,
    /// The API shows the model's reasoning.
    pub reasoning: bool,
    /// The API takes the reasoning back with the next request, so that the model can continue from it.
    pub reasoning_return: bool,
    /// The API takes pictures.
    pub images: bool,
    /// The API takes sound.
    pub audio: bool,
    /// The API takes documents, such as PDF files.
    pub documents: bool,
    /// The API holds the answer to a JSON Schema.
    pub structured_output: bool,
    /// The API takes marks for its prompt cache.
    pub cache_marks: bool,
    /// The API counts tokens in the stream.
    pub usage: bool,
    /// Requests name a model.
    pub model: bool,
}

/// The context window of a model, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ContextWindow {
    /// The most tokens of question and answer together.
    pub window: u64,
    /// The most tokens of an answer; absent if the vendor publishes no limit.
    pub output: Option<u64>,
}

/// Returns the providers, including the custom ones in `own`, which has the form of `RunConfig.providers`.
#[uniffi::export(default(own = None))]
pub fn providers(own: Option<JsonValue>) -> Result<Vec<Provider>, StepwellError> {
    let own = own.unwrap_or_else(|| JsonValue::from_text(r#"{"providers":[]}"#.to_owned()));
    let catalog = catalog(Some(&own))?;
    Ok(catalog.all().map(Into::into).collect())
}

/// Returns the context window of a model, if its vendor publishes it.
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
