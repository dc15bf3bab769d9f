import 'package:flutter_test/flutter_test.dart';
import 'package:sqlite3/sqlite3.dart';
import 'package:stepwell/stepwell.dart';

import 'agent_test.dart' show MockModel, local, says;

/// The adapter over `sqlite3`.
final class Sqlite3 implements SqliteDatabase {
  const Sqlite3(this.database);

  final Database database;

  @override
  Future<List<JsonObject>> select(String sql, List<Object?> values) async => [
        for (final row in database.select(sql, values)) {...row},
      ];

  @override
  Future<void> execute(String sql, List<Object?> values) async => database.execute(sql, values);

  @override
  Future<T> transaction<T>(Future<T> Function(SqliteDatabase within) code) async {
    database.execute('BEGIN IMMEDIATE');
    try {
      final result = await code(this);
      database.execute('COMMIT');
      return result;
    } catch (_) {
      database.execute('ROLLBACK');
      rethrow;
    }
  }
}

Matcher failsAs(StoreErrorCode code) => throwsA(isA<StoreException>().having((error) => error.code, 'code', code));

const key = TurnKey(ThreadKey('t'), 'one');
final at = DateTime.fromMillisecondsSinceEpoch(5, isUtc: true);

PersistBatch batch(int first, List<String> texts, TurnStatus status) => PersistBatch(
      first,
      [
        for (final (index, text) in texts.indexed) Block(first + index, 0, {'type': 'text', 'text': text}),
      ],
      status,
      'checkpoint $first',
      0,
      const [],
      at,
      outcome: status == TurnStatus.streaming ? null : const {'outcome': 'success'},
    );

void main() {
  test('a conversation is continued from a database that is opened again', () async {
    final database = sqlite3.openInMemory();
    final model = MockModel([Stream.value(says('One.')), Stream.value(says('Two.'))]);
    final store = await SqliteStore.open(Sqlite3(database));
    await Agent(local, client: model.client, store: store).conversation(id: 'diary').send('Hello');
    final again = await SqliteStore.open(Sqlite3(database));
    final later = Agent(local, client: model.client, store: again).conversation(id: 'diary');
    expect((await later.load()).last['content'], 'One.');
    await later.send('And then?');
    expect(later.messages, hasLength(4));
    expect([for (final thread in await again.threads()) thread.title], ['Hello']);
    expect(await later.delete(), isTrue);
    expect(await again.threads(), isEmpty);
  });

  test('a turn has one owner, and its blocks are stored once', () async {
    final store = await SqliteStore.open(Sqlite3(sqlite3.openInMemory()));
    await store.beginTurn(NewTurn(key, 'me', at, checkpoint: 'new'));
    await expectLater(store.beginTurn(NewTurn(key, 'me', at)), failsAs(StoreErrorCode.exists));
    final other = NewTurn(TurnKey(key.thread, 'two'), 'me', at, parent: 'one');
    await expectLater(store.beginTurn(other), failsAs(StoreErrorCode.busy));
    await store.persist(key, 1, batch(0, ['a', 'b'], TurnStatus.streaming));
    await store.persist(key, 1, batch(1, ['b', 'c'], TurnStatus.streaming));
    await expectLater(store.persist(key, 1, batch(2, ['d'], TurnStatus.streaming)), failsAs(StoreErrorCode.conflict));
    await expectLater(store.persist(key, 1, batch(4, ['e'], TurnStatus.streaming)), failsAs(StoreErrorCode.gap));
    final claimed = await store.claim(key, 1, 'you');
    expect([claimed.generation, claimed.checkpoint], [2, 'checkpoint 1']);
    await expectLater(store.claim(key, 1, 'me'), failsAs(StoreErrorCode.stale));
    await expectLater(store.persist(key, 1, batch(3, ['d'], TurnStatus.streaming)), failsAs(StoreErrorCode.stale));
    expect([for (final each in await store.unfinished()) each.owner], ['you']);
    for (var times = 0; times < 2; times++) {
      await store.persist(key, 2, batch(3, ['d'], TurnStatus.complete));
    }
    await expectLater(store.persist(key, 2, batch(4, ['e'], TurnStatus.complete)), failsAs(StoreErrorCode.closed));
    await expectLater(store.claim(key, 2, 'me'), failsAs(StoreErrorCode.closed));
    final record = (await store.turn(key))!;
    expect([for (final each in record.blocks) each.block.content['text']], ['a', 'b', 'c', 'd']);
    expect([record.status, record.outcome], [TurnStatus.complete, {'outcome': 'success'}]);
    expect(await store.unfinished(), isEmpty);
    await store.beginTurn(other);
    final thread = (await store.thread(key.thread))!;
    expect([thread.latest, thread.unfinished?.key.turn], ['two', 'two']);
    await expectLater(store.claim(const TurnKey(ThreadKey('none'), 'one'), 1, 'me'), failsAs(StoreErrorCode.noTurn));
  });
}
