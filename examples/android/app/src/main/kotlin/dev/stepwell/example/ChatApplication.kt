package dev.stepwell.example

import android.app.Application
import dev.stepwell.Agent
import dev.stepwell.Model
import dev.stepwell.OkHttpTransport
import dev.stepwell.SqliteStore
import dev.stepwell.example.chat.Chat
import dev.stepwell.string
import java.io.File
import java.time.ZoneId
import kotlinx.coroutines.MainScope
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.StateFlow
import okhttp3.OkHttpClient

/** The process, which owns the chat: a turn continues while no screen shows it. */
class ChatApplication : Application() {
    private val scope = MainScope()
    private val themes = MutableStateFlow<String?>(null)

    /** `dark` or `light`; null until the agent has chosen. */
    val theme: StateFlow<String?> = themes

    lateinit var chat: Chat
        private set

    /** Informs the agent of the phone's state; null until the store is open. */
    var device: Device? = null
        private set

    override fun onCreate() {
        super.onCreate()
        chat = Chat(scope) {
            val opened = SqliteStore.open(File(filesDir, "chat.db").path)
            val agent = Agent(Model.agUi(BuildConfig.AGENT)) {
                store(opened)
                client(OkHttpTransport(OkHttpClient()))
                tool("set_theme", "Sets how the app looks.") {
                    idempotent = true
                    choice("theme", listOf("dark", "light"))
                    run { call -> themes.value = call.string("theme") }
                }
                tool("get_location", "The time zone that the user is in.") {
                    requiresApproval = true
                    idempotent = true
                    run { _ -> ZoneId.systemDefault().id }
                }
            }
            agent.also { device = Device(this, it) }
        }
    }
}
