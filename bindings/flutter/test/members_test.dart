import 'dart:async';

import 'package:flutter_test/flutter_test.dart';
import 'package:stepwell/stepwell.dart';

import 'agent_test.dart' show Model, calls, config, says;
import 'store_test.dart' show MemoryStore;

Model answering(List<String> answers) => Model([for (final answer in answers) Stream.value(answer)]);

String said(List<JsonObject> messages) => [for (final message in messages) message['content']].join(',');

Matcher refusedAs(StepwellErrorKind kind) =>
    throwsA(isA<StepwellException>().having((error) => error.kind, 'kind', kind));

final order = Tool('order', 'Orders.', run: (_) => throw const Deferred());

void main() {
  test("a turn is begun with ids of the app's own", () async {
    final agent = Agent(config, threadId: 'garden', client: answering([says('One.'), says('Two.')]).client);
    final turn = agent.start(Start('first', text: 'First'));
    await turn.finish();
    expect(agent.messages.first['id'], 'first-user');
    expect([turn.stored, turn.storeTrouble, turn.revivedFrom], [null, null, null]);
    await agent.start(Start('second', message: {'id': 'mine', 'role': 'user', 'content': 'Second'})).finish();
    expect(said(agent.messages), 'First,One.,Second,Two.');
    expect(() => Start('third', text: 'a', message: agent.messages.first), refusedAs(StepwellErrorKind.misuse));
    expect(() => agent.branch('first', Start('third', text: 'Third')), refusedAs(StepwellErrorKind.misuse));
  });

  test('another branch goes on from its parent, or from nothing', () async {
    final store = MemoryStore();
    final model = answering([for (final answer in ['One.', 'Two.', 'Three.', 'Four.']) says(answer)]);
    final agent = Agent(config, threadId: 'garden', client: model.client, store: store);
    final turn = agent.start(Start('first', text: 'First'));
    expect(turn.stored, isNull);
    await turn.begun;
    expect(turn.stored!.key.turn, 'first');
    expect(turn.stored!.generation, 1);
    await turn.finish();
    await agent.start(Start('second', text: 'Second')).finish();
    await agent.branch('first', Start('other', text: 'Otherwise')).finish();
    expect(said(agent.messages), 'First,One.,Otherwise,Three.');
    await agent.branch(null, Start('anew', text: 'Anew')).finish();
    expect(said(agent.messages), 'Anew,Four.');
    expect([for (final kept in store.kept) kept.record.parent], [null, 'first', 'first', null]);
    expect(conversationOf([store.kept.first.record]).messages, hasLength(2));
  });

  test('agents share a registry, and a turn of one takes a thread over from the other', () async {
    final registry = RunRegistry();
    final first = Agent(
      config,
      threadId: 'garden',
      client: Model([Stream.value(says('Hello.')), Stream.fromFuture(Completer<String>().future)]).client,
      registry: registry,
    );
    final second = Agent(config, threadId: 'garden', client: answering([says('Mine.')]).client, registry: registry);
    expect(first.registry, same(registry));
    const key = ThreadKey('diary', room: 'kitchen');
    final diary = first.threadWithHistory(key, [
      {'id': 'm', 'role': 'user', 'content': 'Before'},
    ]);
    expect(said(first.threadWithHistory(key, const []).messages), 'Before');
    final waiting = [first.nextRegistryEvent(), second.nextRegistryEvent()];
    await diary.sendAndWait('Hi');
    expect(await Future.wait(waiting), [isA<RunStarted>(), isA<RunCompleted>()]);
    expect(await second.nextRegistryEvent(), isA<ThreadUnread>());
    first.forgetThread(key);
    expect(registry.unread(key), isFalse);

    final taken = first.send('Mine?');
    expect((await second.send('No, mine.').finish()).text, 'Mine.');
    expect(() => taken.steer('Still?'), refusedAs(StepwellErrorKind.misuse));
    expect((await taken.finish()).outcome, isA<CancelledOutcome>());
    expect(registry.running, isEmpty);
  });

  test('a backend makes the ids of the runs', () async {
    final asked = <NewRun>[];
    final agent = Agent(
      config,
      threadId: 'garden',
      client: answering([calls({'a': {}}, 'add'), says('Three.')]).client,
      tools: [Tool('add', 'Adds.', run: (_) => 3)],
      runSource: (run) {
        if (run.threadId != 'garden') throw Exception('the backend is away');
        asked.add(run);
        return 'run-${asked.length}';
      },
    );
    expect((await agent.sendAndWait('1 + 2?')).text, 'Three.');
    expect([for (final run in asked) run.parentRunId], [null, 'run-1']);
    final failed = await agent.thread(const ThreadKey('elsewhere')).send('Hi').finish();
    expect(failed.outcome.problem!.message, contains('the backend is away'));
  });

  test('the app says what to leave out of a full context', () async {
    Agent agent(Trimmer? trimContext, Model model) => Agent(
          config.copyWith(contextGuard: const ContextGuard(window: 1500, atLimit: ContextPolicy.trim)),
          client: model.client,
          history: [
            for (var each = 0; each < 3; each++) {'id': 'm$each', 'role': 'user', 'content': 'x' * 4000},
          ],
          trimContext: trimContext,
        );
    final model = answering([says('Yes.')]);
    final whole = agent((overflow, messages) {
      expect(messages, hasLength(overflow.messages.length));
      return Trimmed(overflow.newest(0.5), summary: 'There were many x.');
    }, model);
    await whole.sendAndWait('And?');
    expect('${model.requests.single}', allOf(contains('many x'), hasLength(lessThan(5000))));
    expect(whole.messages, hasLength(5));
    final nothing = await agent((_, __) => null, answering([])).send('And?').finish();
    expect(nothing.outcome.problem!.kind, ProblemKind.contextTooLong);
    expect(() => agent(null, answering([])), refusedAs(StepwellErrorKind.configuration));
  });

  for (final store in [null, MemoryStore()]) {
    test('a turn is looked into, and let go of ${store == null ? 'without' : 'with'} a store', () async {
      final model = answering([calls({'call': {}}, 'order'), says('Enjoy!')]);
      final agent = Agent(config, client: model.client, tools: [order], store: store, sharedState: {'table': 4});
      final turn = agent.send('Tea');
      final seen = turn.events.toList();
      await turn.rested();
      expect(turn.messages.first['content'], 'Tea');
      expect(turn.sharedState, {'table': 4});
      expect(turn.interrupts, isEmpty);
      expect(turn.usage, isA<TokenUsage>());
      final snapshot = await turn.suspend();
      expect((await seen).whereType<TurnCompleted>(), isEmpty);
      expect(() => turn.messages, refusedAs(StepwellErrorKind.misuse));
      await expectLater(turn.finish(), refusedAs(StepwellErrorKind.misuse));
      expect(agent.registry.running, hasLength(1));
      expect(agent.messages, isEmpty);
      final revived = agent.revive(snapshot);
      await revived.begun;
      expect(revived.revivedFrom!.first['content'], 'Tea');
      revived.finishCall('call', const Parts([
        {'type': 'text', 'text': 'here'},
      ]));
      expect((await revived.finish()).text, 'Enjoy!');
      expect(agent.registry.running, isEmpty);
    });
  }

  test('what keeps a turn waiting for its store', () async {
    final store = MemoryStore()..onWrite = () => throw const StoreException(StoreErrorKind.full, 'no room');
    final model = answering([calls({'a': {}}, 'order'), says('More.')]);
    final agent = Agent(config,
        threadId: 'garden', client: model.client, tools: [order], store: store, waitForStore: true);
    final turn = agent.send('Hello');
    await for (final event in turn.events) {
      if (event is! WarningEvent) continue;
      expect(turn.storeTrouble!.kind, StoreErrorKind.full);
      await turn.suspend();
    }
    store.onWrite = () {};
    final later = agent.send('Again');
    expect((await later.finish()).text, 'More.');
    expect(later.storeTrouble, isNull);
    store.onBegin = () => throw const StoreException(StoreErrorKind.readOnly, 'for reading');
    final kept = agent.send('Once more');
    await kept.begun;
    expect(kept.storeTrouble!.kind, StoreErrorKind.readOnly);
  });
}
