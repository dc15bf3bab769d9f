package dev.stepwell

import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow

/** The store that is built in: SQLite, in a file. */
public object SqliteStore {
    /**
     * Opens a file, or makes it. Beside it lie `-wal`, `-shm` and `-lock`. It is for one process at a time: a second one is
     * refused.
     *
     * @throws StepwellException.Store if it cannot be opened or written, or is no SQLite database
     */
    public suspend fun open(path: String): SessionStore = SessionStore.openSqlite(path)
}

/** A database of the app's own, with the sessions in it; see [Store] for its rules. */
public fun sessionStore(store: Store): SessionStore = SessionStore.ofApp(GuardedStore(store))

/** What happens in a turn that is under way: the events of `Agent.recover`'s turns, say. Closes the turn at the end. */
public fun Turn.events(): Flow<Event> = flow {
    use { turn ->
        while (true) {
            val events = turn.nextBatch()
            if (events.isEmpty()) break
            for (event in events) emit(event)
        }
    }
}

/** The app's store, whose errors are exceptions. */
private class GuardedStore(private val store: Store) : Store {
    override suspend fun beginTurn(turn: NewTurn): ULong = guarded { store.beginTurn(turn) }

    override suspend fun claim(turn: TurnKey, seen: ULong, owner: String): Claimed =
        guarded { store.claim(turn, seen, owner) }

    override suspend fun persist(turn: TurnKey, generation: ULong, batch: PersistBatch): Unit =
        guarded { store.persist(turn, generation, batch) }

    override suspend fun unfinished(owner: String?): List<Unfinished> = guarded { store.unfinished(owner) }

    override suspend fun turn(turn: TurnKey): TurnRecord? = guarded { store.turn(turn) }

    override suspend fun turns(thread: ThreadKey): List<TurnRecord> = guarded { store.turns(thread) }

    override suspend fun thread(thread: ThreadKey): ThreadRecord? = guarded { store.thread(thread) }

    override suspend fun threads(query: ThreadQuery): List<ThreadRecord> = guarded { store.threads(query) }

    override suspend fun renameThread(thread: ThreadKey, title: String): Unit =
        guarded { store.renameThread(thread, title) }

    override suspend fun deleteThread(thread: ThreadKey): Boolean = guarded { store.deleteThread(thread) }

    override suspend fun appendEvents(turn: TurnKey, generation: ULong, first: ULong, events: List<String>): Unit =
        guarded { store.appendEvents(turn, generation, first, events) }

    override suspend fun events(turn: TurnKey, after: ULong?, limit: UInt): List<LoggedEvent> =
        guarded { store.events(turn, after, limit) }

    override suspend fun eventLog(turn: TurnKey): EventLog = guarded { store.eventLog(turn) }

    override suspend fun acknowledge(turn: TurnKey, index: ULong): Unit = guarded { store.acknowledge(turn, index) }
}
