package dev.stepwell.example

import android.content.Context
import android.net.ConnectivityManager
import android.net.Network

/** Says whether the phone has a network, on a thread of the system's, until it is closed. */
class NetworkWatch(
    context: Context,
    private val available: () -> Unit,
    private val lost: () -> Unit,
) : ConnectivityManager.NetworkCallback(), AutoCloseable {
    private val connectivity = checkNotNull(context.getSystemService(ConnectivityManager::class.java))

    init {
        connectivity.registerDefaultNetworkCallback(this)
        // The callback is silent until there is a network.
        if (connectivity.activeNetwork == null) lost()
    }

    override fun onAvailable(network: Network) = available()

    override fun onLost(network: Network) = lost()

    override fun close() = connectivity.unregisterNetworkCallback(this)
}
