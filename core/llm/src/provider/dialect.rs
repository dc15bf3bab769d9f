use serde::{Deserialize, Serialize};

/// A wire format, which one or more providers use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Dialect {
    /// The AG-UI protocol.
    AgUi,
    /// OpenAI's Chat Completions and compatible APIs.
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    /// OpenAI's Responses.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// Anthropic's Messages.
    Anthropic,
    /// Google's Gemini, `streamGenerateContent`.
    Gemini,
    /// Google's Gemini, the Interactions API.
    GeminiInteractions,
    /// Ollama's own chat, which streams JSON lines.
    Ollama,
    /// Mistral's chat: streams like Chat Completions, with requests of its own.
    Mistral,
    /// Cohere's chat, version 2.
    Cohere,
    /// Amazon Bedrock's Converse, `ConverseStream`.
    BedrockConverse,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Self; 10] = [
        Self::AgUi,
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::Anthropic,
        Self::Gemini,
        Self::GeminiInteractions,
        Self::Ollama,
        Self::Mistral,
        Self::Cohere,
        Self::BedrockConverse,
    ];

    /// Returns the dialect's name, which configuration files and stored runs use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AgUi => "ag-ui",
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::GeminiInteractions => "gemini-interactions",
            Self::Ollama => "ollama",
            Self::Mistral => "mistral",
            Self::Cohere => "cohere",
            Self::BedrockConverse => "bedrock-converse",
        }
    }

    /// Returns whether providers of the dialect make answers in the background: see
    /// [`Resumption::Background`](crate::provider::Resumption::Background).
    #[must_use]
    pub fn has_background(self) -> bool {
        matches!(self, Self::OpenAiResponses | Self::GeminiInteractions)
    }
}
