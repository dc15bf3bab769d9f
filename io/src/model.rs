//! Which model answers, and from where.

use std::env;
use std::fmt;
use stepwell_core::provider::{
    self, Endpoint, EndpointError, Provider, Resumption, Secret, UnknownProvider,
};

/// A model and its provider: `Model::openai("gpt-5-mini")`, or the text `"openai:gpt-5-mini"`.
///
/// The key is the value of the provider's usual environment variable, such as `OPENAI_API_KEY`, unless
/// [`api_key`](Self::api_key) sets it. A model behind another address gets no key from the environment.
///
/// ```
/// use stepwell_io::{Agent, Model};
///
/// let agent = Agent::new("anthropic:claude-sonnet-4-5");
/// let other = Agent::new(Model::openai("gpt-5-mini").api_key("the key"));
/// let own = Agent::new(Model::openai_compatible("qwen3", "http://localhost:8080/v1"));
/// ```
#[derive(Clone)]
pub struct Model(ModelKind);

#[derive(Clone)]
enum ModelKind {
    Ready(Box<Endpoint>),
    Named(Box<NamedModel>),
}

#[derive(Clone)]
struct NamedModel {
    provider: String,
    /// A provider that is not in the table.
    custom: Option<Provider>,
    /// The model; empty for an AG-UI agent.
    name: String,
    api: Option<String>,
    base_url: Option<String>,
    key: Option<Secret>,
    headers: Vec<(String, String)>,
    in_background: bool,
}

/// Why a model cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The text names no provider.
    #[error("the model `{0}` has no provider: write `provider:model`, such as `openai:gpt-5-mini`")]
    NoProvider(String),
    /// No provider has the name.
    #[error(transparent)]
    Provider(#[from] UnknownProvider),
    /// The provider cannot be asked like this: the key is missing, or the address is no address.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
}

macro_rules! providers {
    ($($method:ident: $name:literal, $title:literal;)*) => {
        impl Model {
            $(
                #[doc = concat!("Returns a model of ", $title, ".")]
                #[must_use]
                pub fn $method(model: impl Into<String>) -> Self {
                    Self::named($name, model)
                }
            )*
        }

        /// The providers that have a constructor.
        #[cfg(test)]
        const WITH_CONSTRUCTOR: &[&str] = &[$($name),*];
    };
}

providers! {
    openai: "openai", "OpenAI";
    openrouter: "openrouter", "OpenRouter";
    anthropic: "anthropic", "Anthropic";
    gemini: "gemini", "Google's Gemini";
    mistral: "mistral", "Mistral";
    cohere: "cohere", "Cohere";
    groq: "groq", "Groq";
    together: "together", "Together AI";
    fireworks: "fireworks", "Fireworks AI";
    nvidia: "nvidia", "NVIDIA";
    ollama: "ollama", "an Ollama server, by default on this machine";
    azure: "azure", "a resource of Azure OpenAI, by its deployment: the resource is by default that of `AZURE_OPENAI_ENDPOINT`, in the version of `OPENAI_API_VERSION` if that is set, else a [base URL](Self::base_url) such as `https://NAME.openai.azure.com`";
    vertex: "vertex", "Google's Vertex AI: the project is by default that of `GOOGLE_CLOUD_PROJECT` and `GOOGLE_CLOUD_LOCATION`, else a [base URL](Self::base_url) such as `projects/PROJECT/locations/LOCATION`. The key is an OAuth token";
    bedrock: "bedrock", "Amazon Bedrock, by the model's id or ARN: the region is by default that of `AWS_REGION` or `AWS_DEFAULT_REGION`, else a [base URL](Self::base_url) such as `eu-central-1`. The key is a Bedrock API key, `AWS_BEARER_TOKEN_BEDROCK`. With the feature `aws`, requests without a key are signed with credentials of AWS";
}

impl Model {
    /// Returns a model of a server that is compatible with OpenAI's Chat Completions. `base_url` is the address up to
    /// and with the version, such as `http://localhost:8080/v1`.
    #[must_use]
    pub fn openai_compatible(model: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self::named("openai-compatible", model).base_url(base_url)
    }

    /// Returns an AG-UI agent, by its address.
    #[must_use]
    pub fn ag_ui(url: impl Into<String>) -> Self {
        Self::named("ag-ui", "").base_url(url)
    }

    /// Returns a model of a provider that the app has defined with a [`Catalog`](stepwell_core::provider::Catalog).
    #[must_use]
    pub fn custom(provider: &Provider, model: impl Into<String>) -> Self {
        let mut named = Self::named(&provider.name, model);
        if let ModelKind::Named(named) = &mut named.0 {
            named.custom = Some(provider.clone());
        }
        named
    }

    fn named(provider: &str, name: impl Into<String>) -> Self {
        Self(ModelKind::Named(Box::new(NamedModel {
            provider: provider.to_owned(),
            custom: None,
            name: name.into(),
            api: None,
            base_url: None,
            key: None,
            headers: Vec::new(),
            in_background: false,
        })))
    }

