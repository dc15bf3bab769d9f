// A store in the app's own database, here tables in memory: `Agent(…) { store(OwnStore()) }`.
package ownstore

import dev.stepwell.Claimed
import dev.stepwell.EventLog
import dev.stepwell.LoggedEvent
import dev.stepwell.NewTurn
import dev.stepwell.PersistBatch
import dev.stepwell.Store
import dev.stepwell.StoreException
import dev.stepwell.ThreadKey
import dev.stepwell.ThreadQuery
import dev.stepwell.ThreadRecord
import dev.stepwell.TurnBlock
import dev.stepwell.TurnKey
import dev.stepwell.TurnRecord
import dev.stepwell.TurnStatus
import dev.stepwell.Unfinished
import java.time.Instant
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock

/** Each method is one transaction: all of it happens under one lock. */
class OwnStore : Store {
    private class Row(var turn: TurnRecord, var owner: String, var generation: Long, var checkpoint: String?)

    private class Thread(var title: String?, val createdAt: Instant, var updatedAt: Instant) {
        val turns = LinkedHashMap<String, Row>()
    }

    private val lock = Mutex()
    private val threads = HashMap<ThreadKey, Thread>()

    private fun row(key: TurnKey): Row =
        threads[key.thread]?.turns?.get(key.turn) ?: throw StoreException.NoTurn(key.turn)

    private fun owned(key: TurnKey, generation: Long): Row {
        val row = row(key)
        if (row.generation != generation) throw StoreException.Stale(key.turn, generation, row.generation)
        return row
    }

    private fun open(key: ThreadKey, thread: Thread): Unfinished? {
        val row = thread.turns.values.find { it.turn.status == TurnStatus.STREAMING } ?: return null
        return Unfinished(TurnKey(key, row.turn.id), row.generation, row.owner, row.turn.updatedAt)
    }

    private fun record(key: ThreadKey, thread: Thread) =
        ThreadRecord(key, thread.title, thread.createdAt, thread.updatedAt, thread.turns.keys.lastOrNull(), open(key, thread))

    override suspend fun beginTurn(turn: NewTurn): Long = lock.withLock {
        val key = turn.key
        threads[key.thread]?.let { thread ->
            if (key.turn in thread.turns) throw StoreException.Exists(key.turn)
            open(key.thread, thread)?.let { throw StoreException.Busy(it.key.turn, it.generation, it.owner) }
        }
        turn.parent?.let { row(TurnKey(key.thread, it)) }
        val thread = threads.getOrPut(key.thread) { Thread(null, turn.at, turn.at) }
        thread.title = thread.title ?: turn.title
        thread.updatedAt = maxOf(thread.updatedAt, turn.at)
        val record = TurnRecord(
            key.turn, turn.parent, turn.message, turn.history, TurnStatus.STREAMING, null, turn.at, turn.at, emptyList(),
        )
        thread.turns[key.turn] = Row(record, turn.owner, 1, turn.checkpoint)
        1
    }

    override suspend fun claim(turn: TurnKey, seen: Long, owner: String): Claimed = lock.withLock {
        val row = row(turn)
        if (row.turn.status != TurnStatus.STREAMING) throw StoreException.Closed(turn.turn)
        owned(turn, seen)
        row.generation = seen + 1
        row.owner = owner
        Claimed(row.generation, row.checkpoint)
    }

    override suspend fun persist(turn: TurnKey, generation: Long, batch: PersistBatch): Unit = lock.withLock {
        val row = owned(turn, generation)
        val stored = row.turn.blocks
        val next = stored.size.toLong()
        if (batch.first > next) throw StoreException.Gap(turn.turn, batch.first, next)
        val (old, new) = batch.blocks.partition { it.sequence < next }
        old.find { it != stored[it.sequence.toInt()].block }?.let { throw StoreException.Conflict(turn.turn, it.sequence) }
        if (row.turn.status != TurnStatus.STREAMING) {
            val isTheEnd = row.turn.status == batch.status && row.turn.outcome == batch.outcome
            if (!isTheEnd || new.isNotEmpty()) throw StoreException.Closed(turn.turn)
            return@withLock
        }
        val isLate = batch.status == TurnStatus.STREAMING && batch.first + batch.blocks.size < next
        if (isLate) return@withLock
        row.turn = row.turn.copy(
            status = batch.status,
            outcome = batch.outcome,
            updatedAt = maxOf(row.turn.updatedAt, batch.at),
            blocks = stored + new.map { TurnBlock(it, batch.at) },
        )
        row.checkpoint = batch.checkpoint.takeIf { batch.status == TurnStatus.STREAMING }
        threads.getValue(turn.thread).let { it.updatedAt = maxOf(it.updatedAt, batch.at) }
    }

    override suspend fun unfinished(owner: String?): List<Unfinished> = lock.withLock {
        threads.mapNotNull { (key, thread) -> open(key, thread) }
            .filter { owner == null || it.owner == owner }
            .sortedWith(compareBy({ row(it.key).turn.createdAt }, { it.key.thread.thread }))
    }

    override suspend fun turn(turn: TurnKey): TurnRecord? =
        lock.withLock { threads[turn.thread]?.turns?.get(turn.turn)?.turn }

    override suspend fun turns(thread: ThreadKey): List<TurnRecord> =
        lock.withLock { threads[thread]?.turns?.values?.map { it.turn }.orEmpty() }

    override suspend fun thread(thread: ThreadKey): ThreadRecord? =
        lock.withLock { threads[thread]?.let { record(thread, it) } }

    override suspend fun threads(query: ThreadQuery): List<ThreadRecord> = lock.withLock {
        val order = compareByDescending<Pair<Instant, ThreadKey>> { it.first }
            .thenBy { it.second.server }.thenBy { it.second.room }.thenBy { it.second.thread }
        val after = query.after?.let { it.updatedAt to it.key }
        threads.map { (key, thread) -> record(key, thread) }
            .filter { query.server == null || it.key.server == query.server }
            .filter { query.room == null || it.key.room == query.room }
            .sortedWith { one, other -> order.compare(one.updatedAt to one.key, other.updatedAt to other.key) }
            .filter { after == null || order.compare(it.updatedAt to it.key, after) > 0 }
            .take(query.limit)
    }

    override suspend fun renameThread(thread: ThreadKey, title: String): Unit = lock.withLock {
        val found = threads[thread] ?: throw StoreException.NoThread(thread)
        found.title = title
    }

    override suspend fun deleteThread(thread: ThreadKey): Boolean = lock.withLock { threads.remove(thread) != null }

    // An agent keeps no log of what was shown: that is for hosts that serve turns to others.
    override suspend fun appendEvents(turn: TurnKey, generation: Long, first: Long, events: List<String>): Unit =
        throw StoreException.Refused("this store keeps no log of events")

    override suspend fun events(turn: TurnKey, after: Long?, limit: Int): List<LoggedEvent> = emptyList()

    override suspend fun eventLog(turn: TurnKey): EventLog = EventLog(0, null)

    override suspend fun acknowledge(turn: TurnKey, index: Long): Unit =
        throw StoreException.Refused("this store keeps no log of events")
}
