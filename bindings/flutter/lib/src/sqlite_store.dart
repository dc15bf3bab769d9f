import 'dart:async';
import 'dart:convert';

import 'json.dart';
import 'shapes.dart';
import 'store.dart';
import 'threads.dart';

/// A SQLite database as a [SqliteStore] uses it: an adapter over the package that the app has. Over `sqflite`:
///
/// ```dart
/// final class Sqflite implements SqliteDatabase {
///   const Sqflite(this.database);
///
///   final DatabaseExecutor database;
///
///   @override
///   Future<List<JsonObject>> select(String sql, List<Object?> values) => database.rawQuery(sql, values);
///
///   @override
///   Future<void> execute(String sql, List<Object?> values) => database.execute(sql, values);
///
///   @override
///   Future<T> transaction<T>(Future<T> Function(SqliteDatabase within) code) =>
///       (database as Database).transaction((within) => code(Sqflite(within)));
/// }
/// ```
abstract interface class SqliteDatabase {
  /// Runs a statement, and returns its rows: the values by their columns.
  Future<List<JsonObject>> select(String sql, List<Object?> values);

  /// Runs a statement that returns no rows.
  Future<void> execute(String sql, List<Object?> values);

  /// Runs code in a transaction, which is committed when the code is done, and rolled back if it throws. The store runs
  /// one transaction at a time.
  Future<T> transaction<T>(Future<T> Function(SqliteDatabase within) code);
}

const _version = 1;
const _createVersion = 'CREATE TABLE IF NOT EXISTS stepwell_store (version INTEGER NOT NULL)';
const _createThreads = 'CREATE TABLE IF NOT EXISTS stepwell_threads (server TEXT NOT NULL, room TEXT NOT NULL, '
    'thread TEXT NOT NULL, title TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, '
    'PRIMARY KEY (server, room, thread))';
const _createTurns = 'CREATE TABLE IF NOT EXISTS stepwell_turns (number INTEGER PRIMARY KEY AUTOINCREMENT, '
    'server TEXT NOT NULL, room TEXT NOT NULL, thread TEXT NOT NULL, turn TEXT NOT NULL, owner TEXT NOT NULL, '
    'generation INTEGER NOT NULL, status TEXT NOT NULL, checkpoint TEXT, updated_at INTEGER NOT NULL, '
    'record TEXT NOT NULL, UNIQUE (server, room, thread, turn))';
const _createIndex = 'CREATE INDEX IF NOT EXISTS stepwell_status ON stepwell_turns (status)';
const _createBlocks = 'CREATE TABLE IF NOT EXISTS stepwell_blocks (turn INTEGER NOT NULL, sequence INTEGER NOT NULL, '
    'at INTEGER NOT NULL, block TEXT NOT NULL, PRIMARY KEY (turn, sequence))';

const _selectVersion = 'SELECT version FROM stepwell_store';
const _insertVersion = 'INSERT INTO stepwell_store (version) VALUES (?)';

const _selectThread = 'SELECT * FROM stepwell_threads WHERE server = ? AND room = ? AND thread = ?';
const _selectThreads = 'SELECT * FROM stepwell_threads ORDER BY updated_at DESC';
const _insertThread = 'INSERT OR IGNORE INTO stepwell_threads (server, room, thread, title, created_at, updated_at) '
    'VALUES (?, ?, ?, ?, ?, ?)';
const _updateThread = 'UPDATE stepwell_threads SET title = coalesce(title, ?), updated_at = max(updated_at, ?) '
    'WHERE server = ? AND room = ? AND thread = ?';
const _deleteThread = 'DELETE FROM stepwell_threads WHERE server = ? AND room = ? AND thread = ?';

const _selectTurn = 'SELECT * FROM stepwell_turns WHERE server = ? AND room = ? AND thread = ? AND turn = ?';
const _selectTurns = 'SELECT * FROM stepwell_turns WHERE server = ? AND room = ? AND thread = ? ORDER BY number';
const _selectLatest = 'SELECT turn FROM stepwell_turns WHERE server = ? AND room = ? AND thread = ? '
    'ORDER BY number DESC LIMIT 1';
const _selectOpen = 'SELECT * FROM stepwell_turns WHERE server = ? AND room = ? AND thread = ? '
    "AND status = 'streaming'";
const _selectUnfinished = "SELECT * FROM stepwell_turns WHERE status = 'streaming' ORDER BY number";
const _insertTurn = 'INSERT INTO stepwell_turns (server, room, thread, turn, owner, generation, status, checkpoint, '
    'updated_at, record) VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?)';
const _claimTurn = 'UPDATE stepwell_turns SET owner = ?, generation = ? WHERE number = ?';
const _updateTurn = 'UPDATE stepwell_turns SET status = ?, checkpoint = ?, updated_at = ?, record = ? WHERE number = ?';
const _deleteTurns = 'DELETE FROM stepwell_turns WHERE server = ? AND room = ? AND thread = ?';

