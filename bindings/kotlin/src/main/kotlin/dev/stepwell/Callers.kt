package dev.stepwell

import dev.stepwell.internal.FfiAgent
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong
import kotlin.coroutines.CoroutineContext
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.DelicateCoroutinesApi
import kotlinx.coroutines.GlobalScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext

/**
 * Runs [block] with a handle on the same conversations, whose turns belong to the calling coroutine: all code of the app
 * that is called for them (tools, approver, hooks, store, …) runs in the coroutine context of the caller, with its
 * dispatcher and its context elements, and with those of [more]. At the end of the block its turns are cancelled, and the call returns once all of
 * that code has ended, `finally` blocks included.
 */
internal suspend fun <T> FfiAgent.turnScope(more: CoroutineContext, block: suspend (FfiAgent) -> T): T {
    val caller = Caller(currentCoroutineContext() + more)
    return within(caller.id).use { agent ->
        try {
            block(agent)
        } finally {
            withContext(NonCancellable) {
                agent.endTurns()
                caller.end()
            }
        }
    }
}

/** A coroutine that began turns: their code runs in its context. */
internal class Caller(context: CoroutineContext) {
    // The coroutine's own job is not the parent: its turns are cancelled separately, and their last writes must not
    // fail.
    private val job = SupervisorJob()
    private val scope = CoroutineScope(context.minusKey(Job) + job)
    private var isOver = false

    val id: Long = next.incrementAndGet()

    init {
        known[id] = this
    }

    @OptIn(DelicateCoroutinesApi::class)
    fun launch(code: suspend CoroutineScope.() -> Unit): Job = synchronized(this) {
        // Only a failing store is called later: the coroutine is gone, and its dispatcher may be.
        (if (isOver) GlobalScope else scope).launch(block = code)
    }

    /** Code that is called later finds no context. */
    fun forget() {
        known.remove(id)
    }

    suspend fun end() {
        forget()
        synchronized(this) { isOver = true }
        job.cancelAndJoin()
    }

    companion object {
        private val next = AtomicLong()
        val known = ConcurrentHashMap<Long, Caller>()
    }
}

/** Launches code of the app for the coroutine that began the turn; Stepwell calls it on a thread of its own. */
@OptIn(DelicateCoroutinesApi::class)
internal fun launchForCaller(code: suspend CoroutineScope.() -> Unit): Job =
    Caller.known[currentCaller()]?.launch(code) ?: GlobalScope.launch(block = code)
