import 'dart:async';
import 'dart:convert';

import 'package:flutter_test/flutter_test.dart';
import 'package:http/http.dart' as http;
import 'package:http/testing.dart';
import 'package:stepwell/stepwell.dart';

/// An agent that tries again at once.
Agent agent(http.Client client, Store store) => Agent(
      const Model.openaiCompatible('m', baseUrl: 'http://localhost/v1'),
      retry: const RetryPolicy(firstDelay: Duration.zero, maxDelay: Duration.zero),
      store: store,
      client: client,
    );

String says(String text) => 'data: ${jsonEncode({
          'choices': [
            {
              'delta': {'content': text},
              'finish_reason': 'stop',
            },
          ],
        })}\n\ndata: [DONE]\n\n';

/// Says these, one after the other, and never answers more.
http.Client model(List<String> answers, [List<String>? asked]) => MockClient.streaming((request, body) async {
      asked?.add(await body.bytesToString());
      final answer = answers.isEmpty
          ? Stream.fromFuture(Completer<List<int>>().future)
          : Stream.value(utf8.encode(says(answers.removeAt(0))));
      return http.StreamedResponse(answer, 200, headers: {'content-type': 'text/event-stream'});
    });

/// A turn as the store of these tests has it.
final class Kept {
  Kept(this.key, this.record, this.owner, this.checkpoint);

  final TurnKey key;
  TurnRecord record;
  String owner;
  String? checkpoint;
  int generation = 1;

  bool get isOpen => record.status == TurnStatus.streaming;
  Unfinished get unfinished => Unfinished(key, generation, owner, record.updatedAt);
}

final class MemoryStore implements Store {
  final kept = <Kept>[];

  /// Are called before a turn begins, and before each write.
  void Function() onBegin = () {};
  void Function() onWrite = () {};

  Kept? _find(TurnKey key) =>
      kept.where((turn) => turn.key.thread == key.thread && turn.key.turn == key.turn).firstOrNull;

  Kept _turn(TurnKey key) => _find(key) ?? (throw StoreException(StoreErrorCode.noTurn, key.turn));

  Iterable<Kept> _of(ThreadKey thread) => kept.where((turn) => turn.key.thread == thread);

  @override
  Future<int> beginTurn(NewTurn turn) async {
    onBegin();
    if (_find(turn.key) != null) throw StoreException(StoreErrorCode.exists, turn.key.turn);
    if (_of(turn.key.thread).any((turn) => turn.isOpen)) throw StoreException(StoreErrorCode.busy, turn.key.turn);
    final record = TurnRecord(turn.key.turn, TurnStatus.streaming, turn.at, turn.at, const [],
        parent: turn.parent, message: turn.message, history: turn.history);
    kept.add(Kept(turn.key, record, turn.owner, turn.checkpoint));
    return 1;
  }

  @override
  Future<Claimed> claim(TurnKey key, int seen, String owner) async {
    final turn = _turn(key);
    if (!turn.isOpen) throw StoreException(StoreErrorCode.closed, key.turn);
    if (turn.generation != seen) throw StoreException(StoreErrorCode.stale, key.turn);
    turn
      ..generation += 1
      ..owner = owner;
    return Claimed(turn.generation, checkpoint: turn.checkpoint);
  }

  @override
  Future<void> persist(TurnKey key, int generation, PersistBatch batch) async {
    onWrite();
    final turn = _turn(key);
    final TurnRecord(:blocks, :parent, :message, :history, :createdAt) = turn.record;
    if (turn.generation != generation) throw StoreException(StoreErrorCode.stale, key.turn);
    if (batch.first > blocks.length) throw StoreException(StoreErrorCode.gap, key.turn);
    if (!turn.isOpen) throw StoreException(StoreErrorCode.closed, key.turn);
    final added = batch.blocks.where((block) => block.sequence >= blocks.length);
    turn
      ..record = TurnRecord(
        key.turn,
        batch.status,
        createdAt,
        batch.at,
        [...blocks, for (final block in added) TurnBlock(block, batch.at)],
        parent: parent,
        message: message,
        history: history,
        outcome: batch.outcome,
      )
      ..checkpoint = batch.status == TurnStatus.streaming ? batch.checkpoint : null;
  }

