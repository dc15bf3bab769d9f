"""A store in the app's own database, here SQLite by Python's own module: `Agent(…, store=OwnStore("app.db"))`."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone

from stepwell.stores import Block, Busy, Claimed, Closed, Conflict, Exists, Gap, NewTurn, NoThread, NoTurn, PersistBatch
from stepwell.stores import Stale, Store, ThreadKey, ThreadQuery, ThreadRecord, TurnBlock, TurnKey, TurnRecord, TurnStatus
from stepwell.stores import Unfinished

SCHEMA = """
    CREATE TABLE IF NOT EXISTS threads (
        id INTEGER PRIMARY KEY, server TEXT, room TEXT, thread TEXT, title TEXT, created_at REAL,
        updated_at REAL, UNIQUE (server, room, thread));
    CREATE TABLE IF NOT EXISTS turns (
        id INTEGER PRIMARY KEY, of INTEGER REFERENCES threads ON DELETE CASCADE, turn TEXT, parent TEXT, message TEXT,
        status TEXT DEFAULT 'streaming', outcome TEXT, created_at REAL, updated_at REAL, owner TEXT,
        generation INTEGER DEFAULT 1, history TEXT, checkpoint TEXT, UNIQUE (of, turn));
    CREATE TABLE IF NOT EXISTS blocks (
        of INTEGER REFERENCES turns ON DELETE CASCADE, sequence INTEGER, hop INTEGER, content TEXT, at REAL,
        PRIMARY KEY (of, sequence));
