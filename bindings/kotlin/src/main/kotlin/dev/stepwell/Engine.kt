package dev.stepwell

import dev.stepwell.internal.AgentSetup
import dev.stepwell.internal.FfiAgent

/** What an agent's turns run on: one agent of Stepwell's own, made when it is first needed. */
internal class Engine(
    val model: Model,
    private val config: RunConfig,
    private val setup: AgentSetup,
    val code: AppCode,
) {
    /** The agent of the definition. */
    val agent: FfiAgent by lazy {
        setLanguage("Kotlin")
        // The app's code gives the key of each request, if it gives any.
        val key = if (setup.credentials == null) model.key() else model.apiKey
        FfiAgent(config.copy(key = key), setup)
    }

    val limits: Limits get() = config.limits

    /** An engine of the same definition with another model. */
    fun with(other: Model, config: RunConfig): Engine = Engine(other, config, setup, code)

    fun configOf(other: Model): RunConfig = config.copy(
        provider = other.provider,
        model = other.name,
        api = other.api,
        baseUrl = other.baseUrl,
        headers = other.headers,
        providers = other.customProviders,
    )

    /** The agent whose conversations are kept in a store: in the definition's own if there is none. */
    fun agent(store: SessionStore?): FfiAgent =
        if (store == null || store == setup.store?.store) agent else agent.withStore(store)
}