  @override
  Future<List<Unfinished>> unfinished() async => [
        for (final turn in kept)
          if (turn.isOpen) turn.unfinished,
      ];

  @override
  Future<TurnRecord?> turn(TurnKey turn) async => _find(turn)?.record;

  @override
  Future<List<TurnRecord>> turns(ThreadKey thread) async => [for (final turn in _of(thread)) turn.record];

  @override
  Future<ThreadRecord?> thread(ThreadKey thread) async {
    final turns = _of(thread).toList();
    if (turns.isEmpty) return null;
    final open = turns.where((turn) => turn.isOpen).firstOrNull;
    return ThreadRecord(thread, turns.first.record.createdAt, turns.last.record.updatedAt,
        latest: turns.last.key.turn, unfinished: open?.unfinished);
  }

  @override
  Future<bool> deleteThread(ThreadKey thread) async {
    final wasThere = _of(thread).isNotEmpty;
    kept.removeWhere((turn) => turn.key.thread == thread);
    return wasThere;
  }
}

void main() {
  test('a later agent goes on from what is stored, and says it otherwise', () async {
    final store = MemoryStore();
    await agent(model(['One.']), store).conversation(id: 'diary').send('Hello');
    final first = store.kept.single;
    expect(first.record.status, TurnStatus.complete);
    final asked = <String>[];
    final later = agent(model(['Two.', 'Three.'], asked), store).conversation(id: 'diary');
    expect(later.messages, isEmpty);
    expect(await later.load(), hasLength(2));
    await later.send('And?');
    expect(asked.single, contains('One.'));
    expect(store.kept.last.record.parent, first.key.turn);
    final resent = later.resend(first.key.turn, 'Good morning');
    expect((await resent.result).text, 'Three.');
    expect(asked.last, isNot(contains('Hello')));
    await expectLater(
      later.resend('nothing', '?').result,
      throwsA(isA<StoreException>().having((error) => error.code, 'code', StoreErrorCode.noTurn)),
    );
    expect(await later.delete(), isTrue);
    expect(store.kept, isEmpty);
  });

  test('what a process has left goes on, and its owner writes no more', () async {
    final store = MemoryStore();
    final turn = agent(model([]), store).conversation(id: 'diary').stream('Hello');
    await turn.begun;
    final second = agent(model(['Hi.']), store);
    expect(await second.recover(), isEmpty);
    await store.claim(store.kept.single.key, 1, 'of a process that is gone');
    final recovered = (await second.recover()).single;
    expect((await recovered.turn!.result).text, 'Hi.');
    expect(recovered.conversation.messages, hasLength(2));
    turn.cancel();
    await expectLater(turn.result, throwsA(isA<CancelledException>()));
    expect(store.kept.single.record.status, TurnStatus.complete);
  });

  test('a store that is away is waited for, and a turn that it does not take does not begin', () async {
    final store = MemoryStore();
    var failures = 0;
    store.onWrite = () {
      if (failures++ < 3) throw const StoreException(StoreErrorCode.unavailable, 'no connection');
    };
    final talk = agent(model(['One.']), store).conversation();
    final updates = await talk.stream('Hello').updates.toList();
    expect(updates.whereType<WarningUpdate>(), hasLength(3));
    expect(store.kept.single.record.status, TurnStatus.complete);
    store.onBegin = () => throw const StoreException(StoreErrorCode.readOnly, 'no rights');
    await expectLater(talk.send('And?'), throwsA(isA<StoreException>()));
  });

  test('what is no conversation is not stored', () async {
    final store = MemoryStore();
    final one = agent(model(['One.', 'Two.']), store);
    await one.run('Hello');
    expect(store.kept, isEmpty);
    final own = MemoryStore();
    await one.conversation(store: own).send('Hello');
    expect([store.kept.length, own.kept.length], [0, 1]);
  });
}
