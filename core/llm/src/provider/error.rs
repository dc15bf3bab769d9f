/// No provider has the requested name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no provider `{name}`; there are: {}", known.join(", "))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct UnknownProvider {
    /// The requested name.
    pub name: String,
    /// The names of all providers.
    pub known: Vec<String>,
}

/// The provider has no API with the requested name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{provider} has no API `{name}`; it has: {}", known.join(", "))]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub struct UnknownApi {
    /// The provider.
    pub provider: String,
    /// The requested name.
    pub name: String,
    /// The names of the provider's APIs.
    pub known: Vec<String>,
}

/// The reason why no request can be sent to a provider.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum EndpointError {
    /// The provider has no API with the requested name.
    #[error(transparent)]
    Api(#[from] UnknownApi),
    /// The provider is software that everyone runs on their own server, and no address was given.
    #[error("{provider} has no address of its own: give a base URL, such as {example}")]
    NoBaseUrl {
        /// The provider.
        provider: String,
        /// An example of such an address.
        example: &'static str,
    },
    /// The address is not an HTTP URL.
    #[error("`{base_url}` is not a base URL: it must begin with http:// or https://")]
    BadBaseUrl {
        /// The address that was given.
        base_url: String,
    },
    /// The API makes no answers in the background.
    #[error(
        "this API of {provider} makes no answers in the background: of the APIs here only OpenAI's Responses does (`api` is `responses`)"
    )]
    NoBackground {
        /// The provider.
        provider: String,
    },
    /// The address of a provider in Google's cloud names no project.
    #[error(
        "`{address}` names no project of Vertex AI: write `projects/PROJECT/locations/LOCATION`, or a base URL"
    )]
    BadProject {
        /// The address that was given.
        address: String,
    },
    /// The address of a provider in AWS is no region.
    #[error("`{address}` is no region of AWS: write one such as `eu-central-1`, or a base URL")]
    BadRegion {
        /// The address that was given.
        address: String,
    },
    /// No model was named.
    #[error("name a model for {provider}")]
    NoModel {
        /// The provider.
        provider: String,
    },
    /// No key was given.
    #[error("{provider} needs an API key; it is usually in {variable}")]
    NoKey {
        /// The provider.
        provider: String,
        /// The environment variable that usually holds the key.
        variable: String,
    },
    /// The key contains a character that no header may have.
    #[error(
        "the key for {provider} holds a line break, or another character that no header can carry"
    )]
    BadKey {
        /// The provider.
        provider: String,
    },
    /// The name or the value of a header contains a character that no header may have.
    #[error(
        "the header `{name}` cannot be sent: its name or its value contains a character that no header may have"
    )]
    BadHeader {
        /// The header's name.
        name: String,
    },
}
