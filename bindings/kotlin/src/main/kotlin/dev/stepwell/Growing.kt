package dev.stepwell

import kotlinx.serialization.KSerializer
import kotlinx.serialization.json.Json

/** An answer as it comes. */
internal interface Growing<out T> {
    /** Returns whether the answer grows by an event. */
    fun isPartOf(event: Event): Boolean

    /** Takes an event, in order. */
    fun take(event: Event)

    /** The answer so far; null while it is none of its type. */
    fun value(): T?
}

/** The text of the newest message. */
internal class GrowingText : Growing<String> {
    private var message: String? = null
    private val text = StringBuilder()

    override fun isPartOf(event: Event): Boolean = event is Event.TextMessageContent

    override fun take(event: Event) {
        if (event !is Event.TextMessageContent) return
        synchronized(text) {
            if (event.messageId != message) text.setLength(0)
            message = event.messageId
            text.append(event.delta)
        }
    }

    override fun value(): String? = synchronized(text) { text.toString().ifEmpty { null } }
}

/** A value of which the model has written only a part: what has not come is left out. */
internal class GrowingValue<T>(private val type: KSerializer<T>, json: Json) : Growing<T> {
    private val lenient = Json(json) {
        // A property that may be null is, and the beginning of an enum's name is no name.
        explicitNulls = false
        coerceInputValues = true
    }
    private val known = lazy { PartialValue() }

    override fun isPartOf(event: Event): Boolean = event is Event.PartialOutput

    override fun take(event: Event) {
        if (event is Event.PartialOutput) known.value.apply(event.changes)
    }

    override fun value(): T? {
        val known = if (known.isInitialized()) known.value.value() else null
        return try {
            known?.let { lenient.decodeFromJsonElement(type, it) }
        } catch (incomplete: IllegalArgumentException) {
            // A `SerializationException` is one, and what the class refuses by `require`.
            null
        }
    }
}