    /// Sets the key.
    #[must_use]
    pub fn api_key(mut self, key: impl Into<Secret>) -> Self {
        match &mut self.0 {
            ModelKind::Ready(endpoint) => {
                **endpoint = endpoint.as_ref().clone().with_key(key.into());
            }
            ModelKind::Named(named) => named.key = Some(key.into()),
        }
        self
    }

    /// Sets the address, instead of the provider's own.
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        match &mut self.0 {
            ModelKind::Ready(endpoint) => endpoint.base_url = url.into(),
            ModelKind::Named(named) => named.base_url = Some(url.into()),
        }
        self
    }

    /// Sets which of the provider's APIs is asked, such as `responses` of OpenAI.
    #[must_use]
    pub fn api(mut self, api: impl Into<String>) -> Self {
        if let ModelKind::Named(named) = &mut self.0 {
            named.api = Some(api.into());
        }
        self
    }

    /// Adds a header to each request.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let header = (name.into(), value.into());
        match &mut self.0 {
            ModelKind::Ready(endpoint) => endpoint.headers.push(header),
            ModelKind::Named(named) => named.headers.push(header),
        }
        self
    }

    /// Has the provider make the answers in the background: an answer goes on while nobody reads it, so it survives a broken
    /// connection, a sleeping phone and a restarted process, and is read on where it broke off. A turn that is cancelled
    /// cancels its answer at the provider too. OpenAI's Responses and Gemini's Interactions can do so, and are the APIs then if none is set.
    ///
    /// The provider stores the conversation and the answer for a while. The first text may take longer to come.
    ///
    /// ```
    /// use stepwell_io::{Agent, Model};
    ///
    /// let agent = Agent::new(Model::openai("gpt-5").in_background().api_key("the key"));
    /// ```
    #[must_use]
    pub fn in_background(mut self) -> Self {
        match &mut self.0 {
            ModelKind::Ready(endpoint) => endpoint.quirks.resumption = Resumption::Background,
            ModelKind::Named(named) => named.in_background = true,
        }
        self
    }

    /// Returns the endpoint of the model, with the key of the environment if none was set.
    pub(crate) fn endpoint(&self) -> Result<Endpoint, ModelError> {
        match &self.0 {
            ModelKind::Ready(endpoint) => ready(endpoint),
            ModelKind::Named(named) => named.endpoint(true),
        }
    }

    /// Returns the endpoint of the model, for an app that gives each request its key.
    pub(crate) fn endpoint_without_key(&self) -> Result<Endpoint, ModelError> {
        match &self.0 {
            ModelKind::Ready(endpoint) => ready(endpoint),
            ModelKind::Named(named) => named.endpoint(false),
        }
    }
}

impl NamedModel {
    fn endpoint(&self, needs_key: bool) -> Result<Endpoint, ModelError> {
        if self.provider.is_empty() {
            return Err(ModelError::NoProvider(self.name.clone()));
        }
        let provider = match &self.custom {
            Some(provider) => provider,
            None => provider::find(&self.provider)?,
        };
        let base_url = self.base_url.as_deref();
        let background_api = || self.in_background.then(|| provider.background_api())?;
        let api = self.api.as_deref().or_else(background_api);
        let key = self.key.clone().or_else(|| {
            // The key of the environment belongs to the provider's own address, or to that of the environment.
            let is_own = base_url.is_none_or(|address| provider.address.is_own(address));
            is_own.then(|| key_of_environment(provider)).flatten()
        });
        let needs_key = needs_key && !(key.is_none() && is_signed(provider));
        let variable = |name: &str| env::var(name).ok();
        let endpoint = match needs_key {
            true => provider.endpoint_in(api, &self.name, base_url, key, variable)?,
            false => {
                let address = provider.address.or_environment(base_url, variable);
                provider.endpoint_for_host(api, &self.name, address.as_deref(), key)?
            }
        };
        let endpoint = endpoint.with_headers(self.headers.clone())?;
        Ok(match self.in_background {
            true => endpoint.in_background()?,
            false => endpoint,
        })
    }
}

/// Returns an endpoint that the app has made, if its provider does what it asks for.
fn ready(endpoint: &Endpoint) -> Result<Endpoint, ModelError> {
    let endpoint = endpoint.clone();
    Ok(match endpoint.quirks.resumption {
        Resumption::Background => endpoint.in_background()?,
        _ => endpoint,
    })
}

/// The provider whose requests are signed where they have no key.
#[cfg(feature = "aws")]
pub(crate) const SIGNED: &str = "bedrock";

/// Returns whether requests without a key are signed with the credentials of the environment.
#[cfg(feature = "aws")]
fn is_signed(provider: &Provider) -> bool {
    provider.name == SIGNED && crate::app::aws::AwsCredentials::from_environment().is_some()
}

