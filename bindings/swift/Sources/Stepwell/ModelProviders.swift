// A function for each provider that Stepwell knows.
import StepwellBindings

extension Model {
    /// One of OpenAI's models.
    public static func openAI(
        _ name: String, apiKey: String? = nil, baseUrl: String? = nil, api: String? = nil, headers: [String: String] = [:],
        background: Bool = false
    ) -> Model {
        Model(
            provider: "openai", name: name, apiKey: apiKey, baseUrl: baseUrl, api: api, headers: headers, background: background)
    }

    /// One of the models that OpenRouter offers.
    public static func openRouter(
        _ name: String, apiKey: String? = nil, baseUrl: String? = nil, api: String? = nil, headers: [String: String] = [:]
    ) -> Model {
        Model(provider: "openrouter", name: name, apiKey: apiKey, baseUrl: baseUrl, api: api, headers: headers)
    }

    /// One of Anthropic's models.
    public static func anthropic(
        _ name: String, apiKey: String? = nil, baseUrl: String? = nil, headers: [String: String] = [:]
    ) -> Model {
        Model(provider: "anthropic", name: name, apiKey: apiKey, baseUrl: baseUrl, headers: headers)
    }

    /// One of Google's Gemini models.
    public static func gemini(
        _ name: String, apiKey: String? = nil, baseUrl: String? = nil, api: String? = nil, headers: [String: String] = [:],
        background: Bool = false
    ) -> Model {
        Model(
            provider: "gemini", name: name, apiKey: apiKey, baseUrl: baseUrl, api: api, headers: headers, background: background)
    }

    /// One of Mistral's models.
    public static func mistral(
        _ name: String, apiKey: String? = nil, baseUrl: String? = nil, headers: [String: String] = [:]
    ) -> Model {
        Model(provider: "mistral", name: name, apiKey: apiKey, baseUrl: baseUrl, headers: headers)
    }

    /// One of Cohere's models.
    public static func cohere(
        _ name: String, apiKey: String? = nil, baseUrl: String? = nil, headers: [String: String] = [:]
    ) -> Model {
        Model(provider: "cohere", name: name, apiKey: apiKey, baseUrl: baseUrl, headers: headers)
    }

    /// One of the models that Groq runs.
    public static func groq(
        _ name: String, apiKey: String? = nil, baseUrl: String? = nil, headers: [String: String] = [:]
    ) -> Model {
        Model(provider: "groq", name: name, apiKey: apiKey, baseUrl: baseUrl, headers: headers)
    }

    /// One of the models that Together AI runs.
    public static func together(
        _ name: String, apiKey: String? = nil, baseUrl: String? = nil, headers: [String: String] = [:]
    ) -> Model {
        Model(provider: "together", name: name, apiKey: apiKey, baseUrl: baseUrl, headers: headers)
    }

    /// One of the models that Fireworks AI runs.
    public static func fireworks(
        _ name: String, apiKey: String? = nil, baseUrl: String? = nil, headers: [String: String] = [:]
    ) -> Model {
        Model(provider: "fireworks", name: name, apiKey: apiKey, baseUrl: baseUrl, headers: headers)
    }

    /// One of the models that NVIDIA runs.
    public static func nvidia(
        _ name: String, apiKey: String? = nil, baseUrl: String? = nil, headers: [String: String] = [:]
    ) -> Model {
        Model(provider: "nvidia", name: name, apiKey: apiKey, baseUrl: baseUrl, headers: headers)
    }

    /// One of the models of an Ollama server, by default the one on this machine.
    public static func ollama(
        _ name: String, apiKey: String? = nil, baseUrl: String? = nil, api: String? = nil, headers: [String: String] = [:]
    ) -> Model {
        Model(provider: "ollama", name: name, apiKey: apiKey, baseUrl: baseUrl, api: api, headers: headers)
    }

    /// A deployment of a resource of Azure OpenAI; `baseUrl` is the resource, such as `https://NAME.openai.azure.com`. The
    /// key may be a token of Entra ID.
    public static func azure(
        _ name: String, apiKey: String? = nil, baseUrl: String? = nil, api: String? = nil, headers: [String: String] = [:]
    ) -> Model {
        Model(provider: "azure", name: name, apiKey: apiKey, baseUrl: baseUrl, api: api, headers: headers)
    }

    /// One of the models of Google's Vertex AI; `baseUrl` is `projects/PROJECT/locations/LOCATION`. The key is an OAuth
    /// token.
    public static func vertex(
        _ name: String, apiKey: String? = nil, baseUrl: String? = nil, headers: [String: String] = [:]
    ) -> Model {
        Model(provider: "vertex", name: name, apiKey: apiKey, baseUrl: baseUrl, headers: headers)
    }

    /// One of the models of Amazon Bedrock, by its id or ARN; `baseUrl` is a region such as `eu-central-1`. The key is a
    /// Bedrock API key.
    public static func bedrock(
        _ name: String, apiKey: String? = nil, baseUrl: String? = nil, headers: [String: String] = [:]
    ) -> Model {
        Model(provider: "bedrock", name: name, apiKey: apiKey, baseUrl: baseUrl, headers: headers)
    }

    /// A model of a server that speaks OpenAI's format: vLLM, llama.cpp, LM Studio and many others.
    public static func openAICompatible(
        _ name: String, baseUrl: String, apiKey: String? = nil, api: String? = nil, headers: [String: String] = [:]
    ) -> Model {
        Model(provider: "openai-compatible", name: name, apiKey: apiKey, baseUrl: baseUrl, api: api, headers: headers)
    }

    /// The AG-UI agent at this address.
    public static func agUi(_ baseUrl: String, apiKey: String? = nil, headers: [String: String] = [:]) -> Model {
        Model(provider: "ag-ui", name: "", apiKey: apiKey, baseUrl: baseUrl, headers: headers)
    }
}
