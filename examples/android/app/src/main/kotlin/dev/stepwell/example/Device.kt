package dev.stepwell.example

import android.content.Context
import android.net.ConnectivityManager
import android.net.Network
import androidx.lifecycle.DefaultLifecycleObserver
import androidx.lifecycle.LifecycleOwner
import androidx.lifecycle.ProcessLifecycleOwner
import dev.stepwell.example.chat.Chat
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.launch

/** Tells a chat what the phone does: whether the app is seen, and whether there is a network. */
class Device(context: Context, private val scope: CoroutineScope, private val chat: Chat) :
    ConnectivityManager.NetworkCallback(), DefaultLifecycleObserver, AutoCloseable {
    private val connectivity = context.getSystemService(ConnectivityManager::class.java)
    private val process = ProcessLifecycleOwner.get().lifecycle

    init {
        process.addObserver(this)
        connectivity.registerDefaultNetworkCallback(this)
        // The callback is silent until there is a network.
        if (connectivity.activeNetwork == null) chat.networkLost()
    }

    override fun onStart(owner: LifecycleOwner) = chat.enteredForeground()

    override fun onStop(owner: LifecycleOwner) = chat.enteredBackground()

    // These come on a thread of the system's.
    override fun onAvailable(network: Network) {
        scope.launch { chat.networkAvailable() }
    }

    override fun onLost(network: Network) {
        scope.launch { chat.networkLost() }
    }

    override fun close() {
        process.removeObserver(this)
        connectivity.unregisterNetworkCallback(this)
    }
}
