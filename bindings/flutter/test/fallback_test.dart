import 'dart:convert';

import 'package:flutter_test/flutter_test.dart';
import 'package:http/http.dart' as http;
import 'package:http/testing.dart';
import 'package:stepwell/stepwell.dart';

import 'agent_test.dart' show calls, says;

/// A client whose answers are texts, or the status of a refusal; `asked` notes the models and their keys.
http.Client client(List<Object> answers, List<String> asked) => MockClient.streaming((request, body) async {
      final sent = jsonDecode(utf8.decode(await body.toBytes())) as Map<String, Object?>;
      asked.add('${sent['model']} ${request.headers['authorization']}');
      final answer = answers.removeAt(0);
      return http.StreamedResponse(
        Stream.value(utf8.encode(answer is String ? answer : '{}')),
        answer is int ? answer : 200,
        headers: {'content-type': 'text/event-stream'},
      );
    });

/// Two models at an address that no other test has.
Agent agent(
  String place,
  http.Client client, {
  List<ErrorKind>? fallbackAfter,
  ModelChooser? modelFor,
  CredentialSource? credentials,
}) {
  Model at(String name) =>
      Model.openaiCompatible(name, baseUrl: 'http://localhost/$place/v1', apiKey: 'mine', credentials: credentials);
  return Agent(
    at('first'),
    fallback: [at('second')],
    fallbackAfter: fallbackAfter ?? const [ErrorKind.overloaded],
    modelFor: modelFor,
    client: client,
    retry: const RetryPolicy(attempts: 1),
    tools: [Tool('work', 'Works.', run: (_) => 'done')],
  );
}

void main() {
  test('an error names the model that failed last', () async {
    final asked = <String>[];
    final both = agent('both', client([529, 401], asked), fallbackAfter: [ErrorKind.overloaded]);
    await expectLater(
      both.run('Hello'),
      throwsA(isA<AuthenticationException>().having((it) => it.model, 'model', 'second').having((it) => it.status, 'status', 401)),
    );
  });

  test('the second model answers, and the first one rests', () async {
    final asked = <String>[];
    final answers = <Object>[529, says('Yes.'), says('Again.')];
    final turn = agent('rests', client(answers, asked)).stream('Hello');
    final changes = [
      await for (final update in turn.updates)
        if (update case ModelChanged(:final model, :final previous, :final after))
          '${previous.model} to ${model.model} after ${after?.name}',
    ];
    expect(changes, ['first to second after overloaded']);
    expect((await turn.result).text, 'Yes.');
    expect((await agent('rests', client(answers, asked)).run('And?')).text, 'Again.');
    expect(asked, ['first Bearer mine', 'second Bearer mine', 'second Bearer mine']);
  });

  test('other failures end the turn', () async {
    final one = agent('others', client([529], []), fallbackAfter: const [ErrorKind.timeout]);
    await expectLater(one.run('Hello'), throwsA(isA<OverloadedException>()));
  });

  test('the app chooses the model of each hop', () async {
    final asked = <String>[];
    final answers = <Object>[calls({'a': {}}, 'work'), says('Yes.'), says('Still here.')];
    final one = agent('chosen', client(answers, asked), modelFor: (hop) => hop.tools.length);
    expect((await one.run('Hello')).text, 'Yes.');
    final broken = agent('chosen', client(answers, asked), modelFor: (_) => throw StateError('no table'));
    expect((await broken.run('Hello')).text, 'Still here.');
    expect(asked, ['first Bearer mine', 'second Bearer mine', 'first Bearer mine']);
  });

  test('the key of each model is asked for', () async {
    final asked = <String>[];
    final one = agent(
      'keys',
      client([529, says('Yes.')], asked),
      credentials: (request) => Authorization(key: 'key of ${request.model.model}'),
    );
    await one.run('Hello');
    expect(asked, ['first Bearer key of first', 'second Bearer key of second']);
  });
}
