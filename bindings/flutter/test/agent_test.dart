import 'dart:async';
import 'dart:convert';

import 'package:flutter_test/flutter_test.dart';
import 'package:http/http.dart' as http;
import 'package:http/testing.dart';
import 'package:stepwell/stepwell.dart';

const local = Model.openaiCompatible('m', baseUrl: 'http://localhost/v1');

String piece(Map<String, Object?> delta, [String? reason]) => 'data: ${jsonEncode({
          'id': 'c',
          'choices': [
            {'index': 0, 'delta': delta, 'finish_reason': reason},
          ],
        })}\n\n';

String says(String text) => '${piece({'role': 'assistant', 'content': text}, 'stop')}data: [DONE]\n\n';

String calls(Map<String, Map<String, Object?>> calls, String name) => '${piece({
          'tool_calls': [
            for (final (index, MapEntry(:key, :value)) in calls.entries.indexed)
              {
                'index': index,
                'id': key,
                'type': 'function',
                'function': {'name': name, 'arguments': jsonEncode(value)},
              },
          ],
        }, 'tool_calls')}data: [DONE]\n\n';

/// Answers with these bodies, one after the other.
final class MockModel {
  MockModel(this.bodies);

  final List<Stream<String>> bodies;
  final requests = <Map<String, Object?>>[];

  late final client = MockClient.streaming((request, body) async {
    requests.add(jsonDecode(await body.bytesToString()) as Map<String, Object?>);
    final answer = bodies.removeAt(0).transform(utf8.encoder);
    return http.StreamedResponse(answer, 200, headers: {'content-type': 'text/event-stream'});
  });
}

Tool secretNumber(FutureOr<Object?> Function(String name) number) => Tool(
      'get_secret_number',
      'The secret number of a person.',
      properties: {'name': Schema.text('Whose number.')},
      run: (call) => number(call.arguments['name']! as String),
    );

