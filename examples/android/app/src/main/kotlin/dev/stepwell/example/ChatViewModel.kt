package dev.stepwell.example

import android.app.Application
import androidx.lifecycle.AndroidViewModel
import androidx.lifecycle.SavedStateHandle
import kotlinx.coroutines.flow.StateFlow

/** What outlives a rotation of the screen. The draft also outlives the process. */
class ChatViewModel(application: Application, private val saved: SavedStateHandle) : AndroidViewModel(application) {
    private val app = application as ChatApplication

    val chat = app.chat

    val theme: StateFlow<String?> = app.theme

    /** The text that is typed and not sent. */
    val draft: StateFlow<String> = saved.getStateFlow("draft", "")

    fun type(text: String) {
        saved["draft"] = text
    }

    fun send() {
        chat.send(draft.value)
        type("")
    }
}
