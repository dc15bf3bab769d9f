import StepwellBindings

/// What went wrong, in a turn or in a call.
public typealias StepwellError = StepwellBindings.StepwellError

/// Any JSON, as its text: an agent's shared state, a tool's arguments, a schema.
public typealias JsonValue = StepwellBindings.JsonValue

// The functions of the library as a whole.

/// Returns the version of the library.
public func version() -> String { StepwellBindings.version() }

/// Returns the providers that a `Model` may name, with an app's own ones.
///
/// - Throws: `StepwellError` where the app's own are not as they should be.
public func providers(own: JsonValue? = nil) throws -> [Provider] { try StepwellBindings.providers(own: own) }

/// Returns the price of a model in US dollars for a million tokens, if the library knows it.
public func modelPrice(provider: String, model: String) -> ModelPrice? {
    StepwellBindings.modelPrice(provider: provider, model: model)
}

/// Returns how much a model reads and writes, if the library knows it.
public func contextWindow(provider: String, model: String) -> ContextWindow? {
    StepwellBindings.contextWindow(provider: provider, model: model)
}

/// Sends the library's own log to the app's, from now on. No key is in it, and above the debug level no text of a
/// conversation. To be called once; returns whether this was the first call.
@discardableResult
public func logTo(log: any LogSink) -> Bool { StepwellBindings.logTo(log: log) }

/// Sends the spans of turns to the app's tracer, from now on. They hold no key. They hold no content unless `content` is
/// `true`: then the agents that are created from now on report instructions, messages, arguments and results. To be called
/// once; returns whether this was the first call.
@discardableResult
public func traceTo(sink: any SpanSink, content: Bool = false) -> Bool {
    StepwellBindings.traceTo(sink: sink, content: content)
}

/// Stops the library's threads for good, because the process is about to end: once this returns, none of them calls code of
/// the app any more, unless a tool blocks a thread for more than two seconds. Turns under way stop where they are, as if the
/// process had been killed; a store keeps what it has.
public func shutdown() { StepwellBindings.shutdown() }

/// Returns the conversation of stored turns, for the next run to begin with: a JSON array of AG-UI messages. Takes the turns
/// as `sessionView` does.
///
/// - Throws: `StepwellError` where the turns cannot be read.
public func conversationOf(turns: [TurnRecord], turn: String? = nil) throws -> JsonValue {
    try StepwellBindings.conversationOf(turns: turns, turn: turn)
}

/// Returns a session from stored turns, all of a thread or of one path: the path to `turn`, or without one the path that ends
/// last. For apps that themselves store what a `RunMachine` emits; a `SessionStore` has `view`.
///
/// - Throws: `StepwellError` where the turns cannot be read.
public func sessionView(turns: [TurnRecord], turn: String? = nil) throws -> SessionView {
    try StepwellBindings.sessionView(turns: turns, turn: turn)
}

/// Plays the journal of a turn again.
///
/// - Throws: `StepwellError` where the journal cannot be read.
public func replayJournal(journal: String) throws -> JournalReplay {
    try StepwellBindings.replayJournal(journal: journal)
}

/// Returns the journal with its texts hidden, to be sent with a report. It keeps the structure of the run: the entries with
/// their times, the states, the names of the outputs and of the tools, and the sizes of what is hidden. It cannot be
/// replayed.
///
/// - Throws: `StepwellError` where the journal cannot be read.
public func redactJournal(journal: String) throws -> String {
    try StepwellBindings.redactJournal(journal: journal)
}

/// A file that the provider has already, by its id there.
///
/// - Throws: `StepwellError` for an id that is none.
public func file(id: String, provider: String? = nil, mediaType: String? = nil) throws -> ContentPart {
    try StepwellBindings.file(id: id, provider: provider, mediaType: mediaType)
}

/// A text between other parts; a string literal is one too.
public func text(content: String) -> ContentPart { StepwellBindings.text(content: content) }