void main() {
  test('conversations are apart, and unread until they are looked at', () async {
    final model = MockModel([Stream.value(says('One.')), Stream.value(says('Two.'))]);
    var journal = '';
    final registry = RunRegistry();
    final agent = Agent(local, client: model.client, registry: registry, journal: (_, lines) => journal += lines);
    final one = agent.conversation(id: 'a');
    final other = agent.conversation(id: 'b', room: 'kitchen');
    registry.lookAt(one.key);
    await one.send('Hello');
    await other.send('Hello there');
    expect(one.messages.last['content'], 'One.');
    expect(agent.conversation(id: 'b', room: 'kitchen').messages.last['content'], 'Two.');
    expect(registry.running, isEmpty);
    expect(registry.unreadThreads, [other.key]);
    expect(const LineSplitter().convert(journal).length, greaterThan(5));
    await other.delete();
    expect(other.messages, isEmpty);
    expect(registry.unreadThreads, isEmpty);
  });

  test('many users share an agent, and none is in the request of another', () async {
    final requests = <String>[];
    final client = MockClient.streaming((request, body) async {
      final text = await body.bytesToString();
      requests.add(text);
      final user = RegExp(r'user-\d+').firstMatch(text)![0]!;
      return http.StreamedResponse(
        Stream.value(utf8.encode(says('Hello, $user.'))),
        200,
        headers: {'content-type': 'text/event-stream'},
      );
    });
    final agent = Agent(local, client: client);
    final users = [for (var run = 0; run < 1000; run++) 'user-${run % 100}'];
    final results = await Future.wait([for (final user in users) agent.run('I am $user')]);
    expect([for (final result in results) result.output], [for (final user in users) 'Hello, $user.']);
    expect({for (final result in results) result.stopReason}, {'success'});
    Set<String> names(String text) => {for (final match in RegExp(r'user-\d+').allMatches(text)) match[0]!};
    expect(requests, hasLength(1000));
    expect([for (final request in requests) names(request).length], everyElement(1));
    expect({for (final result in results) result.messages.length}, {2});
  });

  test('a registry is stored, and what is stale says so', () {
    const thread = ThreadKey('a');
    final registry = RunRegistry();
    final first = registry.register(thread).handle;
    final second = registry.register(thread);
    expect(second.replaced, first);
    expect(
      () => registry.check(first),
      throwsA(isA<MisuseException>().having((error) => error.code, 'code', MisuseCode.stale)),
    );
    registry.complete(second.handle, const CancelledOutcome());
    expect(registry.takeEvents().last, isA<ThreadUnread>());
    expect(RunRegistry(registry.snapshot).unread(thread), isTrue);
  });

  test('records have copies with changes', () {
    const timeouts = Timeouts(tool: Duration(seconds: 5));
    final copy = timeouts.copyWith(silence: () => null);
    expect(copy.silence, isNull);
    expect(copy.tool, timeouts.tool);
    final config = local.config;
    final changed = config.copyWith(limits: const Limits().copyWith(maxToolRounds: 3));
    expect(changed.limits.maxToolRounds, 3);
    expect(changed.model, config.model);
  });

  test('an AG-UI agent gets the context, and shares the state from turn to turn', () async {
    String run(String id, List<Map<String, Object?>> events) => [
          {'type': 'RUN_STARTED', 'threadId': 't', 'runId': id},
          ...events,
          {'type': 'RUN_FINISHED', 'threadId': 't', 'runId': id},
        ].map((event) => 'data: ${jsonEncode(event)}\n\n').join();
    final model = MockModel([
      Stream.value(run('1', [
        {'type': 'STATE_SNAPSHOT', 'snapshot': {'pages': 2}},
      ])),
      Stream.value(run('2', [])),
    ]);
    final agent = Agent(
      const Model.agUi('http://localhost/agent'),
      client: model.client,
      settings: const GenerationSettings(context: [ContextEntry(description: 'The page', value: 'Orders')]),
      agUi: const AgUiOptions(isBefore10: true),
    );
    final talk = agent.conversation(id: 't', sharedState: {'pages': 1});
    await talk.send('Hi');
    expect(talk.sharedState, {'pages': 2});
    await talk.send('Hi');
    expect([for (final request in model.requests) request['state']], [
      {'pages': 1},
      {'pages': 2},
    ]);
    expect(model.requests.first['context'], [
      {'description': 'The page', 'value': 'Orders'},
    ]);
    expect(model.requests.first.containsKey('protocolVersion'), false);
  });

  test('what an agent asks while nobody listens has no answer, and the turn goes on', () async {
    String run(List<Map<String, Object?>> events) => [
          {'type': 'RUN_STARTED', 'threadId': 't', 'runId': 'r'},
          ...events,
        ].map((event) => 'data: ${jsonEncode(event)}\n\n').join();
    final finished = {'type': 'RUN_FINISHED', 'threadId': 't', 'runId': 'r'};
    final interrupts = [
      {'id': 'where', 'reason': 'input_required'},
    ];
    final model = MockModel([
      Stream.value(run([
        {...finished, 'outcome': {'type': 'interrupt', 'interrupts': interrupts}},
      ])),
      Stream.value(run([
        {'type': 'TEXT_MESSAGE_CHUNK', 'messageId': 'm', 'role': 'assistant', 'delta': 'Then not.'},
        finished,
      ])),
    ]);
    final agent = Agent(const Model.agUi('http://localhost/agent'), client: model.client);
    expect((await agent.conversation(id: 't').send('Book it')).text, 'Then not.');
    expect(model.requests.last['resume'], [
      {'interruptId': 'where', 'status': 'cancelled'},
    ]);
  });

  test('a question, two tool calls, an answer', () async {
    final model = MockModel([
      Stream.value(calls({'a': {'name': 'alice'}, 'b': {'name': 'bob'}}, 'get_secret_number')),
      Stream.value(says('42 and 7')),
    ]);
    final agent = Agent(local, client: model.client, tools: [
      secretNumber((name) async => {'alice': 42, 'bob': 7}[name]),
    ]);
    final talk = agent.conversation();
    final turn = talk.stream('What are their numbers?');
    final updates = await turn.updates.toList();
    expect(updates.whereType<TextUpdate>().map((update) => update.delta).join(), '42 and 7');
    final result = await turn.result;
    expect(result.output, '42 and 7');
    expect(result.text, '42 and 7');
    expect(result.hops, 2);
    final results = (model.requests[1]['messages']! as List<Object?>).cast<Map<String, Object?>>();
    expect([for (final message in results) if (message['role'] == 'tool') message['content']], ['42', '7']);
    expect(talk.messages.length, 5);
  });

  test('a tool that throws is shown to the model, and the turn goes on', () async {
    final model = MockModel([
      Stream.value(calls({'a': {'name': 'carol'}}, 'get_secret_number')),
      Stream.value(says('Nobody knows')),
    ]);
    final agent = Agent(local, client: model.client, tools: [
      secretNumber((name) => throw ToolException('nobody knows $name')),
    ]);
    final turn = agent.stream('Carol?');
    final updates = await turn.updates.toList();
    expect(updates.whereType<ToolCallUpdate>().last.failure, 'nobody knows carol');
    expect((await turn.result).stopReason, 'success');
  });

  test('leaving the loop cancels the turn, and the tool that runs is told', () async {
    final model = MockModel([
      Stream.value(calls({'a': {'name': 'alice'}}, 'get_secret_number')),
    ]);
    final cancelled = Completer<void>();
    final agent = Agent(local, client: model.client, tools: [
      Tool('get_secret_number', 'Waits.', properties: {'name': Schema.text('Whose.')}, run: (call) async {
        await call.cancelled;
        cancelled.complete();
        return null;
      }),
    ]);
    final turn = agent.stream('Alice?');
    await for (final update in turn.updates) {
      if (update case ToolCallUpdate(status: ToolCallStatus.executing)) break;
    }
    await cancelled.future;
    await expectLater(turn.result, throwsA(isA<CancelledException>()));
  });

  test('a stream that is cut off is no success, and what was said stays', () async {
    final model = MockModel([
      Stream.value(piece({'role': 'assistant', 'content': 'Once upon'})),
    ]);
    final turn = Agent(local, client: model.client).stream('Tell');
    final texts = <String>[];
    await expectLater(turn.textStream.forEach(texts.add), throwsA(isA<ConnectionException>()));
    expect(texts.join(), 'Once upon');
    await expectLater(
      turn.result,
      throwsA(isA<ConnectionException>().having((error) => error.result?.text, 'text', 'Once upon')),
    );
  });

  test('an answer that is no stream is a failure with its reason', () async {
    final client = MockClient((request) async => http.Response('{"error":{"message":"bad key"}}', 401));
    await expectLater(
      Agent(local, client: client).run('Hello'),
      throwsA(isA<AuthenticationException>()
          .having((error) => error.message, 'message', contains('bad key'))
          .having((error) => error.status, 'status', 401)
          .having((error) => error.provider, 'provider', 'openai-compatible')),
    );
  });

  test('the user is asked before a tool runs', () async {
    final model = MockModel([
      Stream.value(calls({'a': {}}, 'order')),
      Stream.value(says('I see')),
    ]);
    final agent = Agent(
      local,
      client: model.client,
      tools: [Tool('order', 'Orders.', requiresApproval: true, run: (_) => 'ordered')],
      approver: (invocation) async => const Denied('not on Sundays'),
    );
    final updates = await agent.stream('Go').updates.toList();
    expect(updates.whereType<ToolCallUpdate>().last.failure, contains('not on Sundays'));
  });
}