#[cfg(not(feature = "aws"))]
fn is_signed(_provider: &Provider) -> bool {
    false
}

fn key_of_environment(provider: &Provider) -> Option<Secret> {
    let variable = &*provider.key_variable;
    if variable.is_empty() {
        return None;
    }
    let key = env::var(variable).ok()?;
    Some(key.trim())
        .filter(|key| !key.is_empty())
        .map(Secret::from)
}

/// Reads `provider:model`. A text without a provider is an error of the agent that is built with it.
impl From<&str> for Model {
    fn from(text: &str) -> Self {
        match text.split_once(':') {
            Some((provider, model)) => Self::named(provider, model),
            None => Self::named("", text),
        }
    }
}

impl From<String> for Model {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<Endpoint> for Model {
    fn from(endpoint: Endpoint) -> Self {
        Self(ModelKind::Ready(Box::new(endpoint)))
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Model");
        match &self.0 {
            ModelKind::Ready(endpoint) => debug.field("endpoint", endpoint),
            ModelKind::Named(named) => debug
                .field("provider", &named.provider)
                .field("name", &named.name),
        };
        debug.finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepwell_core::provider::Dialect;

    #[test]
    fn every_provider_has_a_constructor() {
        for provider in provider::all() {
            let name = &*provider.name;
            let is_by_address = ["openai-compatible", "ag-ui"].contains(&name);
            assert!(is_by_address || WITH_CONSTRUCTOR.contains(&name), "{name}");
        }
        for name in WITH_CONSTRUCTOR {
            assert!(provider::find(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn reads_the_provider_and_the_model() {
        let endpoint = Model::from("ollama:qwen3:8b").endpoint().unwrap();
        assert_eq!(endpoint.model, "qwen3:8b");
        let no_provider = Model::from("gpt-5-mini").endpoint().unwrap_err();
        assert_eq!(
            no_provider.to_string(),
            "the model `gpt-5-mini` has no provider: write `provider:model`, such as `openai:gpt-5-mini`"
        );
        let unknown = Model::from("nobody:m").endpoint().unwrap_err();
        assert!(matches!(unknown, ModelError::Provider(_)), "{unknown}");
    }

    #[test]
    fn keeps_its_address_without_a_key() {
        let mut provider = provider::find("anthropic").unwrap().clone();
        provider.key_variable = "STEPWELL_KEY_THAT_NOBODY_SETS".into();
        let model = Model::custom(&provider, "m");
        let no_key = model.endpoint().unwrap_err();
        assert!(
            matches!(no_key, ModelError::Endpoint(EndpointError::NoKey { .. })),
            "{no_key}"
        );
        let endpoint = model.endpoint_without_key().unwrap();
        assert!(endpoint.base_url.contains("anthropic"), "{endpoint:?}");
        assert_eq!(endpoint.key, None);
    }

    #[test]
    fn is_made_in_the_background_only_where_the_provider_does_so() {
        let model = Model::openai("m").api_key("a key").in_background();
        let endpoint = model.endpoint().unwrap();
        assert_eq!(endpoint.quirks.resumption, Resumption::Background);
        assert_eq!(endpoint.dialect, Dialect::OpenAiResponses);
        for model in [
            Model::openai("m").api("chat").api_key("a key"),
            Model::anthropic("m").api_key("a key"),
            Model::openai("m")
                .api("chat")
                .api_key("a key")
                .endpoint()
                .unwrap()
                .into(),
        ] {
            let error = model.in_background().endpoint().unwrap_err().to_string();
            assert!(
                error.contains("makes no answers in the background"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_cloud_is_asked_by_its_resource_or_project() {
        let azure = Model::azure("my-gpt")
            .base_url("https://name.openai.azure.com")
            .api_key("k");
        let endpoint = azure.endpoint().unwrap();
        assert_eq!(endpoint.base_url, "https://name.openai.azure.com/openai/v1");
        assert_eq!(endpoint.headers, [("api-key".to_owned(), "k".to_owned())]);
        let vertex = Model::vertex("gemini-2.5-flash").base_url("projects/p/locations/us-east5");
        let endpoint = vertex.endpoint_without_key().unwrap();
        assert!(
            endpoint
                .base_url
                .starts_with("https://us-east5-aiplatform.googleapis.com/"),
            "{endpoint:?}"
        );
        let bedrock = Model::bedrock("amazon.nova-lite-v1:0").base_url("eu-west-1");
        let endpoint = bedrock.api_key("k").endpoint().unwrap();
        assert_eq!(
            endpoint.base_url,
            "https://bedrock-runtime.eu-west-1.amazonaws.com"
        );
        assert!(endpoint.key.is_some());
    }

    #[test]
    fn sends_no_key_of_the_environment_to_another_address() {
        let model = Model::openai("m").base_url("http://localhost/v1");
        assert_eq!(model.endpoint().unwrap().key, None);
    }
}
