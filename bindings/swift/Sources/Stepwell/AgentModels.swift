import Foundation
import StepwellBindings

/// The models that an agent asks: its own, those that are asked when it has failed or is not chosen, and the one that writes
/// summaries.
struct AgentModels: Sendable {
    var own: Model
    let fallback: [Model]
    let summary: Model?

    private var all: [Model] { [own] + fallback + (summary.map { [$0] } ?? []) }

    /// Puts the models into a configuration. Where the app's code gives the keys, the environment gives none.
    ///
    /// - Throws: `StepwellError` where a model has no key, or custom providers that cannot be read.
    func complete(_ config: inout RunConfig, asksForKeys: Bool) throws {
        func key(_ model: Model) throws -> String? { asksForKeys ? model.apiKey : try model.key() }
        config.provider = own.provider
        config.model = own.name
        config.api = own.api
        config.baseUrl = own.baseUrl
        config.headers = own.headers
        config.resumption = own.resumption
        config.key = try key(own)
        config.providers = try customProviders()
        func other(_ model: Model) throws -> FallbackModel {
            FallbackModel(
                provider: model.provider, model: model.name, api: model.api, baseUrl: model.baseUrl, key: try key(model),
                headers: model.headers, credentials: asksForKeys ? .host : nil, resumption: model.resumption)
        }
        config.fallback.models = try fallback.map(other)
        if let summary { config.compaction.summarize(by: try other(summary)) }
    }

    /// The app's code that gives the keys, for the models that have keys.
    func credentials(_ source: (any CredentialSource)?) -> (any CredentialSource)? {
        let inProcess = all.filter { $0.transport != nil }.map { ModelName(provider: $0.provider, model: $0.name) }
        return source.map { inProcess.isEmpty ? $0 : KeysOfOthers(source: $0, keyless: Set(inProcess)) }
    }

    /// What sends the requests: a model's own transport those to this model, and the client all others. It is nil if the
    /// library's own connections send all of them.
    ///
    /// - Throws: `StepwellError` where these cannot be told apart, or the library's own connections cannot be called.
    func client(_ client: (any HttpTransport)?) throws -> (any HttpTransport)? {
        let inProcess = Set(all.filter { $0.transport != nil })
        if inProcess.isEmpty { return try transport(of: client) }
        let transports = Dictionary(grouping: inProcess) { $0.baseUrl ?? "" }
        let routes = try transports.map { baseUrl, models in
            guard let transport = models.first?.transport, models.allSatisfy({ $0.transport === transport }) else {
                throw StepwellError.misuse(
                    "two models in the app's process are named `\(models[0])`", advice: "leave one of them out")
            }
            return Route(baseUrl: baseUrl, transport: transport)
        }
        if all.allSatisfy({ $0.transport != nil }) { return Router(routes: routes, others: routes[0].transport) }
        if client is BuiltInTransport {
            throw StepwellError.misuse(
                "the built-in transport sends all requests of an agent, and a model in the app's process answers some itself",
                advice: "leave `client` out, or give a `URLSessionTransport`")
        }
        return Router(routes: routes, others: try client ?? URLSessionTransport())
    }

    /// The custom providers of all models, as one list.
    private func customProviders() throws -> JsonValue? {
        let each = Set(all.compactMap(\.customProviders))
        if each.count < 2 { return each.first }
        var known = Set<String>()
        let providers = try each.flatMap { json in
            let object = try? JSONSerialization.jsonObject(with: Data(json.text.utf8)) as? [String: Any]
            guard let list = object?["providers"] as? [[String: Any]] else {
                throw StepwellError.misuse(
                    "the custom providers of a model have no list `providers`",
                    advice: "give an object whose `providers` is a list, as `stepwell --providers` takes it")
            }
            return try list.map {
                let bytes = try JSONSerialization.data(withJSONObject: $0, options: [.sortedKeys, .withoutEscapingSlashes])
                return String(decoding: bytes, as: UTF8.self)
            }
        }.sorted().filter { known.insert($0).inserted }
        return JsonValue(text: #"{"providers":[\#(providers.joined(separator: ","))]}"#)
    }
}

/// The requests that begin with an address, and what sends them.
private struct Route: Sendable {
    let baseUrl: String
    let transport: any HttpTransport
}

/// Sends each request by the transport of its model.
private final class Router: HttpTransport {
    private let routes: [Route]
    private let others: any HttpTransport

    init(routes: [Route], others: any HttpTransport) {
        self.routes = routes
        self.others = others
    }

    func send(request: HttpRequest, answer: HttpAnswer) async throws {
        let own = routes.first { request.url.hasPrefix($0.baseUrl) }
        try await (own?.transport ?? others).send(request: request, answer: answer)
    }
}

/// Asks the app's code for keys, except for models in the app's process: without a network it might have none to give.
private final class KeysOfOthers: CredentialSource {
    private let source: any CredentialSource
    private let keyless: Set<ModelName>

    init(source: any CredentialSource, keyless: Set<ModelName>) {
        self.source = source
        self.keyless = keyless
    }

    func credentials(request: CredentialRequest) async throws -> Authorization {
        if keyless.contains(request.model) { return Authorization() }
        return try await source.credentials(request: request)
    }
}
