import 'dart:async';

import 'package:flutter_test/flutter_test.dart';
import 'package:stepwell/stepwell.dart';

import 'agent_test.dart' show MockModel, calls, local, says;
import 'store_test.dart' show MemoryStore;

MockModel answering(List<String> answers) => MockModel([for (final answer in answers) Stream.value(answer)]);

String said(List<JsonObject> messages) => [for (final message in messages) message['content']].join(',');

Matcher refusedAs(MisuseCode code) => throwsA(isA<MisuseException>().having((error) => error.code, 'code', code));

final order = Tool('order', 'Orders.', run: (_) => throw const Deferred());

void main() {
  test("a turn is begun with ids of the app's own", () async {
    final agent = Agent(local, client: answering([says('One.'), says('Two.')]).client).conversation(id: 'garden');
    final turn = agent.start(Start('first', text: 'First'));
    await turn.result;
    expect(agent.messages.first['id'], 'first-user');
    expect([turn.stored, turn.storeTrouble, turn.revivedFrom], [null, null, null]);
    await agent.start(Start('second', message: {'id': 'mine', 'role': 'user', 'content': 'Second'})).result;
    expect(said(agent.messages), 'First,One.,Second,Two.');
    expect(() => Start('third', text: 'a', message: agent.messages.first), refusedAs(MisuseCode.misuse));
    expect(() => agent.branch('first', Start('third', text: 'Third')), refusedAs(MisuseCode.misuse));
  });

  test('another branch goes on from its parent, or from nothing', () async {
    final store = MemoryStore();
    final model = answering([for (final answer in ['One.', 'Two.', 'Three.', 'Four.']) says(answer)]);
    final agent = Agent(local, client: model.client, store: store).conversation(id: 'garden');
    final turn = agent.start(Start('first', text: 'First'));
    expect(turn.stored, isNull);
    await turn.begun;
    expect(turn.stored!.key.turn, 'first');
    expect(turn.stored!.generation, 1);
    await turn.result;
    await agent.start(Start('second', text: 'Second')).result;
    await agent.branch('first', Start('other', text: 'Otherwise')).result;
    expect(said(agent.messages), 'First,One.,Otherwise,Three.');
    await agent.branch(null, Start('anew', text: 'Anew')).result;
    expect(said(agent.messages), 'Anew,Four.');
    expect([for (final kept in store.kept) kept.record.parent], [null, 'first', 'first', null]);
    expect(conversationOf([store.kept.first.record]).messages, hasLength(2));
  });

  test('agents share a registry, and a turn of one takes a thread over from the other', () async {
    final registry = RunRegistry();
    final first = Agent(
      local,
      client: MockModel([Stream.value(says('Hello.')), Stream.fromFuture(Completer<String>().future)]).client,
      registry: registry,
    );
    final second = Agent(local, client: answering([says('Mine.')]).client, registry: registry);
    final before = [
      {'id': 'm', 'role': 'user', 'content': 'Before'},
    ];
    final diary = first.conversation(id: 'diary', room: 'kitchen', history: before);
    expect(said(first.conversation(id: 'diary', room: 'kitchen').messages), 'Before');
    final waiting = [registry.nextEvent(), registry.nextEvent()];
    await diary.send('Hi');
    expect(await Future.wait(waiting), [isA<RunStarted>(), isA<RunCompleted>()]);
    expect(await registry.nextEvent(), isA<ThreadUnread>());
    await diary.delete();
    expect(registry.unread(diary.key), isFalse);

    final taken = first.conversation(id: 'garden').stream('Mine?');
    expect((await second.conversation(id: 'garden').send('No, mine.')).text, 'Mine.');
    expect(() => taken.steer('Still?'), refusedAs(MisuseCode.misuse));
    await expectLater(taken.result, throwsA(isA<CancelledException>()));
    expect(registry.running, isEmpty);
  });

  test('a backend makes the ids of the runs', () async {
    final asked = <NewRun>[];
    final agent = Agent(
      local,
      client: answering([calls({'a': {}}, 'add'), says('Three.')]).client,
      tools: [Tool('add', 'Adds.', run: (_) => 3)],
      runSource: (run) {
        if (run.threadId != 'garden') throw Exception('the backend is away');
        asked.add(run);
        return 'run-${asked.length}';
      },
    );
    expect((await agent.conversation(id: 'garden').send('1 + 2?')).text, 'Three.');
    expect([for (final run in asked) run.parentRunId], [null, 'run-1']);
    await expectLater(
      agent.run('Hi'),
      throwsA(isA<StepwellException>().having((error) => error.message, 'message', contains('the backend is away'))),
    );
  });

  test('the app says what to leave out of a full context', () async {
    Conversation agent(Trimmer? trimContext, MockModel model) => Agent(
          local,
          contextGuard: const ContextGuard(window: 1500, atLimit: ContextPolicy.trim),
          client: model.client,
          trimContext: trimContext,
        ).conversation(
          history: [
            for (var each = 0; each < 3; each++) {'id': 'm$each', 'role': 'user', 'content': 'x' * 4000},
          ],
        );
    final model = answering([says('Yes.')]);
    final whole = agent((overflow, messages) {
      expect(messages, hasLength(overflow.messages.length));
      return Trimmed(overflow.newest(0.5), summary: 'There were many x.');
    }, model);
    await whole.send('And?');
    expect('${model.requests.single}', allOf(contains('many x'), hasLength(lessThan(5000))));
    expect(whole.messages, hasLength(5));
    await expectLater(
      agent((_, __) => null, answering([])).send('And?'),
      throwsA(isA<ContextTooLongException>()),
    );
    expect(() => agent(null, answering([])), refusedAs(MisuseCode.configuration));
  });

  for (final store in [null, MemoryStore()]) {
    test('a turn is looked into, and let go of ${store == null ? 'without' : 'with'} a store', () async {
      final model = answering([calls({'call': {}}, 'order'), says('Enjoy!')]);
      final registry = RunRegistry();
      final agent = Agent(local, client: model.client, tools: [order], store: store, registry: registry)
          .conversation(sharedState: {'table': 4});
      final turn = agent.stream('Tea');
      final seen = turn.updates.toList();
      await turn.rested();
      expect(turn.messages.first['content'], 'Tea');
      expect(turn.sharedState, {'table': 4});
      expect(turn.interrupts, isEmpty);
      expect(turn.usage, isA<TokenUsage>());
      final snapshot = await turn.suspend();
      expect((await seen).whereType<PendingUpdate>(), isNotEmpty);
      expect(() => turn.messages, refusedAs(MisuseCode.misuse));
      await expectLater(turn.result, refusedAs(MisuseCode.misuse));
      expect(registry.running, hasLength(1));
      expect(agent.messages, isEmpty);
      final revived = agent.revive(snapshot);
      await revived.begun;
      expect(revived.revivedFrom!.first['content'], 'Tea');
      revived.resolveCall('call', const Parts([
        {'type': 'text', 'text': 'here'},
      ]));
      expect((await revived.result).text, 'Enjoy!');
      expect(registry.running, isEmpty);
    });
  }

  test('what keeps a turn waiting for its store', () async {
    final store = MemoryStore()..onWrite = () => throw const StoreException(StoreErrorCode.full, 'no room');
    final model = answering([calls({'a': {}}, 'order'), says('More.')]);
    final agent = Agent(local, client: model.client, tools: [order], store: store, waitForStore: true)
        .conversation(id: 'garden');
    final turn = agent.stream('Hello');
    await for (final update in turn.updates) {
      if (update is! WarningUpdate) continue;
      expect(turn.storeTrouble!.code, StoreErrorCode.full);
      await turn.suspend();
    }
    store.onWrite = () {};
    final later = agent.stream('Again');
    expect((await later.result).text, 'More.');
    expect(later.storeTrouble, isNull);
    store.onBegin = () => throw const StoreException(StoreErrorCode.readOnly, 'for reading');
    final kept = agent.stream('Once more');
    await kept.begun;
    expect(kept.storeTrouble!.code, StoreErrorCode.readOnly);
  });
}
