package dev.stepwell

import dev.stepwell.internal.AgentSetup
import dev.stepwell.internal.FfiAgent
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.jsonArray

/** What an agent's turns run on: one agent of Stepwell's own, made when it is first needed. */
internal class Engine(
    val model: Model,
    private val config: RunConfig,
    private val setup: AgentSetup,
    val code: AppCode,
    private val fallback: List<Model>,
    private val summaryModel: Model?,
) {
    /** The agent of the definition. */
    val agent: FfiAgent by lazy {
        setLanguage("Kotlin")
        val others = config.fallback.copy(models = fallback.map(::other))
        val own = config.copy(
            key = keyOf(model),
            fallback = others,
            compaction = compaction(),
            providers = providers(),
            resumption = resumptionOf(model),
        )
        FfiAgent(own, setup)
    }

    /** The app's code gives the key of each request, if it gives any. */
    private fun keyOf(model: Model): String? = if (setup.credentials == null) model.key() else model.apiKey

    private fun other(model: Model) = FallbackModel(
        provider = model.provider,
        model = model.name,
        api = model.api,
        baseUrl = model.baseUrl,
        key = keyOf(model),
        headers = model.headers,
        credentials = if (setup.credentials == null) null else Credentials.HOST,
        resumption = resumptionOf(model),
    )

    /** The policy of compaction, with the model for its summaries. */
    private fun compaction(): CompactionPolicy {
        val policy = config.compaction
        val writer = summaryModel?.let(::other) ?: return policy
        val number = policy.ways.indexOfFirst { it is CompactionWay.Summary }
        val way = policy.ways.getOrNull(number) as? CompactionWay.Summary ?: CompactionWay.Summary()
        val ways = policy.ways.toMutableList()
        if (number < 0) ways += way.copy(model = writer) else ways[number] = way.copy(model = writer)
        return policy.copy(ways = ways)
    }

    /** The app's own providers, of all models. */
    private fun providers(): JsonElement? {
        val own = (listOf(model) + fallback + listOfNotNull(summaryModel)).mapNotNull { it.customProviders }.distinct()
        return if (own.size < 2) own.firstOrNull() else JsonArray(own.flatMap { it.jsonArray }.distinct())
    }

    val limits: Limits get() = config.limits

    /** An engine of the same definition with another model. */
    fun with(other: Model, config: RunConfig): Engine = Engine(other, config, setup, code, fallback, summaryModel)

    fun configOf(other: Model): RunConfig = config.copy(
        provider = other.provider,
        model = other.name,
        api = other.api,
        baseUrl = other.baseUrl,
        headers = other.headers,
        resumption = resumptionOf(other),
    )

    private fun resumptionOf(model: Model): Resumption? = if (model.background) Resumption.BACKGROUND else null

    /** The agent whose conversations are kept in a store: in the definition's own if there is none. */
    fun agent(store: SessionStore?): FfiAgent =
        if (store == null || store == setup.store?.store) agent else agent.withStore(store)
}
