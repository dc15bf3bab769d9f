import 'dart:async';

import 'package:connectivity_plus/connectivity_plus.dart';
import 'package:flutter/material.dart';
import 'package:stepwell/chat.dart';
import 'package:stepwell/stepwell.dart';

void main() => runApp(const ChatApp());

class ChatApp extends StatelessWidget {
  const ChatApp({super.key});

  @override
  Widget build(BuildContext context) => MaterialApp(
        title: 'Stepwell',
        theme: ThemeData(colorSchemeSeed: Colors.teal),
        darkTheme: ThemeData(colorSchemeSeed: Colors.teal, brightness: Brightness.dark),
        home: const ChatPage(),
      );
}

class ChatPage extends StatefulWidget {
  const ChatPage({super.key});

  @override
  State<ChatPage> createState() => _ChatPageState();
}

class _ChatPageState extends State<ChatPage> with WidgetsBindingObserver {
  final _agent = Agent(
    const Model.agUi(String.fromEnvironment('AGENT', defaultValue: 'http://127.0.0.1:8000/agent')),
    tools: [
      Tool(
        'get_time',
        'The time on this device.',
        requiresApproval: true,
        run: (_) => DateTime.now().toIso8601String(),
      ),
    ],
  );
  late final _session = ChatSession(_agent.conversation());
  final _input = TextEditingController();
  late final StreamSubscription<List<ConnectivityResult>> _network;

  @override
  void initState() {
    super.initState();
    WidgetsBinding.instance.addObserver(this);
    _network = Connectivity().onConnectivityChanged.listen((results) {
      results.contains(ConnectivityResult.none) ? _agent.networkLost() : _agent.networkAvailable();
    });
  }

  @override
  void dispose() {
    WidgetsBinding.instance.removeObserver(this);
    unawaited(_network.cancel());
    _session.dispose();
    _agent.close();
    _input.dispose();
    super.dispose();
  }

  @override
  void didChangeAppLifecycleState(AppLifecycleState state) {
    switch (state) {
      case AppLifecycleState.paused:
        _agent.enteredBackground();
      case AppLifecycleState.resumed:
        _agent.enteredForeground();
      default:
        break;
    }
  }

  void _send() {
    final text = _input.text.trim();
    if (text.isEmpty) return;
    _input.clear();
    if (_session.state.status.isBusy) {
      _session.steer(text);
    } else {
      unawaited(_session.send(text));
    }
  }

  @override
  Widget build(BuildContext context) => Scaffold(
        appBar: AppBar(title: const Text('Stepwell')),
        body: SafeArea(
          child: ListenableBuilder(listenable: _session, builder: (context, _) => _chat(_session.state)),
        ),
      );

  Widget _chat(ChatState state) => Column(
        children: [
          Expanded(
            child: ListView.builder(
              reverse: true,
              padding: const EdgeInsets.all(16),
              itemCount: state.messages.length,
              itemBuilder: (context, index) => MessageView(state.messages[state.messages.length - 1 - index]),
            ),
          ),
          if (state.connection.state == 'offline') const Text('There is no network.'),
          if (state.problem case final problem?) Text('${problem.message}; ${problem.advice}'),
          if (_asked(state) case final asked?) QuestionView(asked, key: ValueKey(asked.id)),
          Padding(
            padding: const EdgeInsets.all(8),
            child: Row(
              children: [
                Expanded(
                  child: TextField(
                    controller: _input,
                    decoration: const InputDecoration(labelText: 'Message', border: OutlineInputBorder()),
                    onSubmitted: (_) => _send(),
                  ),
                ),
                IconButton(icon: const Icon(Icons.send), tooltip: 'Send', onPressed: _send),
                if (state.status.isBusy)
                  IconButton(icon: const Icon(Icons.stop), tooltip: 'Stop', onPressed: _session.cancel),
              ],
            ),
          ),
        ],
      );

  /// What the user is asked first.
  Question? _asked(ChatState state) {
    for (final Pending(:id, :kind, :tool, :label, :message) in state.pending) {
      void deny() => unawaited(_session.deny(id));
      if (kind == PendingKind.approval) {
        return Question(id, 'Allow ${label ?? tool}?', true, (_) => unawaited(_session.approve(id)), deny);
      }
      if (kind == PendingKind.question) {
        return Question(id, message ?? tool, false, (text) => unawaited(_session.answer(id, text)), deny);
      }
    }
    for (final Interrupt(:id, :message, :json) in state.interrupts) {
      final schema = json['responseSchema'];
      final properties = schema is Map ? schema['properties'] : null;
      final isApproval = properties is Map && properties.containsKey('approved');
      void answer(String text) => unawaited(_session.answer(id, isApproval ? {'approved': true} : text));
      return Question(id, message ?? 'The agent asks you.', isApproval, answer, () => unawaited(_session.deny(id)));
    }
    return null;
  }
}

/// What the user is asked, and what becomes of the answer.
final class Question {
  const Question(this.id, this.text, this.isApproval, this.onAnswer, this.onDeny);

  final String id;
  final String text;

  /// Whether it wants a yes or a no.
  final bool isApproval;
  final void Function(String text) onAnswer;
  final void Function() onDeny;
}

/// One question after the other.
class QuestionView extends StatefulWidget {
  const QuestionView(this.question, {super.key});

  final Question question;

  @override
  State<QuestionView> createState() => _QuestionViewState();
}

class _QuestionViewState extends State<QuestionView> {
  final _input = TextEditingController();

  @override
  void dispose() {
    _input.dispose();
    super.dispose();
  }

  @override
  Widget build(BuildContext context) {
    final isApproval = widget.question.isApproval;
    return Card(
      margin: const EdgeInsets.all(8),
      child: Padding(
        padding: const EdgeInsets.all(12),
        child: Column(
          crossAxisAlignment: CrossAxisAlignment.start,
          children: [
            Text(widget.question.text),
            if (!isApproval) TextField(controller: _input, decoration: const InputDecoration(labelText: 'Answer')),
            OverflowBar(
              children: [
                TextButton(onPressed: widget.question.onDeny, child: Text(isApproval ? 'Deny' : 'Dismiss')),
                FilledButton(
                  onPressed: () => widget.question.onAnswer(_input.text),
                  child: Text(isApproval ? 'Allow' : 'Answer'),
                ),
              ],
            ),
          ],
        ),
      ),
    );
  }
}

class MessageView extends StatelessWidget {
  const MessageView(this.message, {super.key});

  final ChatMessage message;

  @override
  Widget build(BuildContext context) {
    final colours = Theme.of(context).colorScheme;
    final parts = [
      for (final part in message.parts)
        switch (part) {
          TextPart(:final text) => SelectableText(text),
          ToolPart(:final card) => Text(
              '${card.label}: ${card.progress ?? card.failure ?? card.status.name}',
              style: TextStyle(color: colours.outline),
            ),
          ReasoningPart(:final text) => Text(text, style: TextStyle(color: colours.outline)),
          MediaPart() || ActivityPart() => const SizedBox.shrink(),
        },
    ];
    final column = Column(crossAxisAlignment: CrossAxisAlignment.start, children: parts);
    return Padding(
      padding: const EdgeInsets.symmetric(vertical: 6),
      child: message.isUser
          ? Align(
              alignment: Alignment.centerRight,
              child: Card(
                color: colours.primaryContainer,
                child: Padding(padding: const EdgeInsets.all(10), child: column),
              ),
            )
          : column,
    );
  }
}
