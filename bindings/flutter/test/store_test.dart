import 'dart:async';
import 'dart:convert';

import 'package:flutter_test/flutter_test.dart';
import 'package:http/http.dart' as http;
import 'package:http/testing.dart';
import 'package:stepwell/stepwell.dart';

const config = RunConfig(
  provider: 'openai-compatible',
  model: 'm',
  baseUrl: 'http://localhost/v1',
  retry: RetryPolicy(firstDelay: Duration.zero, maxDelay: Duration.zero),
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

  Kept _turn(TurnKey key) => _find(key) ?? (throw StoreException(StoreErrorKind.noTurn, key.turn));

  Iterable<Kept> _of(ThreadKey thread) => kept.where((turn) => turn.key.thread == thread);

  @override
  Future<int> beginTurn(NewTurn turn) async {
    onBegin();
    if (_find(turn.key) != null) throw StoreException(StoreErrorKind.exists, turn.key.turn);
    if (_of(turn.key.thread).any((turn) => turn.isOpen)) throw StoreException(StoreErrorKind.busy, turn.key.turn);
    final record = TurnRecord(turn.key.turn, TurnStatus.streaming, turn.at, turn.at, const [],
        parent: turn.parent, message: turn.message, history: turn.history);
    kept.add(Kept(turn.key, record, turn.owner, turn.checkpoint));
    return 1;
  }

  @override
  Future<Claimed> claim(TurnKey key, int seen, String owner) async {
    final turn = _turn(key);
    if (!turn.isOpen) throw StoreException(StoreErrorKind.closed, key.turn);
    if (turn.generation != seen) throw StoreException(StoreErrorKind.stale, key.turn);
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
    if (turn.generation != generation) throw StoreException(StoreErrorKind.stale, key.turn);
    if (batch.first > blocks.length) throw StoreException(StoreErrorKind.gap, key.turn);
    if (!turn.isOpen) throw StoreException(StoreErrorKind.closed, key.turn);
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
  const diary = ThreadKey('diary');

  test('a later agent goes on from what is stored, and says it otherwise', () async {
    final store = MemoryStore();
    Agent agent(http.Client client) => Agent(config, threadId: 'diary', store: store, client: client);
    await agent(model(['One.'])).sendAndWait('Hello');
    final first = store.kept.single;
    expect(first.record.status, TurnStatus.complete);
    final asked = <String>[];
    final later = agent(model(['Two.', 'Three.'], asked));
    await later.sendAndWait('And?');
    expect(asked.single, contains('One.'));
    expect(store.kept.last.record.parent, first.key.turn);
    final resent = await later.resend(first.key.turn, 'Good morning');
    expect((await resent.finish()).text, 'Three.');
    expect(asked.last, isNot(contains('Hello')));
    expect(await later.deleteThread(diary), isTrue);
    expect(store.kept, isEmpty);
  });

  test('what a process has left goes on, and its owner writes no more', () async {
    final store = MemoryStore();
    final first = Agent(config, threadId: 'diary', store: store, client: model([]));
    final turn = first.send('Hello');
    await turn.begun;
    final second = Agent(config, threadId: 'diary', store: store, client: model(['Hi.']));
    expect(await second.recover(), isEmpty);
    await store.claim(store.kept.single.key, 1, 'of a process that is gone');
    final recovered = (await second.recover()).single;
    expect((await recovered.turn!.finish()).text, 'Hi.');
    turn.cancel();
    await turn.finish();
    expect(store.kept.single.record.status, TurnStatus.complete);
  });

  test('a store that is away is waited for, and a turn that it does not take does not begin', () async {
    final store = MemoryStore();
    var failures = 0;
    store.onWrite = () {
      if (failures++ < 3) throw const StoreException(StoreErrorKind.unavailable, 'no connection');
    };
    final agent = Agent(config, threadId: 'diary', store: store, client: model(['One.']));
    final turn = agent.send('Hello');
    final events = await turn.events.toList();
    expect(events.whereType<WarningEvent>(), hasLength(3));
    expect(events.last, isA<TurnCompleted>());
    expect(store.kept.single.record.status, TurnStatus.complete);
    store.onBegin = () => throw const StoreException(StoreErrorKind.readOnly, 'no rights');
    await expectLater(agent.sendAndWait('And?'), throwsA(isA<NotStoredException>()));
  });
}