"""
TURNS = "SELECT turns.*, server, room, thread FROM turns JOIN threads ON threads.id = turns.of"


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)


class OwnStore(Store):
    """Its methods are plain, so they run one after the other on a thread of the store's own."""

    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._db.row_factory = sqlite3.Row
        self._db.executescript("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON;" + SCHEMA)

    def close(self) -> None:
        """When no agent needs it any more."""
        self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def _thread(self, key: ThreadKey) -> sqlite3.Row | None:
        where = "server = ? AND room = ? AND thread = ?"
        row: sqlite3.Row | None = self._db.execute(
            f"SELECT * FROM threads WHERE {where}", (key.server, key.room, key.thread)
        ).fetchone()
        return row

    def _turn(self, key: TurnKey) -> sqlite3.Row:
        where = "server = ? AND room = ? AND thread = ? AND turn = ?"
        names = (key.thread.server, key.thread.room, key.thread.thread, key.turn)
        row: sqlite3.Row | None = self._db.execute(f"{TURNS} WHERE {where}", names).fetchone()
        if row is None:
            raise NoTurn(key.turn)
        return row

    def begin_turn(self, turn: NewTurn) -> int:
        key, at = turn.key, turn.at.timestamp()
        with self._transaction():
            if (thread := self._thread(key.thread)) is not None:
                for row in self._db.execute("SELECT * FROM turns WHERE of = ?", (thread["id"],)):
                    if row["turn"] == key.turn:
                        raise Exists(key.turn)
                    if row["status"] == "streaming":
                        raise Busy(row["turn"], generation=row["generation"], owner=row["owner"])
            if turn.parent is not None:
                self._turn(TurnKey(key.thread, turn.parent))
            self._db.execute(
                "INSERT INTO threads (server, room, thread, title, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT DO UPDATE SET title = coalesce(title, excluded.title),"
                " updated_at = max(updated_at, excluded.updated_at)",
                (key.thread.server, key.thread.room, key.thread.thread, turn.title, at, at),
            )
            thread = self._thread(key.thread)
            assert thread is not None
            message = None if turn.message is None else json.dumps(turn.message)
            history = None if turn.history is None else json.dumps(turn.history)
            self._db.execute(
                "INSERT INTO turns (of, turn, parent, message, created_at, updated_at, owner, history, checkpoint)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (thread["id"], key.turn, turn.parent, message, at, at, turn.owner, history, turn.checkpoint),
            )
        return 1

    def claim(self, turn: TurnKey, seen: int, owner: str) -> Claimed:
        with self._transaction():
            row = self._turn(turn)
            if row["status"] != "streaming":
                raise Closed(turn.turn)
            if row["generation"] != seen:
                raise Stale(turn.turn, given=seen, current=row["generation"])
            self._db.execute("UPDATE turns SET generation = ?, owner = ? WHERE id = ?", (seen + 1, owner, row["id"]))
        return Claimed(seen + 1, row["checkpoint"])

    def persist(self, turn: TurnKey, generation: int, batch: PersistBatch) -> None:
        at = batch.at.timestamp()
        with self._transaction():
            row = self._turn(turn)
            if row["generation"] != generation:
                raise Stale(turn.turn, given=generation, current=row["generation"])
            stored = [block.block for block in self._blocks(row["id"])]
            if batch.first > len(stored):
                raise Gap(turn.turn, given=batch.first, next=len(stored))
            for block in batch.blocks:
                if block.sequence < len(stored) and block != stored[block.sequence]:
                    raise Conflict(turn.turn, number=block.sequence)
            new = [block for block in batch.blocks if block.sequence >= len(stored)]
            outcome = None if batch.outcome is None else json.dumps(batch.outcome)
            if row["status"] != "streaming":
                if new or (row["status"], row["outcome"]) != (batch.status.value, outcome):
                    raise Closed(turn.turn)
                return
            if batch.status is TurnStatus.STREAMING and batch.first + len(batch.blocks) < len(stored):
                return
            self._db.executemany(
                "INSERT INTO blocks VALUES (?, ?, ?, ?, ?)",
                [(row["id"], block.sequence, block.hop, json.dumps(block.content), at) for block in new],
            )
            checkpoint = batch.checkpoint if batch.status is TurnStatus.STREAMING else None
            self._db.execute(
                "UPDATE turns SET status = ?, outcome = ?, checkpoint = ?, updated_at = max(updated_at, ?) WHERE id = ?",
                (batch.status.value, outcome, checkpoint, at, row["id"]),
            )
            self._db.execute(
                "UPDATE threads SET updated_at = max(updated_at, ?) WHERE id = ?", (at, row["of"])
            )

    def unfinished(self, owner: str | None) -> list[Unfinished]:
        rows = self._db.execute(
            f"{TURNS} WHERE status = 'streaming' AND owner = coalesce(?, owner)"
            " ORDER BY turns.created_at, server, room, thread",
            (owner,),
        )
        return [self._as_unfinished(row) for row in rows]

    def turn(self, turn: TurnKey) -> TurnRecord | None:
        try:
            return self._as_record(self._turn(turn))
        except NoTurn:
            return None

    def turns(self, thread: ThreadKey) -> list[TurnRecord]:
        found = self._thread(thread)
        if found is None:
            return []
        rows = self._db.execute(f"{TURNS} WHERE of = ? ORDER BY turns.id", (found["id"],))
        return [self._as_record(row) for row in rows]

    def thread(self, thread: ThreadKey) -> ThreadRecord | None:
        row = self._thread(thread)
        return None if row is None else self._as_thread(row)

    def threads(self, query: ThreadQuery) -> list[ThreadRecord]:
        after = query.after
        rows = self._db.execute(
            "SELECT * FROM threads WHERE server = coalesce(:server, server) AND room = coalesce(:room, room)"
            " AND (:at IS NULL OR (-updated_at, server, room, thread) > (-:at, :after_server, :after_room, :after_thread))"
            " ORDER BY -updated_at, server, room, thread LIMIT :limit",
            {
                "server": query.server,
                "room": query.room,
                "at": after and after.updated_at.timestamp(),
                "after_server": after and after.key.server,
                "after_room": after and after.key.room,
                "after_thread": after and after.key.thread,
                "limit": query.limit,
            },
        )
        return [self._as_thread(row) for row in rows]

    def rename_thread(self, thread: ThreadKey, title: str) -> None:
        names = (title, thread.server, thread.room, thread.thread)
        changed = self._db.execute("UPDATE threads SET title = ? WHERE server = ? AND room = ? AND thread = ?", names)
        if changed.rowcount == 0:
            raise NoThread(thread)

    def delete_thread(self, thread: ThreadKey) -> bool:
        names = (thread.server, thread.room, thread.thread)
        deleted = self._db.execute("DELETE FROM threads WHERE server = ? AND room = ? AND thread = ?", names)
        return deleted.rowcount > 0

    def _blocks(self, turn: int) -> list[TurnBlock]:
        rows = self._db.execute("SELECT * FROM blocks WHERE of = ? ORDER BY sequence", (turn,))
        return [
            TurnBlock(Block(row["sequence"], row["hop"], json.loads(row["content"])), _time(row["at"])) for row in rows
        ]

    def _as_record(self, row: sqlite3.Row) -> TurnRecord:
        return TurnRecord(
            id=row["turn"],
            parent=row["parent"],
            message=row["message"] and json.loads(row["message"]),
            history=row["history"] and json.loads(row["history"]),
            status=TurnStatus(row["status"]),
            outcome=row["outcome"] and json.loads(row["outcome"]),
            created_at=_time(row["created_at"]),
            updated_at=_time(row["updated_at"]),
            blocks=self._blocks(row["id"]),
        )

    def _as_unfinished(self, row: sqlite3.Row) -> Unfinished:
        key = TurnKey(ThreadKey(row["thread"], row["room"], row["server"]), row["turn"])
        return Unfinished(key, row["generation"], row["owner"], _time(row["updated_at"]))

    def _as_thread(self, row: sqlite3.Row) -> ThreadRecord:
        turns = self._db.execute(f"{TURNS} WHERE of = ? ORDER BY turns.id DESC", (row["id"],)).fetchall()
        unfinished = next((turn for turn in turns if turn["status"] == "streaming"), None)
        return ThreadRecord(
            key=ThreadKey(row["thread"], row["room"], row["server"]),
            title=row["title"],
            created_at=_time(row["created_at"]),
            updated_at=_time(row["updated_at"]),
            latest=turns[0]["turn"] if turns else None,
            unfinished=None if unfinished is None else self._as_unfinished(unfinished),
        )
