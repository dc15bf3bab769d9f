package dev.stepwell.example

import android.app.Application
import androidx.lifecycle.AndroidViewModel
import androidx.lifecycle.SavedStateHandle
import androidx.lifecycle.viewModelScope
import dev.stepwell.RunConfig
import dev.stepwell.ToolDefinition
import dev.stepwell.example.chat.Chat
import dev.stepwell.example.chat.FileSnapshotStore
import dev.stepwell.example.chat.ToolCode
import dev.stepwell.string
import java.io.File
import java.time.Duration
import java.time.ZoneId
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.StateFlow
import kotlinx.serialization.json.Json
import okhttp3.OkHttpClient

/**
 * The chat over a change of the screen's orientation, and over the death of the process: the conversation is in a file,
 * what is typed but not sent is in the [SavedStateHandle].
 */
class ChatViewModel(application: Application, private val saved: SavedStateHandle) : AndroidViewModel(application) {
    private val themes = MutableStateFlow<String?>(null)

    /** `dark` or `light`, once the agent has chosen. */
    val theme: StateFlow<String?> = themes

    /** What is typed and not sent. */
    val draft: StateFlow<String> = saved.getStateFlow("draft", "")

    private val tools: Map<ToolDefinition, ToolCode> = mapOf(
        ToolDefinition(
            "set_theme",
            "Sets how the app looks.",
            Json.parseToJsonElement(
                """{"type":"object","properties":{"theme":{"type":"string","enum":["dark","light"]}},"required":["theme"]}""",
            ),
            idempotent = true,
        ) to { call ->
            themes.value = call.string("theme")
            "done"
        },
        ToolDefinition(
            "get_location",
            "The time zone that the user is in.",
            Json.parseToJsonElement("""{"type":"object","properties":{}}"""),
            requiresApproval = true,
            idempotent = true,
        ) to { ZoneId.systemDefault().id },
    )

    val chat = Chat(
        viewModelScope,
        RunConfig(
            provider = "ag-ui",
            baseUrl = BuildConfig.AGENT,
            tools = tools.keys.toList(),
        ),
        // How long the agent may be silent the run knows itself.
        // A redirect would take the key and the conversation elsewhere.
        OkHttpClient.Builder().readTimeout(Duration.ZERO).followRedirects(false).build(),
        tools.mapKeys { it.key.name },
        FileSnapshotStore(File(application.filesDir, "chat.json")),
    )

    init {
        chat.restore()
        addCloseable(Device(application, viewModelScope, chat))
    }

    fun type(text: String) {
        saved["draft"] = text
    }

    fun send() {
        if (chat.state.value.running) return
        chat.send(draft.value)
        type("")
    }
}
