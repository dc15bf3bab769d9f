use super::address::AddressForm;
use super::ag_ui_options::AgUiOptions;
use super::api::{Api, COMPATIBLE_SERVER, Capabilities, Provider};
use super::dialect::Dialect;
use super::header::KeyHeader;
use super::quirks::{
    EffortField, Media, Quirks, ReasoningReturn, Resumption, ThinkTags, UserField,
};
use std::borrow::Cow;

/// The quirks of most servers that are compatible with Chat Completions.
pub(super) const COMPATIBLE: Quirks = Quirks {
    no_stream_options: false,
    no_developer_role: true,
    max_completion_tokens: false,
    reasoning: ReasoningReturn::Never,
    effort: EffortField::ReasoningEffort,
    user: UserField::User,
    cache_marks: false,
    cache_key: false,
    no_format_with_tools: false,
    refusals: false,
    think_tags: ThinkTags::Never,
    media: Media::ALL,
    model: None,
    price: None,
    resumption: Resumption::Never,
    ag_ui: AgUiOptions::EXPECTED,
};

/// The quirks of most servers of open models. Whether such a server reads the thinking of a model depends on the model,
/// and on how the server was started, which no client knows; the text of an answer that begins with no tag is unchanged.
pub(super) const OPEN_MODELS: Quirks = Quirks {
    think_tags: ThinkTags::AtStart,
    ..COMPATIBLE
};

const RESPONSES: Capabilities = Capabilities {
    reasoning_return: true,
    documents: true,
    ..COMPATIBLE_SERVER
};

const MESSAGES: Capabilities = Capabilities {
    reasoning_return: true,
    documents: true,
    cache_marks: true,
    ..COMPATIBLE_SERVER
};

const fn of(
    name: &'static str,
    dialect: Dialect,
    base_url: Option<&'static str>,
    key_header: KeyHeader,
    quirks: Quirks,
    capabilities: Capabilities,
) -> Api {
    Api {
        name: Cow::Borrowed(name),
        dialect,
        base_url: match base_url {
            Some(url) => Some(Cow::Borrowed(url)),
            None => None,
        },
        key_header,
        quirks,
        capabilities,
        models: Cow::Borrowed(&[]),
        prices: Cow::Borrowed(&[]),
    }
}

const fn api(
    name: &'static str,
    dialect: Dialect,
    base_url: Option<&'static str>,
    capabilities: Capabilities,
) -> Api {
    let key_header = KeyHeader::of(dialect);
    of(
        name,
        dialect,
        base_url,
        key_header,
        COMPATIBLE,
        capabilities,
    )
}

const fn chat(base_url: Option<&'static str>, quirks: Quirks, capabilities: Capabilities) -> Api {
    let dialect = Dialect::OpenAiChat;
    let key_header = KeyHeader::of(dialect);
    of("chat", dialect, base_url, key_header, quirks, capabilities)
}

const fn provider(
    name: &'static str,
    key_variable: &'static str,
    needs_key: bool,
    default_api: &'static str,
    apis: &'static [Api],
) -> Provider {
    cloud(
        name,
        key_variable,
        needs_key,
        default_api,
        apis,
        AddressForm::Complete,
    )
}

const fn cloud(
    name: &'static str,
    key_variable: &'static str,
    needs_key: bool,
    default_api: &'static str,
    apis: &'static [Api],
    address: AddressForm,
) -> Provider {
    Provider {
        name: Cow::Borrowed(name),
        apis: Cow::Borrowed(apis),
        default_api: Cow::Borrowed(default_api),
        key_variable: Cow::Borrowed(key_variable),
        needs_key,
        headers: Cow::Borrowed(&[]),
        address,
    }
}

/// The header of Azure's keys.
const AZURE_KEY: KeyHeader = KeyHeader {
    name: Cow::Borrowed("api-key"),
    prefix: Cow::Borrowed(""),
    tokens_as_bearer: true,
};

const GEMINI: Capabilities = Capabilities {
    // Some models give them, some do not.
    call_ids: false,
    reasoning_return: true,
    audio: true,
    documents: true,
    ..COMPATIBLE_SERVER
};

