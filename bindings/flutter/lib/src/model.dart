import 'credentials.dart';
import 'shapes.dart';

/// Which model, and how it is reached: `Model.openai('gpt-5-mini', apiKey: key)`.
final class Model {
  /// A model of any provider: one that Stepwell knows, or a custom one of the agent's `providers`. `apiKey` is the key;
  /// what is shipped with an app can be read by anyone, so give it only where the user brings their own. `credentials`
  /// supplies the key and the headers of each request instead, for tokens that expire. `baseUrl` is the address of the
  /// API instead of the provider's, `api` one of the provider's APIs instead of its usual one.
  const Model(
    this.provider,
    this.name, {
    this.apiKey,
    this.credentials,
    this.baseUrl,
    this.api,
    this.headers = const {},
    this.background = false,
  });

  /// A provider and a model in one text, such as `openai:gpt-5-mini`. Throws an [ArgumentError] for another text.
  factory Model.named(String text, {String? apiKey, CredentialSource? credentials, String? baseUrl}) {
    final end = text.indexOf(':');
    if (end < 1 || end == text.length - 1) {
      throw ArgumentError.value(text, 'text', 'names no provider and model: write `openai:gpt-5-mini`, say');
    }
    return Model(
      text.substring(0, end),
      text.substring(end + 1),
      apiKey: apiKey,
      credentials: credentials,
      baseUrl: baseUrl,
    );
  }

  /// A model of OpenAI.
  const Model.openai(
    this.name, {
    this.apiKey,
    this.credentials,
    this.baseUrl,
    this.api,
    this.headers = const {},
    this.background = false,
  }) : provider = 'openai';

  /// A model by way of OpenRouter.
  const Model.openrouter(this.name, {this.apiKey, this.credentials, this.baseUrl, this.api, this.headers = const {}})
      : provider = 'openrouter',
        background = false;

  /// A model of Anthropic.
  const Model.anthropic(this.name, {this.apiKey, this.credentials, this.baseUrl, this.api, this.headers = const {}})
      : provider = 'anthropic',
        background = false;

  /// A model of Google.
  const Model.gemini(
    this.name, {
    this.apiKey,
    this.credentials,
    this.baseUrl,
    this.api,
    this.headers = const {},
    this.background = false,
  }) : provider = 'gemini';

  /// A model of Mistral.
  const Model.mistral(this.name, {this.apiKey, this.credentials, this.baseUrl, this.api, this.headers = const {}})
      : provider = 'mistral',
        background = false;

  /// A model of Cohere.
  const Model.cohere(this.name, {this.apiKey, this.credentials, this.baseUrl, this.api, this.headers = const {}})
      : provider = 'cohere',
        background = false;

  /// A model at Groq.
  const Model.groq(this.name, {this.apiKey, this.credentials, this.baseUrl, this.api, this.headers = const {}})
      : provider = 'groq',
        background = false;

  /// A model at Together.
  const Model.together(this.name, {this.apiKey, this.credentials, this.baseUrl, this.api, this.headers = const {}})
      : provider = 'together',
        background = false;

  /// A model at Fireworks.
  const Model.fireworks(this.name, {this.apiKey, this.credentials, this.baseUrl, this.api, this.headers = const {}})
      : provider = 'fireworks',
        background = false;

  /// A model at NVIDIA.
  const Model.nvidia(this.name, {this.apiKey, this.credentials, this.baseUrl, this.api, this.headers = const {}})
      : provider = 'nvidia',
        background = false;

  /// A model of Ollama, on this machine if there is no `baseUrl`.
  const Model.ollama(this.name, {this.apiKey, this.credentials, this.baseUrl, this.api, this.headers = const {}})
      : provider = 'ollama',
        background = false;

  /// A deployment of a resource of Azure OpenAI; `baseUrl` is the resource, such as `https://NAME.openai.azure.com`. The
  /// key may be a token of Entra ID.
  const Model.azure(this.name, {this.apiKey, this.credentials, this.baseUrl, this.api, this.headers = const {}})
      : provider = 'azure';

  /// A model of Google's Vertex AI; `baseUrl` is `projects/PROJECT/locations/LOCATION`. The key is an OAuth token.
  const Model.vertex(this.name, {this.apiKey, this.credentials, this.baseUrl, this.headers = const {}})
      : provider = 'vertex',
        api = null;

  /// A model of Amazon Bedrock, by its id or ARN; `baseUrl` is a region such as `eu-central-1`. The key is a Bedrock API
  /// key.
  const Model.bedrock(this.name, {this.apiKey, this.credentials, this.baseUrl, this.headers = const {}})
      : provider = 'bedrock',
        background = false,
        api = null;

  /// A model of any server with OpenAI's chat API.
  const Model.openaiCompatible(
    this.name, {
    required String this.baseUrl,
    this.apiKey,
    this.credentials,
    this.headers = const {},
  })  : provider = 'openai-compatible',
        background = false,
        api = null;

  /// An agent that speaks AG-UI, at this address: it has a model of its own.
  const Model.agUi(String this.baseUrl, {this.apiKey, this.credentials, this.headers = const {}})
      : provider = 'ag-ui',
        name = '',
        background = false,
        api = null;

  /// The provider's name.
  final String provider;

  /// The model's name; empty for an AG-UI agent.
  final String name;

  /// The key.
  final String? apiKey;

  /// Supplies the key and the headers of each request.
  final CredentialSource? credentials;

  /// The address of the API, instead of the provider's.
  final String? baseUrl;

  /// Which of the provider's APIs is used; its usual one if null.
  final String? api;

  /// Additional headers of each request.
  final Map<String, String> headers;

  /// Whether the provider makes the answers in the background: an answer goes on while nobody reads it, so it survives a
  /// broken connection and a sleeping phone, and is read on where it broke off. The provider stores the conversation and the
  /// answer for a while. OpenAI's `responses` can do so, and is the API then if none is given.
  final bool background;

  /// The form of this model in a configuration's `fallback`.
  FallbackModel get asFallback => FallbackModel(
        provider: provider,
        model: name,
        api: api,
        baseUrl: baseUrl,
        key: apiKey,
        headers: headers,
        credentials: credentials == null ? Credentials.fixed : Credentials.host,
        resumption: background ? Resumption.background : null,
      );

  /// The configuration of a [RunMachine] with this model.
  RunConfig get config => RunConfig(
        provider: provider,
        model: name,
        api: api,
        baseUrl: baseUrl,
        key: apiKey,
        headers: headers,
        credentials: credentials == null ? Credentials.fixed : Credentials.host,
        resumption: background ? Resumption.background : null,
      );
}
