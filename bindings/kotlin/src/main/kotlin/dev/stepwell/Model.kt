package dev.stepwell

import kotlinx.serialization.json.JsonElement

/**
 * Which model, from where: `Model("openai:gpt-5-mini")`, or `Model.openai("gpt-5-mini", baseUrl = …)`.
 *
 * Without an [apiKey] the key is that of the provider's usual environment variable, such as `OPENAI_API_KEY`, unless there
 * is a [baseUrl]: a key goes to no other server than the provider's own by itself. For keys that expire see
 * [AgentBuilder.credentials].
 *
 * @property provider The provider's name, such as `openai` or `openai-compatible`; see [providers].
 * @property name The model's name; empty where the provider's requests name none.
 * @property apiKey The key. It is neither printed nor stored.
 * @property baseUrl An address instead of the provider's own; for AG-UI the agent's whole address.
 * @property api Which of the provider's APIs; its usual one if absent.
 * @property headers Headers to send in addition to the provider's own.
 * @property customProviders Custom providers, which [provider] may name: a JSON object whose `providers` is a list, as
 * `stepwell --providers` takes it.
 * @property background Whether the provider makes the answers in the background: an answer goes on while nobody reads it, so it
 * survives a broken connection, a sleeping phone and a killed app, and is read on where it broke off. The provider stores the
 * conversation and the answer for a while. OpenAI's `responses` can do so, and is the API then if none is
 * given.
 */
