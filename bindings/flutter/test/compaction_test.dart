// Long conversations that are compacted before a request.

import 'dart:convert';

import 'package:flutter_test/flutter_test.dart';
import 'package:http/http.dart' as http;
import 'package:http/testing.dart';
import 'package:stepwell/stepwell.dart';

import 'agent_test.dart' show says;

/// A client whose answers are texts; `asked` notes the models and what they were sent.
http.Client client(List<String> answers, List<({String model, String text})> asked) =>
    MockClient.streaming((request, body) async {
      final sent = jsonDecode(utf8.decode(await body.toBytes())) as Map<String, Object?>;
      asked.add((model: '${sent['model']}', text: jsonEncode(sent['messages'])));
      return http.StreamedResponse(
        Stream.value(utf8.encode(says(answers.removeAt(0)))),
        200,
        headers: {'content-type': 'text/event-stream'},
      );
    });

const small = ContextGuard(window: 1600);

final history = [
  for (var at = 0; at < 3; at += 1) {'id': 'old-$at', 'role': 'user', 'content': 'x' * 2000},
];

Model at(String name) => Model.openaiCompatible(name, baseUrl: 'http://localhost/v1');

void main() {
  test('a cheap model summarises, and the next turn begins from there', () async {
    final asked = <({String model, String text})>[];
    final agent = Agent(
      at('large'),
      client: client(['Many x.', 'Yes.', 'Still yes.', 'All x.', 'All of it.'], asked),
      contextGuard: small,
      compaction: const CompactionPolicy(ways: [CompactionWay.dropResults(keep: 5), CompactionWay.summary(keep: 0.2)]),
      summaryModel: at('cheap'),
    );
    final conversation = agent.conversation(history: history);
    expect((await conversation.send('And?')).text, 'Yes.');
    expect([for (final each in asked) each.model], ['cheap', 'large']);
    expect(asked.last.text, contains('Many x.'));
    expect(conversation.messages, hasLength(5));

    expect((await conversation.send('Sure?')).text, 'Still yes.');
    expect(asked, hasLength(3));
    expect(asked.last.text, contains('Many x.'));
    final whole = await conversation.send('Sure?', options: const RunOptions(wholeHistory: true));
    expect(whole.text, 'All of it.');
    expect(asked.last.text, contains('All x.'));
  });

  test('the app compacts', () async {
    final asked = <({String model, String text})>[];
    final agent = Agent(
      at('large'),
      client: client(['Yes.', 'Still yes.'], asked),
      contextGuard: small,
      compaction: const CompactionPolicy(ways: [CompactionWay.host()]),
      trimContext: (overflow, messages) => Trimmed(overflow.newest(0.2), summary: '${messages.length} of many x.'),
    );
    final conversation = agent.conversation(history: history);
    await conversation.send('And?');
    await conversation.send('Sure?');
    for (final each in asked) {
      expect(each.text, contains('4 of many x.'));
    }
  });

  test('what cannot compact is refused', () {
    expect(
      () => Agent(at('large'), compaction: const CompactionPolicy(ways: [CompactionWay.host()])),
      throwsA(isA<MisuseException>()),
    );
  });
}
