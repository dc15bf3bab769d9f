package dev.stepwell.example

import android.content.Context
import androidx.lifecycle.DefaultLifecycleObserver
import androidx.lifecycle.LifecycleOwner
import androidx.lifecycle.ProcessLifecycleOwner
import dev.stepwell.Agent

/** Informs an agent of the phone's state until it is closed: whether the app is visible, and whether there is a network. */
class Device(context: Context, private val agent: Agent) : DefaultLifecycleObserver, AutoCloseable {
    private val process = ProcessLifecycleOwner.get().lifecycle
    private val network = NetworkWatch(context, available = agent::networkAvailable, lost = agent::networkLost)

    init {
        process.addObserver(this)
    }

    override fun onStart(owner: LifecycleOwner) = agent.enteredForeground()

    override fun onStop(owner: LifecycleOwner) = agent.enteredBackground()

    override fun close() {
        process.removeObserver(this)
        network.close()
    }
}
