import 'dart:convert';
import 'dart:typed_data';

import 'package:flutter_test/flutter_test.dart';
import 'package:stepwell/stepwell.dart';

const config = RunConfig(provider: 'openai-compatible', model: 'm', baseUrl: 'http://localhost/v1');

Uint8List said(String text) => utf8.encode(
      'data: ${jsonEncode({
            'id': 'c',
            'choices': [
              {
                'index': 0,
                'delta': {'role': 'assistant', 'content': text},
                'finish_reason': 'stop',
              },
            ],
          })}\n\ndata: [DONE]\n\n',
    );

void main() {
  test('a turn, piece by piece', () {
    final machine = RunMachine(config, 'thread-1');
    final effect = machine.start(Start('run-1', text: 'Hello'), nowMs: 1000).effects.single as OpenStream;
    expect(effect.request.method, 'POST');
    expect(machine.state, StateKind.opening);
    machine.opened(effect.id, contentType: 'text/event-stream', nowMs: 1001);
    final events = machine.receive(effect.id, said('Hi'), nowMs: 1002).events;
    expect(events.whereType<TextUpdate>().single.delta, 'Hi');
    machine.ended(effect.id, nowMs: 1003);
    expect(machine.outcome, isA<SuccessOutcome>());
    expect(machine.text, 'Hi');
    expect(machine.messages.length, 2);
    machine.close();
    expect(() => machine.text, throwsStateError);
  });

  test('a snapshot goes on in another machine, to the same digest', () {
    final machine = RunMachine(config, 'thread-1');
    final id = machine.start(Start('run-1', text: 'Hello'), nowMs: 1000).effects.single.id;
    machine.opened(id, contentType: 'text/event-stream', nowMs: 1001);
    final bytes = said('Hi');
    machine.receive(id, Uint8List.sublistView(bytes, 0, 20), nowMs: 1002);
    final other = RunMachine.restore(machine.snapshot, config);
    for (final each in [machine, other]) {
      each.receive(id, Uint8List.sublistView(bytes, 20), nowMs: 1003);
      each.ended(id, nowMs: 1004);
    }
    expect(other.digest, machine.digest);
    expect(other.text, 'Hi');
  });

  test('a request that died with its process goes out again', () {
    final machine = RunMachine(config, 'thread-1');
    final id = machine.start(Start('run-1', text: 'Hello'), nowMs: 1000).effects.single.id;
    final revived = RunMachine.revive(machine.snapshot, config, nowMs: 5000);
    expect(revived.pollOutputs().effects.single.id, id);
  });

  test('what cannot be done is said, and changes nothing', () {
    final machine = RunMachine(config, 'thread-1');
    final before = machine.digest;
    expect(
      () => machine.resume(const []),
      throwsA(isA<MisuseException>().having((error) => error.code, 'code', MisuseCode.misuse)),
    );
    expect(machine.digest, before);
    expect(
      () => RunMachine(const RunConfig(provider: 'nobody'), 'thread-1'),
      throwsA(isA<StepwellException>().having((error) => error.message, 'message', contains('nobody'))),
    );
  });
}
