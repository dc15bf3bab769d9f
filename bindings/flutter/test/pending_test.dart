import 'package:flutter_test/flutter_test.dart';
import 'package:stepwell/chat.dart';
import 'package:stepwell/stepwell.dart';

import 'agent_test.dart' show MockModel, calls, local, says;

Tool pay(List<Object?> paid) => Tool(
      'pay',
      'Pays.',
      properties: {'sum': Schema.integer('How much.')},
      requiresApproval: true,
      run: (call) {
        paid.add(call.arguments['sum']);
        return 'paid';
      },
    );

MockModel paying() => MockModel([
      Stream.value(calls({
        'c': {'sum': 1},
      }, 'pay')),
      Stream.value(says('Done.')),
    ]);

void main() {
  test('a call that waits is data, and a reply is taken once', () async {
    final paid = <Object?>[];
    final agent = Agent(local, tools: [pay(paid)], client: paying().client);
    final turn = agent.conversation().stream('Pay');
    await turn.rested();
    final [Pending(:id, :kind, :tool)] = turn.pending;
    expect((id, kind, tool), ('c', PendingKind.approval, 'pay'));
    expect(() => turn.answer('c', 'yes'), throwsA(isA<MisuseException>()));
    turn.approve('c', arguments: {'sum': 2});
    expect(() => turn.approve('c'), throwsA(isA<MisuseException>()));
    expect((await turn.result).text, 'Done.');
    expect(paid, [2]);
  });

  test('nobody can reply to a run', () async {
    final paid = <Object?>[];
    final agent = Agent(local, tools: [pay(paid)], client: paying().client);
    expect((await agent.run('Pay')).text, 'Done.');
    expect(paid, isEmpty);
  });

  test('the model sees what a tool throws only if the agent wants that', () async {
    final broken = Tool('pay', 'Pays.', run: (_) => throw StateError('no table'));
    for (final policy in [OnToolError.tellModel, OnToolError.showModel]) {
      final agent = Agent(local, tools: [broken], client: paying().client, onToolError: policy);
      final told = '${(await agent.run('Pay')).messages}';
      expect(told.contains('no table'), policy == OnToolError.showModel);
    }
  });

  test('a broken tool fails the turn if the agent wants that', () async {
    final broken = Tool('pay', 'Pays.', run: (_) => throw StateError('no table'));
    final agent = Agent(local, tools: [broken], client: paying().client, onToolError: OnToolError.fail);
    await expectLater(agent.run('Pay'), throwsA(isA<ToolFailedException>()));
  });

  test('a screen shows what waits, and replies', () async {
    final paid = <Object?>[];
    final agent = Agent(local, tools: [pay(paid)], client: paying().client);
    final session = ChatSession(agent.conversation());
    final waits = <ChatStatus>[];
    session.addListener(() {
      if (session.state.status != ChatStatus.waitingForUser || session.state.pending.isEmpty) return;
      if (waits.isEmpty) session.approve(session.state.pending.first.id);
      waits.add(session.state.status);
    });
    await session.send('Pay');
    expect(waits, isNotEmpty);
    expect(session.state.status, ChatStatus.ready);
    expect(session.state.pending, isEmpty);
    expect(paid, [1]);
  });
}