const _selectBlocks = 'SELECT * FROM stepwell_blocks WHERE turn = ? ORDER BY sequence';
const _selectLater = 'SELECT * FROM stepwell_blocks WHERE turn = ? AND sequence >= ? ORDER BY sequence';
const _countBlocks = 'SELECT count(*) AS next FROM stepwell_blocks WHERE turn = ?';
const _insertBlock = 'INSERT INTO stepwell_blocks (turn, sequence, at, block) VALUES (?, ?, ?, ?)';
const _deleteBlocks = 'DELETE FROM stepwell_blocks WHERE turn IN '
    '(SELECT number FROM stepwell_turns WHERE server = ? AND room = ? AND thread = ?)';

/// A [Store] in a SQLite database of the app, in tables whose names begin with `stepwell_`:
///
/// ```dart
/// final store = await SqliteStore.open(Sqflite(await openDatabase('chats.db')));
/// final agent = Agent(model, store: store);
/// ```
final class SqliteStore implements Store {
  SqliteStore._(this._database);

  final SqliteDatabase _database;

  /// Completes when no transaction is under way.
  Future<void> _free = Future<void>.value();

  /// Opens the store, and creates its tables if the database has none. Throws a [StoreException] of the code `tooNew` if a
  /// later version of the package has made them.
  static Future<SqliteStore> open(SqliteDatabase database) async {
    final store = SqliteStore._(database);
    await store._transaction((sql) async {
      for (final create in const [_createVersion, _createThreads, _createTurns, _createIndex, _createBlocks]) {
        await sql.execute(create, const []);
      }
      final versions = await sql.select(_selectVersion, const []);
      if (versions.isEmpty) {
        await sql.execute(_insertVersion, const [_version]);
      } else if (versions.first.number('version') > _version) {
        throw const StoreException(StoreErrorCode.tooNew, 'a later version of the app has made the store');
      }
    });
    return store;
  }

  Future<T> _transaction<T>(Future<T> Function(SqliteDatabase sql) code) {
    final done = _free.then((_) => _database.transaction(code));
    _free = done.then<void>((_) {}, onError: (Object error) {});
    return done;
  }

  @override
  Future<int> beginTurn(NewTurn turn) => _transaction((sql) async {
        final NewTurn(:key, :parent, :message, :history, :checkpoint, :owner, :title, :at) = turn;
        final TurnKey(:thread, turn: id) = key;
        if (await _find(sql, key) != null) {
          throw StoreException(StoreErrorCode.exists, 'the thread has a turn `$id` already');
        }
        if (await _unfinishedOf(sql, thread) case final open?) {
          throw StoreException(StoreErrorCode.busy, 'the thread has an unfinished turn, `${open.key.turn}`');
        }
        if (parent != null) await _turn(sql, TurnKey(thread, parent));
        final now = at.millisecondsSinceEpoch;
        await sql.execute(_insertThread, [..._placeOf(thread), title, now, now]);
        await sql.execute(_updateThread, [title, now, ..._placeOf(thread)]);
        final record = TurnRecord(id, TurnStatus.streaming, at, at, const [],
            parent: parent, message: message, history: history);
        final status = TurnStatus.streaming.name;
        await sql.execute(
          _insertTurn,
          [..._placeOf(thread), id, owner, status, checkpoint, now, jsonEncode(record.toJson())],
        );
        return 1;
      });

  @override
  Future<Claimed> claim(TurnKey turn, int seen, String owner) => _transaction((sql) async {
        final row = await _turn(sql, turn);
        if (row.text('status') != TurnStatus.streaming.name) throw _closed(turn);
        if (row.number('generation') != seen) throw _stale(turn);
        await sql.execute(_claimTurn, [owner, seen + 1, row.number('number')]);
        return Claimed(seen + 1, checkpoint: row.maybeText('checkpoint'));
      });

  @override
  Future<void> persist(TurnKey turn, int generation, PersistBatch batch) => _transaction((sql) async {
        final row = await _turn(sql, turn);
        final number = row.number('number');
        if (row.number('generation') != generation) throw _stale(turn);
        final counted = await sql.select(_countBlocks, [number]);
        final next = counted.first.number('next');
        if (batch.first > next) {
          throw StoreException(StoreErrorCode.gap, 'block ${batch.first} is beyond what is stored: the next is $next');
        }
        final blocks = {for (final block in batch.blocks) block.sequence: jsonEncode(block.toJson())};
        for (final stored in await sql.select(_selectLater, [number, batch.first])) {
          final sequence = stored.number('sequence');
          if (blocks.remove(sequence) case final block? when block != stored.text('block')) {
            throw StoreException(StoreErrorCode.conflict, 'block $sequence is stored with another content');
          }
        }
        final record = _json(row.text('record'));
        final isOpen = batch.status == TurnStatus.streaming;
        if (row.text('status') != TurnStatus.streaming.name) {
          final isSame = row.text('status') == batch.status.name;
          if (blocks.isEmpty && isSame && jsonEncode(record['outcome']) == jsonEncode(batch.outcome)) return;
          throw _closed(turn);
        }
        if (isOpen && batch.first + batch.blocks.length < next) return;
        final now = batch.at.millisecondsSinceEpoch;
        for (final MapEntry(:key, :value) in blocks.entries) {
          await sql.execute(_insertBlock, [number, key, now, value]);
        }
        final written = given({...record, 'status': batch.status.name, 'outcome': batch.outcome, 'updatedAtMs': now});
        final checkpoint = isOpen ? batch.checkpoint : null;
        await sql.execute(_updateTurn, [batch.status.name, checkpoint, now, jsonEncode(written), number]);
        await sql.execute(_updateThread, [null, now, ..._placeOf(turn.thread)]);
      });

