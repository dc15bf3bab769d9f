import 'dart:async';

import 'package:flutter_test/flutter_test.dart';
import 'package:stepwell/stepwell.dart';

import 'agent_test.dart' show MockModel, calls, local, says;
import 'store_test.dart' show MemoryStore;

String asked(Map<String, Object?> request) =>
    [for (final message in request['messages']! as List<Object?>) (message! as JsonObject)['content']].join(',');

void main() {
  for (final store in [null, MemoryStore()]) {
    final where = store == null ? 'without a store' : 'with a store';

    test('turns wait for each other, $where', () async {
      final gate = Completer<String>();
      final model = MockModel([
        Stream.fromFuture(gate.future),
        Stream.value(says('Two.')),
        Stream.value(says('Three.')),
      ]);
      final agent = Agent(local, client: model.client, store: store, whenBusy: WhenBusy.queue);
      final talk = agent.conversation(id: 'queue');
      final turns = [for (final text in ['First', 'Second', 'Third']) talk.stream(text)];
      final stopped = talk.stream('Never');
      stopped.cancel();
      await expectLater(stopped.result, throwsA(isA<CancelledException>()));
      gate.complete(says('One.'));
      final results = await Future.wait([for (final turn in turns) turn.result]);
      expect([for (final result in results) result.text], ['One.', 'Two.', 'Three.']);
      expect(asked(model.requests.last), 'First,One.,Second,Two.,Third');
      expect(model.requests, hasLength(3));
    });

    test('a message joins the turn under way, $where', () async {
      final model = MockModel([
        Stream.value(calls({'a': {}}, 'wait')),
        Stream.value(says('Both.')),
      ]);
      final running = Completer<void>();
      final done = Completer<void>();
      final wait = Tool('wait', 'Waits.', run: (call) async {
        running.complete();
        await done.future;
        return 'waited';
      });
      final talk = Agent(local, client: model.client, tools: [wait], store: store).conversation(id: 'steer');
      final first = talk.send('First');
      await running.future;
      final second = talk.send('And this?', options: const RunOptions(whenBusy: WhenBusy.steer));
      done.complete();
      expect((await first).text, 'Both.');
      expect((await second).text, 'Both.');
      expect(asked(model.requests.last), contains('And this?'));
      expect(model.requests, hasLength(2));
    });
  }

  test('a turn under way refuses another one, which is not sent', () async {
    final model = MockModel([Stream.fromFuture(Completer<String>().future)]);
    final talk = Agent(local, client: model.client).conversation();
    final first = talk.stream('First');
    await expectLater(talk.send('Second'), throwsA(isA<BusyException>()));
    first.cancel();
    await expectLater(first.result, throwsA(isA<CancelledException>()));
  });
}
