package dev.stepwell

/** The built-in store: SQLite, in a file. */
public object SqliteStore {
    /**
     * Opens a file, or creates it. SQLite keeps `-wal` and `-shm` alongside it. Several processes may use the file at once.
     * Open it before the agent that keeps its turns there: `store(opened)` in the agent's builder,
     * or `agent.conversation(id, store = opened)`.
     *
     * @throws StepwellException.Store if it cannot be opened or written, or is no SQLite database
     */
    public suspend fun open(path: String): SessionStore = SessionStore.openSqlite(path)
}

/** The app's own database, with the sessions in it; see [Store] for its rules. */
public fun sessionStore(store: Store): SessionStore = sessionStore(store, AppCode())

internal fun sessionStore(store: Store, code: AppCode): SessionStore = SessionStore.ofApp(GuardedStore(store, code))

/** The app's store, whose errors are exceptions. */
private class GuardedStore(private val store: Store, private val code: AppCode) : Store {
    override suspend fun beginTurn(turn: NewTurn): Long = code.run { store.beginTurn(turn) }

    override suspend fun claim(turn: TurnKey, seen: Long, owner: String): Claimed =
        code.run { store.claim(turn, seen, owner) }

    override suspend fun persist(turn: TurnKey, generation: Long, batch: PersistBatch): Unit =
        code.run { store.persist(turn, generation, batch) }

    override suspend fun unfinished(owner: String?): List<Unfinished> = code.run { store.unfinished(owner) }

    override suspend fun turn(turn: TurnKey): TurnRecord? = code.run { store.turn(turn) }

    override suspend fun turns(thread: ThreadKey): List<TurnRecord> = code.run { store.turns(thread) }

    override suspend fun thread(thread: ThreadKey): ThreadRecord? = code.run { store.thread(thread) }

    override suspend fun threads(query: ThreadQuery): List<ThreadRecord> = code.run { store.threads(query) }

    override suspend fun renameThread(thread: ThreadKey, title: String): Unit =
        code.run { store.renameThread(thread, title) }

    override suspend fun deleteThread(thread: ThreadKey): Boolean = code.run { store.deleteThread(thread) }

    override suspend fun appendEvents(turn: TurnKey, generation: Long, first: Long, events: List<String>): Unit =
        code.run { store.appendEvents(turn, generation, first, events) }

    override suspend fun events(turn: TurnKey, after: Long?, limit: Int): List<LoggedEvent> =
        code.run { store.events(turn, after, limit) }

    override suspend fun eventLog(turn: TurnKey): EventLog = code.run { store.eventLog(turn) }

    override suspend fun acknowledge(turn: TurnKey, index: Long): Unit = code.run { store.acknowledge(turn, index) }
}
