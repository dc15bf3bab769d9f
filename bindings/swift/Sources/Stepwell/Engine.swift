import Foundation
import StepwellBindings

/// What an agent's turns run on: one of Stepwell's own agents, which is made when it is first needed.
final class Engine: @unchecked Sendable {
    private let models: AgentModels
    private let config: RunConfig
    private let setup: AgentSetup
    private let tools: ToolList
    /// Guards all below.
    private let lock = NSLock()
    private var made: FfiAgent?
    private var isInBackground = false
    private var isOffline = false

    /// The configuration is without what the models have, and the setup without tools.
    init(models: AgentModels, config: RunConfig, setup: AgentSetup, tools: ToolList) {
        self.models = models
        self.config = config
        self.setup = setup
        self.tools = tools
    }

    /// The agent's own model.
    var model: Model { models.own }

    /// An engine of the same definition with another model.
    func with(_ model: Model) -> Engine {
        var models = models
        models.own = model
        return Engine(models: models, config: config, setup: setup, tools: tools)
    }

    /// The agent whose conversations are kept in a store: in the definition's own if there is none.
    func agent(store: SessionStore? = nil) throws -> FfiAgent {
        let agent = try lock.withLock {
            if let made { return made }
            let created = try create()
            made = created
            return created
        }
        return store.map(agent.withStore(store:)) ?? agent
    }

    /// Informs the agent, also if it is made later, of a change of the device.
    func inform(background: Bool? = nil, offline: Bool? = nil) {
        lock.withLock {
            isInBackground = background ?? isInBackground
            isOffline = offline ?? isOffline
            made?.inform(background: background, offline: offline)
        }
    }

    private func create() throws -> FfiAgent {
        setLanguage(language: "Swift")
        var config = config
        try models.complete(&config, asksForKeys: setup.credentials != nil)
        var setup = setup
        setup.tools = try tools.made()
        setup.credentials = models.credentials(setup.credentials)
        setup.client = try models.client(setup.client)
        let agent = try FfiAgent(config: config, setup: setup)
        agent.inform(background: isInBackground ? true : nil, offline: isOffline ? true : nil)
        return agent
    }
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
