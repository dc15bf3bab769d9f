use super::{Api, Capabilities, Provider};
use crate::dialect::{Dialect, EffortField, Quirks, ReasoningReturn};

/// What most servers want that are compatible with Chat Completions.
const COMPATIBLE: Quirks = Quirks {
    no_stream_options: false,
    no_developer_role: true,
    max_completion_tokens: false,
    reasoning: ReasoningReturn::Never,
    effort: EffortField::ReasoningEffort,
    cache_marks: false,
    refusals: false,
    resumes_by_event_id: false,
};

const FULL: Capabilities = Capabilities {
    tools: true,
    images: true,
    reasoning: true,
    usage: true,
    model: true,
};

const fn api(name: &'static str, dialect: Dialect, base_url: Option<&'static str>) -> Api {
    Api {
        name,
        dialect,
        base_url,
        quirks: COMPATIBLE,
    }
}

const fn chat(base_url: Option<&'static str>, quirks: Quirks) -> Api {
    Api {
        name: "chat",
        dialect: Dialect::OpenAiChat,
        base_url,
        quirks,
    }
}

pub(super) static PROVIDERS: &[Provider] = &[
    Provider {
        name: "openai",
        apis: &[
            chat(
                Some("https://api.openai.com/v1"),
                Quirks {
                    no_developer_role: false,
                    max_completion_tokens: true,
                    refusals: true,
                    ..COMPATIBLE
                },
            ),
            api(
                "responses",
                Dialect::OpenAiResponses,
                Some("https://api.openai.com/v1"),
            ),
        ],
        default_api: "chat",
        key_variable: "OPENAI_API_KEY",
        needs_key: true,
        // Its models do think, but not aloud in this API.
        capabilities: Capabilities {
            reasoning: false,
            ..FULL
        },
    },
    Provider {
        name: "openrouter",
        apis: &[
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
            ),
            api(
                "responses",
                Dialect::OpenAiResponses,
                Some("https://openrouter.ai/api/v1"),
            ),
            api(
                "messages",
                Dialect::Anthropic,
                Some("https://openrouter.ai/api/v1"),
            ),
        ],
        default_api: "chat",
        key_variable: "OPENROUTER_API_KEY",
        needs_key: true,
        capabilities: FULL,
    },
    Provider {
        name: "anthropic",
        apis: &[api(
            "messages",
            Dialect::Anthropic,
            Some("https://api.anthropic.com/v1"),
        )],
        default_api: "messages",
        key_variable: "ANTHROPIC_API_KEY",
        needs_key: true,
        capabilities: FULL,
    },
    Provider {
        name: "gemini",
        apis: &[api(
            "generateContent",
            Dialect::Gemini,
            Some("https://generativelanguage.googleapis.com/v1beta"),
        )],
        default_api: "generateContent",
        key_variable: "GEMINI_API_KEY",
        needs_key: true,
        capabilities: FULL,
    },
    Provider {
        name: "mistral",
        apis: &[api(
            "chat",
            Dialect::Mistral,
            Some("https://api.mistral.ai/v1"),
        )],
        default_api: "chat",
        key_variable: "MISTRAL_API_KEY",
        needs_key: true,
        capabilities: FULL,
    },
    Provider {
        name: "cohere",
        apis: &[api(
            "v2chat",
            Dialect::Cohere,
            Some("https://api.cohere.com/v2"),
        )],
        default_api: "v2chat",
        key_variable: "COHERE_API_KEY",
        needs_key: true,
        capabilities: FULL,
    },
    Provider {
        name: "groq",
        apis: &[chat(Some("https://api.groq.com/openai/v1"), COMPATIBLE)],
        default_api: "chat",
        key_variable: "GROQ_API_KEY",
        needs_key: true,
        capabilities: FULL,
    },
    Provider {
        name: "together",
        apis: &[chat(Some("https://api.together.xyz/v1"), COMPATIBLE)],
        default_api: "chat",
        key_variable: "TOGETHER_API_KEY",
        needs_key: true,
        capabilities: FULL,
    },
    Provider {
        name: "fireworks",
        apis: &[chat(
            Some("https://api.fireworks.ai/inference/v1"),
            COMPATIBLE,
        )],
        default_api: "chat",
        key_variable: "FIREWORKS_API_KEY",
        needs_key: true,
        capabilities: FULL,
    },
    Provider {
        name: "nvidia",
        apis: &[chat(
            Some("https://integrate.api.nvidia.com/v1"),
            COMPATIBLE,
        )],
        default_api: "chat",
        key_variable: "NVIDIA_API_KEY",
        needs_key: true,
        capabilities: FULL,
    },
    Provider {
        name: "ollama",
        apis: &[
            api(
                "ollama-chat",
                Dialect::Ollama,
                Some("http://localhost:11434"),
            ),
            chat(Some("http://localhost:11434/v1"), COMPATIBLE),
        ],
        default_api: "ollama-chat",
        // For its cloud; a local server asks for none.
        key_variable: "OLLAMA_API_KEY",
        needs_key: false,
        capabilities: FULL,
    },
    Provider {
        name: "openai-compatible",
        apis: &[
            chat(None, COMPATIBLE),
            api("responses", Dialect::OpenAiResponses, None),
        ],
        default_api: "chat",
        key_variable: "OPENAI_COMPATIBLE_API_KEY",
        needs_key: false,
        capabilities: FULL,
    },
    Provider {
        name: "ag-ui",
        apis: &[Api {
            name: "ag-ui",
            dialect: Dialect::AgUi,
            base_url: None,
            quirks: COMPATIBLE,
        }],
        default_api: "ag-ui",
        key_variable: "AG_UI_API_KEY",
        needs_key: false,
        // The agent has its own model.
        capabilities: Capabilities {
            model: false,
            ..FULL
        },
    },
];