pub(super) static PROVIDERS: &[Provider] = &[
    provider(
        "openai",
        "OPENAI_API_KEY",
        true,
        "chat",
        const {
            &[
                chat(
                    Some("https://api.openai.com/v1"),
                    Quirks {
                        no_developer_role: false,
                        max_completion_tokens: true,
                        cache_key: true,
                        refusals: true,
                        user: UserField::SafetyIdentifier,
                        ..COMPATIBLE
                    },
                    Capabilities {
                        // The models do think, but this API does not show it.
                        reasoning: false,
                        audio: true,
                        documents: true,
                        ..COMPATIBLE_SERVER
                    },
                ),
                of(
                    "responses",
                    Dialect::OpenAiResponses,
                    Some("https://api.openai.com/v1"),
                    KeyHeader::of(Dialect::OpenAiResponses),
                    Quirks {
                        no_developer_role: false,
                        cache_key: true,
                        user: UserField::SafetyIdentifier,
                        ..COMPATIBLE
                    },
                    RESPONSES,
                ),
            ]
        },
    ),
    provider(
        "openrouter",
        "OPENROUTER_API_KEY",
        true,
        "chat",
        const {
            &[
                chat(
                    Some("https://openrouter.ai/api/v1"),
                    Quirks {
                        no_developer_role: false,
                        reasoning: ReasoningReturn::Details,
                        effort: EffortField::Reasoning,
                        cache_marks: true,
                        refusals: true,
                        ..COMPATIBLE
                    },
                    Capabilities {
                        reasoning_return: true,
                        audio: true,
                        documents: true,
                        cache_marks: true,
                        ..COMPATIBLE_SERVER
                    },
                ),
                api(
                    "responses",
                    Dialect::OpenAiResponses,
                    Some("https://openrouter.ai/api/v1"),
                    RESPONSES,
                ),
                of(
                    "messages",
                    Dialect::Anthropic,
                    Some("https://openrouter.ai/api/v1"),
                    // As in its other APIs.
                    KeyHeader::of(Dialect::OpenAiChat),
                    COMPATIBLE,
                    MESSAGES,
                ),
            ]
        },
    ),
    provider(
        "anthropic",
        "ANTHROPIC_API_KEY",
        true,
        "messages",
        const {
            &[api(
                "messages",
                Dialect::Anthropic,
                Some("https://api.anthropic.com/v1"),
                MESSAGES,
            )]
        },
    ),
    provider(
        "gemini",
        "GEMINI_API_KEY",
        true,
        "generateContent",
        const {
            &[
                api(
                    "generateContent",
                    Dialect::Gemini,
                    Some("https://generativelanguage.googleapis.com/v1beta"),
                    GEMINI,
                ),
                api(
                    "interactions",
                    Dialect::GeminiInteractions,
                    Some("https://generativelanguage.googleapis.com/v1beta"),
                    Capabilities {
                        call_ids: true,
                        ..GEMINI
                    },
                ),
            ]
        },
    ),
    provider(
        "mistral",
        "MISTRAL_API_KEY",
        true,
        "chat",
        const {
            &[of(
                "chat",
                Dialect::Mistral,
                Some("https://api.mistral.ai/v1"),
                KeyHeader::of(Dialect::Mistral),
                Quirks {
                    cache_key: true,
                    ..COMPATIBLE
                },
                Capabilities {
                    reasoning_return: true,
                    audio: true,
                    documents: true,
                    ..COMPATIBLE_SERVER
                },
            )]
        },
    ),
    provider(
        "cohere",
        "COHERE_API_KEY",
        true,
        "v2chat",
        const {
            &[api(
                "v2chat",
                Dialect::Cohere,
                Some("https://api.cohere.com/v2"),
                Capabilities {
                    reasoning_return: true,
                    ..COMPATIBLE_SERVER
                },
            )]
        },
    ),
    provider(
        "groq",
        "GROQ_API_KEY",
        true,
        "chat",
        const {
            &[chat(
                Some("https://api.groq.com/openai/v1"),
                Quirks {
                    // Its SDK's types have none, and the usage in `x_groq` of the last chunk.
                    no_stream_options: true,
                    max_completion_tokens: true,
                    // <https://console.groq.com/docs/structured-outputs>
                    no_format_with_tools: true,
                    ..OPEN_MODELS
                },
                COMPATIBLE_SERVER,
            )]
        },
    ),
    provider(
        "together",
        "TOGETHER_API_KEY",
        true,
        "chat",
        const {
            &[chat(
                Some("https://api.together.xyz/v1"),
                OPEN_MODELS,
                COMPATIBLE_SERVER,
            )]
        },
    ),
    provider(
        "fireworks",
        "FIREWORKS_API_KEY",
        true,
        "chat",
        const {
            &[chat(
                Some("https://api.fireworks.ai/inference/v1"),
                OPEN_MODELS,
                COMPATIBLE_SERVER,
            )]
        },
    ),
    provider(
        "nvidia",
        "NVIDIA_API_KEY",
        true,
        "chat",
        const {
            &[chat(
                Some("https://integrate.api.nvidia.com/v1"),
                Quirks {
                    // Its API's description has no field for it.
                    user: UserField::Never,
                    ..OPEN_MODELS
                },
                COMPATIBLE_SERVER,
            )]
        },
    ),
    provider(
        "ollama",
        // The key is for the cloud; a local server asks for none.
        "OLLAMA_API_KEY",
        false,
        "ollama-chat",
        const {
            &[
                of(
                    "ollama-chat",
                    Dialect::Ollama,
                    Some("http://localhost:11434"),
                    KeyHeader::of(Dialect::Ollama),
                    OPEN_MODELS,
                    Capabilities {
                        // Newer servers give them, older ones do not.
                        call_ids: false,
                        reasoning_return: true,
                        ..COMPATIBLE_SERVER
                    },
                ),
                chat(
                    Some("http://localhost:11434/v1"),
                    Quirks {
                        no_format_with_tools: true,
                        // <https://docs.ollama.com/api/openai-compatibility>
                        user: UserField::Never,
                        ..OPEN_MODELS
                    },
                    COMPATIBLE_SERVER,
                ),
            ]
        },
    ),
    cloud(
        "azure",
        "AZURE_OPENAI_API_KEY",
        true,
        "chat",
        const {
            &[
                of(
                    "chat",
                    Dialect::OpenAiChat,
                    None,
                    AZURE_KEY,
                    Quirks {
                        no_developer_role: false,
                        max_completion_tokens: true,
                        cache_key: true,
                        refusals: true,
                        ..COMPATIBLE
                    },
                    Capabilities {
                        // As of OpenAI's own API.
                        reasoning: false,
                        audio: true,
                        ..COMPATIBLE_SERVER
                    },
                ),
                of(
                    "responses",
                    Dialect::OpenAiResponses,
                    None,
                    AZURE_KEY,
                    Quirks {
                        no_developer_role: false,
                        cache_key: true,
                        ..COMPATIBLE
                    },
                    RESPONSES,
                ),
            ]
        },
        AddressForm::Azure,
    ),
    cloud(
        "vertex",
        // A token of an hour; a program that runs longer gives each request its token.
        "GOOGLE_OAUTH_ACCESS_TOKEN",
        true,
        "generateContent",
        const {
            &[of(
                "generateContent",
                Dialect::Gemini,
                None,
                // An OAuth token.
                KeyHeader::of(Dialect::OpenAiChat),
                COMPATIBLE,
                GEMINI,
            )]
        },
        AddressForm::Vertex,
    ),
    cloud(
        "bedrock",
        // A Bedrock API key. A host may sign requests with credentials of AWS instead.
        "AWS_BEARER_TOKEN_BEDROCK",
        true,
        "converse",
        const { &[api("converse", Dialect::BedrockConverse, None, MESSAGES)] },
        AddressForm::Bedrock,
    ),
    provider(
        "openai-compatible",
        "OPENAI_COMPATIBLE_API_KEY",
        false,
        "chat",
        const {
            &[
                chat(None, OPEN_MODELS, COMPATIBLE_SERVER),
                api("responses", Dialect::OpenAiResponses, None, RESPONSES),
            ]
        },
    ),
    provider(
        "ag-ui",
        "AG_UI_API_KEY",
        false,
        "ag-ui",
        const {
            &[api(
                "ag-ui",
                Dialect::AgUi,
                None,
                Capabilities {
                    reasoning_return: true,
                    audio: true,
                    documents: true,
                    structured_output: false,
                    // The agent has its own model.
                    model: false,
                    ..COMPATIBLE_SERVER
                },
            )]
        },
    ),
];
