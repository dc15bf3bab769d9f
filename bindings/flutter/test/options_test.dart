import 'dart:convert';

import 'package:flutter_test/flutter_test.dart';
import 'package:http/http.dart' as http;
import 'package:http/testing.dart';
import 'package:stepwell/stepwell.dart';

import 'agent_test.dart' show MockModel, calls, local, says;

String system(Map<String, Object?> request) =>
    ((request['messages']! as List<Object?>).first! as Map<String, Object?>)['content']! as String;

void main() {
  test('a turn is otherwise than its agent, and the next one is not', () async {
    final answers = [calls({'a': {}}, 'own'), says('Yes.'), says('Again.')];
    final model = MockModel([for (final answer in answers) Stream.value(answer)]);
    final agent = Agent(
      local,
      instructions: 'Be kind.',
      client: model.client,
      tools: [Tool('work', 'Works.', run: (_) => 'of the agent')],
    );
    final own = Tool('own', 'Of this turn.', run: (_) => 'of the turn');
    final options = RunOptions(instructions: 'Be brief.', toolNames: const [], user: 'user-7', tools: [own]);
    expect((await agent.run('Hello', options: options)).text, 'Yes.');
    expect((await agent.run('And?')).text, 'Again.');
    expect([for (final request in model.requests) system(request)], ['Be brief.', 'Be brief.', 'Be kind.']);
    expect([for (final request in model.requests) request['user']], ['user-7', 'user-7', null]);
  });

  test('a typed answer is of the turn', () async {
    final output = Output<int>('Count', const {
      'type': 'object',
      'properties': {'n': {'type': 'integer'}},
      'required': ['n'],
    }, (value) => value['n']! as int);
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
    final model = Model.openaiCompatible(
      'm',
      baseUrl: 'http://localhost/v1',
      credentials: (_) => const Authorization(key: 'mine'),
    );
    final talk = Agent(model, client: client).conversation();
    expect((await talk.sendAs('How many?', output)).output, 1);
    expect((await talk.send('And?')).output, 'Yes.');
    expect((await talk.streamAs('How many now?', output).result).output, 2);
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
    Agent agent(CredentialSource credentials) {
      final model = Model.openaiCompatible('m', baseUrl: 'http://localhost/v1', credentials: credentials);
      return Agent(model, client: client);
    }

    final asking = agent((request) async => Authorization(key: request.rejected ? 'new' : 'old'));
    expect((await asking.run('Hello')).text, 'Yes.');
    expect(keys, ['Bearer old', 'Bearer new']);
    await expectLater(
      agent((_) => throw Exception('nobody has signed in')).run('Hello'),
      throwsA(isA<AuthenticationException>()
          .having((error) => error.message, 'message', contains('nobody has signed in'))),
    );
  });

  test('hooks look, change and refuse', () async {
    final model = MockModel([for (final answer in ['Yes.', 'The secret.']) Stream.value(says(answer))]);
    final said = <String>[];
    final watch = Hook('watch', afterAnswer: (answer) => said.add(answer.text));
    expect((await Agent(local, client: model.client, hooks: [watch]).run('Hello')).text, 'Yes.');
    expect(said, ['Yes.']);
    final guard = Hook('guard', afterAnswer: (_) => throw const HookRefusal('it tells the secret'));
    await expectLater(
      Agent(local, client: model.client, hooks: [guard]).run('Hello'),
      throwsA(isA<RefusedException>().having((error) => error.message, 'message', contains('it tells the secret'))),
    );
    final broken = Hook('broken', beforeRequest: (_) => throw Exception('no such table'));
    await expectLater(
      Agent(local, client: model.client, hooks: [broken]).run('Hello'),
      throwsA(isA<RefusedException>()),
    );
  });

  test('instructions are made for each turn', () async {
    final model = MockModel([for (final answer in ['Yes.', 'No.']) Stream.value(says(answer))]);
    final talk = Agent(
      local,
      client: model.client,
      instructionsFrom: (turn) => '${turn.messages.length} in ${turn.thread.thread}.',
    ).conversation(id: 'garden');
    await talk.send('Hello');
    await talk.send('And?');
    expect([for (final request in model.requests) system(request)], ['0 in garden.', '2 in garden.']);
    final broken = Agent(local, client: model.client, instructionsFrom: (_) => throw Exception('no profile'));
    await expectLater(broken.run('Hello'), throwsA(isA<ToolFailedException>()));
  });

  test('a run has a model of its own, and nothing of the agent goes to it', () async {
    final model = MockModel([for (final answer in ['Yes.', 'No.']) Stream.value(says(answer))]);
    final agent = Agent(
      const Model.openaiCompatible('m', baseUrl: 'http://localhost/v1', apiKey: 'secret'),
      client: model.client,
    );
    const other = Model.openaiCompatible('other', baseUrl: 'http://localhost/v2');
    await agent.run('Hello', options: const RunOptions(model: other));
    await agent.run('Hello');
    expect([for (final request in model.requests) request['model']], ['other', 'm']);
    expect(Model.named('openai:gpt-5-mini').name, 'gpt-5-mini');
    expect(() => Model.named('gpt-5-mini'), throwsArgumentError);
  });
}