  @override
  Future<List<Unfinished>> unfinished() => _transaction((sql) async {
        final open = await sql.select(_selectUnfinished, const []);
        return [for (final row in open) _unfinished(row)];
      });

  @override
  Future<TurnRecord?> turn(TurnKey turn) => _transaction((sql) async {
        final row = await _find(sql, turn);
        return row == null ? null : await _record(sql, row);
      });

  @override
  Future<List<TurnRecord>> turns(ThreadKey thread) => _transaction((sql) async {
        final rows = await sql.select(_selectTurns, _placeOf(thread));
        return [for (final row in rows) await _record(sql, row)];
      });

  @override
  Future<ThreadRecord?> thread(ThreadKey thread) => _transaction((sql) async {
        final rows = await sql.select(_selectThread, _placeOf(thread));
        return rows.isEmpty ? null : await _thread(sql, rows.first);
      });

  /// Returns all threads, the last used first: for the app's own list.
  Future<List<ThreadRecord>> threads() => _transaction((sql) async {
        final rows = await sql.select(_selectThreads, const []);
        return [for (final row in rows) await _thread(sql, row)];
      });

  @override
  Future<bool> deleteThread(ThreadKey thread) => _transaction((sql) async {
        final place = _placeOf(thread);
        final known = await sql.select(_selectThread, place);
        for (final delete in const [_deleteBlocks, _deleteTurns, _deleteThread]) {
          await sql.execute(delete, place);
        }
        return known.isNotEmpty;
      });

  static List<Object?> _placeOf(ThreadKey thread) => [thread.server, thread.room, thread.thread];

  static JsonObject _json(String text) => jsonDecode(text) as JsonObject;

  static ThreadKey _key(JsonObject row) =>
      ThreadKey(row.text('thread'), room: row.text('room'), server: row.text('server'));

  static DateTime _time(JsonObject row, String column) =>
      DateTime.fromMillisecondsSinceEpoch(row.number(column), isUtc: true);

  static Future<JsonObject?> _find(SqliteDatabase sql, TurnKey key) async {
    final rows = await sql.select(_selectTurn, [..._placeOf(key.thread), key.turn]);
    return rows.isEmpty ? null : rows.first;
  }

  static Future<JsonObject> _turn(SqliteDatabase sql, TurnKey key) async =>
      await _find(sql, key) ??
      (throw StoreException(StoreErrorCode.noTurn, 'the store has no turn `${key.turn}` in this thread'));

  static StoreException _closed(TurnKey key) =>
      StoreException(StoreErrorCode.closed, 'the turn `${key.turn}` has ended');

  static StoreException _stale(TurnKey key) =>
      StoreException(StoreErrorCode.stale, 'the turn `${key.turn}` has another owner by now');

  static Unfinished _unfinished(JsonObject row) => Unfinished(
        TurnKey(_key(row), row.text('turn')),
        row.number('generation'),
        row.text('owner'),
        _time(row, 'updated_at'),
      );

  static Future<Unfinished?> _unfinishedOf(SqliteDatabase sql, ThreadKey thread) async {
    final open = await sql.select(_selectOpen, _placeOf(thread));
    return open.isEmpty ? null : _unfinished(open.first);
  }

  static Future<TurnRecord> _record(SqliteDatabase sql, JsonObject row) async {
    final blocks = await sql.select(_selectBlocks, [row.number('number')]);
    return TurnRecord.fromJson({
      ..._json(row.text('record')),
      'blocks': [
        for (final block in blocks) {'block': _json(block.text('block')), 'atMs': block.number('at')},
      ],
    });
  }

  static Future<ThreadRecord> _thread(SqliteDatabase sql, JsonObject row) async {
    final key = _key(row);
    final latest = await sql.select(_selectLatest, _placeOf(key));
    return ThreadRecord(
      key,
      _time(row, 'created_at'),
      _time(row, 'updated_at'),
      title: row.maybeText('title'),
      latest: latest.isEmpty ? null : latest.first.text('turn'),
      unfinished: await _unfinishedOf(sql, key),
    );
  }
}
