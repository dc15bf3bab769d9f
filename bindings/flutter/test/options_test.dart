import 'dart:convert';

import 'package:flutter_test/flutter_test.dart';
import 'package:http/http.dart' as http;
import 'package:http/testing.dart';
import 'package:stepwell/stepwell.dart';

import 'agent_test.dart' show Model, calls, config, says;

String system(Map<String, Object?> request) =>
    ((request['messages']! as List<Object?>).first! as Map<String, Object?>)['content']! as String;

void main() {
  test('a turn is otherwise than its agent, and the next one is not', () async {
    final answers = [calls({'a': {}}, 'own'), says('Yes.'), says('Again.')];
    final model = Model([for (final answer in answers) Stream.value(answer)]);
    final agent = Agent(
      config.copyWith(instructions: 'Be kind.'),
      client: model.client,
      tools: [Tool('work', 'Works.', run: (_) => 'of the agent')],
    );
    const options = TurnOptions(instructions: 'Be brief.', toolNames: [], user: 'user-7');
    final own = Tool('own', 'Of this turn.', run: (_) => 'of the turn');
    expect((await agent.sendAndWait('Hello', options: options, tools: [own])).text, 'Yes.');
    expect((await agent.sendAndWait('And?')).text, 'Again.');
    expect([for (final request in model.requests) system(request)], ['Be brief.', 'Be brief.', 'Be kind.']);
    expect([for (final request in model.requests) request['user']], ['user-7', 'user-7', null]);
  });

  test('a typed answer is of the turn', () async {
    const output = OutputType(name: 'Count', schema: {
      'type': 'object',
      'properties': {'n': {'type': 'integer'}},
      'required': ['n'],
    });
    final keys = <String?>[];
    final answers = ['{"n":1}', 'Yes.', '{"n":2}'];
    final client = MockClient.streaming((request, body) async {
      await body.drain<void>();
      keys.add(request.headers['authorization']);
      final answer = says(answers.removeAt(0));
      return http.StreamedResponse(
        Stream.value(utf8.encode(answer)),
        200,
        headers: {'content-type': 'text/event-stream'},
      );
    });
    final agent = Agent(config, client: client, credentials: (_) => const Authorization(key: 'mine'));
    expect((await agent.sendAndWait('How many?', options: const TurnOptions(output: output))).output, {'n': 1});
    expect((await agent.sendAndWait('And?')).output, isNull);
    expect(await agent.run('How many now?', output, (value) => value['n']), 2);
    expect(keys, ['Bearer mine', 'Bearer mine', 'Bearer mine']);
  });

  test('the app gives the key of each request', () async {
    final keys = <String?>[];
    final client = MockClient.streaming((request, body) async {
      await body.drain<void>();
      keys.add(request.headers['authorization']);
      final isFirst = keys.length == 1;
      final answer = isFirst ? '{}' : says('Yes.');
      return http.StreamedResponse(
        Stream.value(utf8.encode(answer)),
        isFirst ? 401 : 200,
        headers: {'content-type': 'text/event-stream'},
      );
    });
    Agent agent(CredentialSource credentials) => Agent(config, client: client, credentials: credentials);
    final asking = agent((request) async => Authorization(key: request.rejected ? 'new' : 'old'));
    expect((await asking.sendAndWait('Hello')).text, 'Yes.');
    expect(keys, ['Bearer old', 'Bearer new']);
    final failed = await agent((_) => throw Exception('nobody has signed in')).send('Hello').finish();
    expect(failed.outcome.problem!.kind, ProblemKind.authentication);
    expect(failed.outcome.problem!.message, contains('nobody has signed in'));
  });

  test('hooks look, change and refuse', () async {
    final model = Model([for (final answer in ['Yes.', 'The secret.']) Stream.value(says(answer))]);
    final said = <String>[];
    final watch = Hook('watch', afterAnswer: (answer) => said.add(answer.text));
    expect((await Agent(config, client: model.client, hooks: [watch]).sendAndWait('Hello')).text, 'Yes.');
    expect(said, ['Yes.']);
    final guard = Hook('guard', afterAnswer: (_) => throw const HookRefusal('it tells the secret'));
    final refused = await Agent(config, client: model.client, hooks: [guard]).send('Hello').finish();
    expect(refused.outcome.problem!.kind, ProblemKind.refusedByHook);
    expect(refused.outcome.problem!.message, contains('it tells the secret'));
    final broken = Hook('broken', beforeRequest: (_) => throw Exception('no such table'));
    await expectLater(
      Agent(config, client: model.client, hooks: [broken]).sendAndWait('Hello'),
      throwsA(isA<RefusedByHookException>()),
    );
  });

  test('instructions are made for each turn', () async {
    final model = Model([for (final answer in ['Yes.', 'No.']) Stream.value(says(answer))]);
    final agent = Agent(
      config,
      threadId: 'garden',
      client: model.client,
      instructionsFrom: (turn) => '${turn.messages.length} in ${turn.thread.thread}.',
    );
    await agent.sendAndWait('Hello');
    await agent.sendAndWait('And?');
    expect([for (final request in model.requests) system(request)], ['0 in garden.', '2 in garden.']);
    final broken = Agent(config, client: model.client, instructionsFrom: (_) => throw Exception('no profile'));
    await expectLater(broken.sendAndWait('Hello'), throwsA(isA<AppFailedException>()));
  });
}
