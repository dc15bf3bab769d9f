package dev.stepwell.example.chat

import dev.stepwell.Agent
import dev.stepwell.ChatSession
import dev.stepwell.StepwellException
import dev.stepwell.isBusy
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.StateFlow
import kotlinx.coroutines.launch
import kotlinx.serialization.json.JsonElement

/** The app's one conversation. It belongs to the process, so a turn outlives the screen; the store outlives the process. */
class Chat(private val scope: CoroutineScope, open: suspend () -> Agent) {
    private val sessions = MutableStateFlow<ChatSession?>(null)
    private val problems = MutableStateFlow<String?>(null)

    /** The session that the screen shows; null until the store is open. */
    val session: StateFlow<ChatSession?> = sessions

    /** What went wrong outside a turn. */
    val problem: StateFlow<String?> = problems

    init {
        guarded {
            val agent = open()
            val session = ChatSession(agent.conversation("chat"))
            session.load()
            // A turn that the previous process left continues before the user can reply to it.
            agent.recover { turns ->
                coroutineScope {
                    val left = turns.firstNotNullOfOrNull { it.turn }
                    if (left != null) launch(start = CoroutineStart.UNDISPATCHED) { session.follow(left) }
                    sessions.value = session
                }
            }
        }
    }

    fun send(text: String) = act { if (state.value.status.isBusy) steer(text) else send(text) }
    fun retry() = act { retry() }
    fun approve(id: String) = act { approve(id) }
    fun deny(id: String, reason: String? = null) = act { deny(id, reason) }
    fun answer(id: String, value: JsonElement) = act { answer(id, value) }

    private fun act(code: suspend ChatSession.() -> Unit) = guarded { session.value?.code() }

    private fun guarded(code: suspend () -> Unit) = scope.launch {
        try {
            problems.value = null
            code()
        } catch (failed: StepwellException) {
            problems.value = failed.message
        }
    }
}
