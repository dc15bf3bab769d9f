import Foundation
import StepwellBindings

/// What an agent's turns run on: Stepwell's own agents, each of which is a map of conversations. One serves the agent's
/// store, and each other store has a further one while a conversation uses it.
final class Engine: @unchecked Sendable {
    let model: Model
    private let config: RunConfig
    private let setup: AgentSetup
    private let tools: ToolList
    /// Guards all below.
    private let lock = NSLock()
    private var own: FfiAgent?
    private var others: [ObjectIdentifier: Other] = [:]
    private var isInBackground = false
    private var isOffline = false

    /// The agent of another store. Neither is kept alive.
    private struct Other {
        weak var store: SessionStore?
        weak var agent: FfiAgent?
    }

    /// The configuration is without what the model has, and the setup without tools.
    init(model: Model, config: RunConfig, setup: AgentSetup, tools: ToolList) {
        self.model = model
        self.config = config
        self.setup = setup
        self.tools = tools
    }

    /// An engine of the same definition with another model.
    func with(_ model: Model) -> Engine {
        Engine(model: model, config: config, setup: setup, tools: tools)
    }

    /// The agent whose conversations are kept in a store: in the definition's own if there is none.
    func agent(store: SessionStore? = nil) throws -> FfiAgent {
        try lock.withLock {
            guard let store, store !== setup.store?.store else {
                if let own { return own }
                let made = try create(setup)
                own = made
                return made
            }
            let id = ObjectIdentifier(store)
            if let known = others[id], known.store === store, let agent = known.agent { return agent }
            others = others.filter { $0.value.agent != nil }
            var setup = setup
            setup.store = StoreSetup(store: store, waits: self.setup.store?.waits ?? false)
            let made = try create(setup)
            others[id] = Other(store: store, agent: made)
            return made
        }
    }

    /// How many agents of other stores are known.
    var storeCount: Int { lock.withLock { others.values.filter { $0.agent != nil }.count } }

    /// A conversation of one turn, which is forgotten after it.
    func once() throws -> HeldThread {
        let agent = try agent()
        let key = ThreadKey(thread: randomId())
        return HeldThread(agent: agent.thread(key: key)) { agent.forgetThread(key: key) }
    }

    /// A conversation that stays: after each turn the thread is unread, unless the app itself looks after those.
    func held(_ thread: FfiAgent, of agent: FfiAgent, key: ThreadKey) -> HeldThread {
        let isAppsOwn = setup.registry != nil
        return HeldThread(agent: thread) {
            let registry = agent.registry()
            guard !isAppsOwn, registry.unread(thread: key) else { return }
            registry.lookAt(thread: key)
            registry.lookAt(thread: nil)
        }
    }

    /// Informs all of its agents, also those that are made later, of a change of the device.
    func inform(background: Bool? = nil, offline: Bool? = nil) {
        lock.withLock {
            isInBackground = background ?? isInBackground
            isOffline = offline ?? isOffline
            for agent in others.values.compactMap(\.agent) + [own].compactMap({ $0 }) {
                agent.inform(background: background, offline: offline)
            }
        }
    }

    private func create(_ setup: AgentSetup) throws -> FfiAgent {
        setLanguage(language: "Swift")
        var config = config
        config.provider = model.provider
        config.model = model.name
        config.api = model.api
        config.baseUrl = model.baseUrl
        config.headers = model.headers
        config.providers = model.customProviders
        // The app's code gives the key of each request, if it gives any.
        config.key = setup.credentials == nil ? try model.key() : model.apiKey
        var setup = setup
        setup.tools = try tools.made()
        setup.client = try transport(of: setup.client)
        let agent = try FfiAgent(config: config, setup: setup)
        agent.inform(background: isInBackground ? true : nil, offline: isOffline ? true : nil)
        return agent
    }
}

/// A conversation of Stepwell's own, and what is done after a turn of it.
struct HeldThread: Sendable {
    let agent: FfiAgent
    let afterTurn: @Sendable () -> Void
}

extension FfiAgent {
    fileprivate func inform(background: Bool?, offline: Bool?) {
        switch background {
        case true?: enteredBackground()
        case false?: enteredForeground()
        case nil: break
        }
        switch offline {
        case true?: networkLost()
        case false?: networkAvailable()
        case nil: break
        }
    }
}

func randomId() -> String {
    UUID().uuidString.lowercased()
}