public class Model @JvmOverloads constructor(
    public val provider: String,
    public val name: String,
    public val apiKey: String? = null,
    public val baseUrl: String? = null,
    public val api: String? = null,
    public val headers: Map<String, String> = emptyMap(),
    public val customProviders: JsonElement? = null,
    public val background: Boolean = false,
) {
    /**
     * The model that a text such as `openai:gpt-5-mini` names.
     *
     * @throws StepwellException.Misuse if the text names no provider
     */
    public constructor(model: String) : this(providerOf(model), model.substringAfter(':'))

    /**
     * The key to send: the environment's if none is given.
     *
     * @throws StepwellException.Misuse if there is none, and the provider needs one
     */
    internal fun key(): String? {
        if (apiKey != null || baseUrl != null) return apiKey
        val known = known() ?: return null
        val variable = known.keyVariable.ifEmpty { return null }
        val key = System.getenv(variable)?.ifEmpty { null }
        if (key == null && known.needsKey) {
            throw StepwellException.Misuse("there is no key for `$this`", "set `$variable`, or give the model an `apiKey`")
        }
        return key
    }

    private fun known(): Provider? = (customProviders?.let { providers(it) } ?: table).find { it.name == provider }

    override fun toString(): String = "$provider:$name"

    public companion object {
        /** One of OpenAI's models. */
        @JvmStatic
        @JvmOverloads
        public fun openai(
            name: String,
            apiKey: String? = null,
            baseUrl: String? = null,
            api: String? = null,
            headers: Map<String, String> = emptyMap(),
            background: Boolean = false,
        ): Model = Model("openai", name, apiKey, baseUrl, api, headers, background = background)

        /** One of the models that OpenRouter offers. */
        @JvmStatic
        @JvmOverloads
        public fun openrouter(
            name: String,
            apiKey: String? = null,
            baseUrl: String? = null,
            api: String? = null,
            headers: Map<String, String> = emptyMap(),
        ): Model = Model("openrouter", name, apiKey, baseUrl, api, headers)

        /** One of Anthropic's models. */
        @JvmStatic
        @JvmOverloads
        public fun anthropic(
            name: String,
            apiKey: String? = null,
            baseUrl: String? = null,
            headers: Map<String, String> = emptyMap(),
        ): Model = Model("anthropic", name, apiKey, baseUrl, null, headers)

        /** One of Google's Gemini models. */
        @JvmStatic
        @JvmOverloads
        public fun gemini(
            name: String,
            apiKey: String? = null,
            baseUrl: String? = null,
            api: String? = null,
            headers: Map<String, String> = emptyMap(),
            background: Boolean = false,
        ): Model = Model("gemini", name, apiKey, baseUrl, api, headers, background = background)

        /** One of Mistral's models. */
        @JvmStatic
        @JvmOverloads
        public fun mistral(
            name: String,
            apiKey: String? = null,
            baseUrl: String? = null,
            headers: Map<String, String> = emptyMap(),
        ): Model = Model("mistral", name, apiKey, baseUrl, null, headers)

        /** One of Cohere's models. */
        @JvmStatic
        @JvmOverloads
        public fun cohere(
            name: String,
            apiKey: String? = null,
            baseUrl: String? = null,
            headers: Map<String, String> = emptyMap(),
        ): Model = Model("cohere", name, apiKey, baseUrl, null, headers)

        /** One of the models that Groq runs. */
        @JvmStatic
        @JvmOverloads
        public fun groq(
            name: String,
            apiKey: String? = null,
            baseUrl: String? = null,
            headers: Map<String, String> = emptyMap(),
        ): Model = Model("groq", name, apiKey, baseUrl, null, headers)

        /** One of the models that Together AI runs. */
        @JvmStatic
        @JvmOverloads
        public fun together(
            name: String,
            apiKey: String? = null,
            baseUrl: String? = null,
            headers: Map<String, String> = emptyMap(),
        ): Model = Model("together", name, apiKey, baseUrl, null, headers)

        /** One of the models that Fireworks AI runs. */
        @JvmStatic
        @JvmOverloads
        public fun fireworks(
            name: String,
            apiKey: String? = null,
            baseUrl: String? = null,
            headers: Map<String, String> = emptyMap(),
        ): Model = Model("fireworks", name, apiKey, baseUrl, null, headers)

        /** One of the models that NVIDIA runs. */
        @JvmStatic
        @JvmOverloads
        public fun nvidia(
            name: String,
            apiKey: String? = null,
            baseUrl: String? = null,
            headers: Map<String, String> = emptyMap(),
        ): Model = Model("nvidia", name, apiKey, baseUrl, null, headers)

        /** One of the models of an Ollama server, by default the one on this machine. */
        @JvmStatic
        @JvmOverloads
        public fun ollama(
            name: String,
            apiKey: String? = null,
            baseUrl: String? = null,
            api: String? = null,
            headers: Map<String, String> = emptyMap(),
        ): Model = Model("ollama", name, apiKey, baseUrl, api, headers)

        /**
         * A deployment of a resource of Azure OpenAI. [baseUrl] is the resource, by default that of the environment variable
         * `AZURE_OPENAI_ENDPOINT`, in the version of `OPENAI_API_VERSION` if that is set. The key may be a token of Entra ID.
         */
        @JvmStatic
        @JvmOverloads
        public fun azure(
            name: String,
            apiKey: String? = null,
            baseUrl: String? = null,
            api: String? = null,
            headers: Map<String, String> = emptyMap(),
        ): Model = Model("azure", name, apiKey, baseUrl, api, headers)

        /**
         * One of the models of Google's Vertex AI. [baseUrl] is `projects/PROJECT/locations/LOCATION`, by default of the
         * environment variables `GOOGLE_CLOUD_PROJECT` and `GOOGLE_CLOUD_LOCATION`. The key is an OAuth token.
         */
        @JvmStatic
        @JvmOverloads
        public fun vertex(
            name: String,
            apiKey: String? = null,
            baseUrl: String? = null,
            headers: Map<String, String> = emptyMap(),
        ): Model = Model("vertex", name, apiKey, baseUrl, null, headers)

        /**
         * One of the models of Amazon Bedrock, by its id or ARN. [baseUrl] is a region such as `eu-central-1`, by default
         * that of the environment variable `AWS_REGION` or `AWS_DEFAULT_REGION`. The key is a Bedrock API key.
         */
        @JvmStatic
        @JvmOverloads
        public fun bedrock(
            name: String,
            apiKey: String? = null,
            baseUrl: String? = null,
            headers: Map<String, String> = emptyMap(),
        ): Model = Model("bedrock", name, apiKey, baseUrl, null, headers)

        /** A model of a server that speaks OpenAI's format: vLLM, llama.cpp, LM Studio and many others. */
        @JvmStatic
        @JvmOverloads
        public fun openaiCompatible(
            name: String,
            baseUrl: String,
            apiKey: String? = null,
            api: String? = null,
            headers: Map<String, String> = emptyMap(),
        ): Model = Model("openai-compatible", name, apiKey, baseUrl, api, headers)

        /** The AG-UI agent at this address. */
        @JvmStatic
        @JvmOverloads
        public fun agUi(
            baseUrl: String,
            apiKey: String? = null,
            headers: Map<String, String> = emptyMap(),
        ): Model = Model("ag-ui", "", apiKey, baseUrl, null, headers)

        private fun providerOf(model: String): String =
            model.substringBefore(':', "").ifEmpty {
                throw StepwellException.Misuse(
                    "`$model` names no provider",
                    "write `provider:model`, such as `openai:gpt-5-mini`, or `Model.openai(…)`",
                )
            }

        private val table by lazy { providers() }
    }
}
