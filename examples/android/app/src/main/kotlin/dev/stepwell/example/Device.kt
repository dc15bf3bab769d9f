package dev.stepwell.example

import android.content.Context
import androidx.lifecycle.DefaultLifecycleObserver
import androidx.lifecycle.LifecycleOwner
import androidx.lifecycle.ProcessLifecycleOwner
import dev.stepwell.example.chat.Chat
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.launch

/** Tells a chat what the phone does: whether the app is seen, and whether there is a network. */
class Device(context: Context, scope: CoroutineScope, private val chat: Chat) : DefaultLifecycleObserver, AutoCloseable {
    private val process = ProcessLifecycleOwner.get().lifecycle
    private val network = NetworkWatch(
        context,
        available = { scope.launch { chat.networkAvailable() } },
        lost = { scope.launch { chat.networkLost() } },
    )

    init {
        process.addObserver(this)
    }

    override fun onStart(owner: LifecycleOwner) = chat.enteredForeground()

    override fun onStop(owner: LifecycleOwner) = chat.enteredBackground()

    override fun close() {
        process.removeObserver(this)
        network.close()
    }
}
