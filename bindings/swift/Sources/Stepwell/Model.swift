import Foundation
import StepwellBindings

/// Which model, from where: `.openAI("gpt-5-mini")`, or `"openai:gpt-5-mini"`.
///
/// Without an `apiKey` the key is that of the provider's usual environment variable, such as `OPENAI_API_KEY`, unless there
/// is a `baseUrl`: a key goes to no other server than the provider's own by itself. For keys that expire see `credentials`
/// of `Agent`.
public struct Model: Sendable, Hashable {
    /// The provider's name, such as `openai` or `openai-compatible`; see `providers`.
    public var provider: String
    /// The model's name; empty where the provider's requests name none.
    public var name: String
    /// The key. It is neither printed nor stored.
    public var apiKey: String?
    /// An address instead of the provider's own; for AG-UI the agent's whole address.
    public var baseUrl: String?
    /// Which of the provider's APIs; its usual one if nil.
    public var api: String?
    /// Headers to send in addition to the provider's own.
    public var headers: [String: String]
    /// Custom providers, which `provider` may name: a JSON object whose `providers` is a list, as `stepwell --providers`
    /// takes it.
    public var customProviders: JsonValue?
    /// Whether the provider makes the answers in the background: an answer goes on while nobody reads it, so it survives a
    /// broken connection, a sleeping phone and a killed app, and is read on where it broke off. The provider stores the
    /// conversation and the answer for a while. OpenAI's `responses` can do so, and is the API then if none is given.
    public var background: Bool
    /// What sends the requests instead of the agent's client, for a model in the app's process.
    private var own: OwnTransport?

    /// A model of any provider.
    public init(
        provider: String, name: String, apiKey: String? = nil, baseUrl: String? = nil, api: String? = nil,
        headers: [String: String] = [:], customProviders: JsonValue? = nil, background: Bool = false
    ) {
        self.provider = provider
        self.name = name
        self.apiKey = apiKey
        self.baseUrl = baseUrl
        self.api = api
        self.headers = headers
        self.customProviders = customProviders
        self.background = background
    }

    /// A model in the app's process, which this transport answers for.
    package init(provider: String, name: String, baseUrl: String, transport: any HttpTransport) {
        self.init(provider: provider, name: name, baseUrl: baseUrl)
        own = OwnTransport(transport: transport)
    }

    /// How the model's streams are resumed.
    var resumption: Resumption? { background ? .background : nil }

    /// The transport of a model in the app's process.
    var transport: (any HttpTransport)? { own?.transport }

    /// The model that a text such as `openai:gpt-5-mini` names. A text that names no provider is refused by the first run.
    public init(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        self.init(provider: parts.count == 2 ? String(parts[0]) : "", name: String(parts.last ?? ""))
    }

    /// The key to send: the environment's if none is given.
    func key() throws -> String? {
        if provider.isEmpty {
            throw StepwellError.misuse(
                "the model `\(name)` names no provider",
                advice: "write `provider:model`, such as `openai:gpt-5-mini`, or `.openAI(…)`")
        }
        if apiKey != nil || baseUrl != nil { return apiKey }
        let known = try providers(own: customProviders).first { $0.name == provider }
        guard let known, !known.keyVariable.isEmpty else { return nil }
        let key = ProcessInfo.processInfo.environment[known.keyVariable].flatMap { $0.isEmpty ? nil : $0 }
        if key == nil, known.needsKey {
            throw StepwellError.misuse(
                "there is no key for `\(self)`", advice: "set `\(known.keyVariable)`, or give the model an `apiKey`")
        }
        return key
    }
}

/// A model's transport. Models with the same one are equal.
private struct OwnTransport: Sendable, Hashable {
    let transport: any HttpTransport

    static func == (one: OwnTransport, other: OwnTransport) -> Bool { one.transport === other.transport }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(transport)) }
}

extension Model: ExpressibleByStringLiteral {
    public init(stringLiteral text: String) {
        self.init(text)
    }
}

extension Model: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "\(provider):\(name)" }
    public var debugDescription: String { description }
    /// Without the key and the headers.
    public var customMirror: Mirror { Mirror(self, children: ["provider": provider, "name": name]) }
}
