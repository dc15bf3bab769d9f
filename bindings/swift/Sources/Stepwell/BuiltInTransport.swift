import StepwellBindings

/// Stands for the connections of the library itself (rustls and HTTP/2), as an agent's `client`. They are the default
/// everywhere but on Apple's systems, where `URLSession` is.
///
///     let agent = Agent(model: .openAI("gpt-5-mini"), client: BuiltInTransport())
public final class BuiltInTransport: HttpTransport {
    public init() {}

    /// Is never called: the library's connections are inside of it.
    public func send(request: HttpRequest, answer: HttpAnswer) async throws {
        throw StepwellError.misuse(
            "the built-in transport sends requests of an agent alone", advice: "give it to an `Agent` as its `client`")
    }
}

#if canImport(Darwin)
    let isAppleSystem = true
#else
    let isAppleSystem = false
#endif

/// What sends the requests of an agent that was given this client; nil if the library's own connections do.
func transport(of client: (any HttpTransport)?, isAppleSystem: Bool = isAppleSystem) throws -> (any HttpTransport)? {
    if client is BuiltInTransport { return nil }
    return try client ?? (isAppleSystem ? URLSessionTransport() : nil)
}
