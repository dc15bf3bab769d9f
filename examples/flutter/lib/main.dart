import 'dart:async';
import 'dart:convert';

import 'package:connectivity_plus/connectivity_plus.dart';
import 'package:flutter/material.dart';
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

/// Something on the screen.
final class Line {
  Line(this.id, this.who, this.text);

  final String id;
  final Who who;
  String text;
}

enum Who { user, model, tool, notice }

class ChatPage extends StatefulWidget {
  const ChatPage({super.key});

  @override
  State<ChatPage> createState() => _ChatPageState();
}

/// What a turn asks the user; several may be open at once.
final class Question {
  Question(this.text, {required this.isApproval});

  final String text;

  /// Whether it wants a yes or a no.
  final bool isApproval;
  final _answer = Completer<String?>();

  /// The answer; `null` if there is none.
  Future<String?> get answer => _answer.future;
}

class _ChatPageState extends State<ChatPage> with WidgetsBindingObserver {
  late final _agent = Agent(
    const Model.agUi(String.fromEnvironment('AGENT', defaultValue: 'http://127.0.0.1:8000/agent')),
    // Each message is shown by itself.
    text: const TextOptions(breakAfterTools: false),
    tools: [
      Tool('get_time', 'The time on this device.', run: (_) => DateTime.now().toIso8601String()),
    ],
    approver: (call) async {
      final answer = await _ask(Question('Allow ${call.name}? ${call.rawArguments}', isApproval: true));
      return answer == null ? const Denied() : const Granted();
    },
  );
  late final _conversation = _agent.conversation();
  final _input = TextEditingController();
  final _lines = <Line>[];
  final _questions = <Question>[];
  late final StreamSubscription<List<ConnectivityResult>> _network;
  Turn<String>? _turn;

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

  Future<void> _send() async {
    final text = _input.text.trim();
    if (text.isEmpty || _turn != null) return;
    _input.clear();
    final turn = _conversation.stream(text);
    setState(() {
      _lines.add(Line('user-${_lines.length}', Who.user, text));
      _turn = turn;
    });
    try {
      await for (final event in turn.events) {
        if (!mounted) return;
        setState(() => _show(event));
      }
    } on CancelledException {
      // As the user wanted.
    } on StepwellException catch (error) {
      if (mounted) setState(() => _notice('$error'));
    }
    if (!mounted) return;
    setState(() {
      _turn = null;
      _questions.clear();
    });
  }

  Future<String?> _ask(Question question) {
    setState(() => _questions.add(question));
    return question.answer;
  }

  void _answer(Question question, String? answer) {
    setState(() => _questions.remove(question));
    question._answer.complete(answer);
  }

  /// Answers all that the agent asks; it wants the answers together.
  Future<void> _answerAgent(List<Interrupt> interrupts) async {
    final turn = _turn;
    final answers = await Future.wait([
      for (final interrupt in interrupts)
        () async {
          final properties = (interrupt.json['responseSchema'] as JsonObject?)?['properties'];
          final isApproval = properties is Map && properties.containsKey('approved');
          final answer = await _ask(Question(interrupt.message ?? 'The agent asks you.', isApproval: isApproval));
          if (isApproval) return ResumeEntry.resolved(interrupt.id, {'approved': answer != null});
          return answer == null ? ResumeEntry.cancelled(interrupt.id) : ResumeEntry.resolved(interrupt.id, _value(answer));
        }(),
    ]);
    if (mounted && turn == _turn) turn?.resume(answers);
  }

  /// An agent may want JSON: what is none is a text.
  static Object? _value(String text) {
    try {
      return jsonDecode(text);
    } on FormatException {
      return text;
    }
  }

  void _show(RunEvent event) {
    switch (event) {
      case TextMessageContent(:final messageId, :final delta):
        _line(messageId, Who.model).text += delta;
      case ToolCallUpdate(:final toolCallId, :final name, :final status, :final content, :final failure):
        _line(toolCallId, Who.tool).text = '$name: ${failure ?? content ?? status.name}';
      case Interrupted(:final interrupts):
        unawaited(_answerAgent(interrupts));
      case WaitingForNetwork():
        _notice('There is no network.');
      case Retrying(:final reason):
        _notice(reason);
      default:
        break;
    }
  }

  Line _line(String id, Who who) {
    for (final line in _lines.reversed) {
      if (line.id == id) return line;
    }
    final line = Line(id, who, '');
    _lines.add(line);
    return line;
  }

  void _notice(String text) => _lines.add(Line('notice-${_lines.length}', Who.notice, text));

  @override
  Widget build(BuildContext context) {
    final turn = _turn;
    return Scaffold(
      appBar: AppBar(title: const Text('Stepwell')),
      body: SafeArea(
        child: Column(
          children: [
            Expanded(
              child: ListView.builder(
                reverse: true,
                padding: const EdgeInsets.all(16),
                itemCount: _lines.length,
                itemBuilder: (context, index) => LineView(_lines[_lines.length - 1 - index]),
              ),
            ),
            if (_questions.isNotEmpty)
              QuestionView(
                _questions.first,
                key: ObjectKey(_questions.first),
                onAnswer: (answer) => _answer(_questions.first, answer),
              ),
            Padding(
              padding: const EdgeInsets.all(8),
              child: Row(
                children: [
                  Expanded(
                    child: TextField(
                      controller: _input,
                      decoration: const InputDecoration(labelText: 'Message', border: OutlineInputBorder()),
                      onSubmitted: (_) => unawaited(_send()),
                    ),
                  ),
                  if (turn == null)
                    IconButton(icon: const Icon(Icons.send), tooltip: 'Send', onPressed: () => unawaited(_send()))
                  else
                    IconButton(icon: const Icon(Icons.stop), tooltip: 'Stop', onPressed: turn.cancel),
                ],
              ),
            ),
          ],
        ),
      ),
    );
  }
}

/// One question after the other.
class QuestionView extends StatefulWidget {
  const QuestionView(this.question, {required this.onAnswer, super.key});

  final Question question;
  final void Function(String? answer) onAnswer;

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
                TextButton(onPressed: () => widget.onAnswer(null), child: Text(isApproval ? 'Deny' : 'Dismiss')),
                FilledButton(
                  onPressed: () => widget.onAnswer(_input.text),
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

class LineView extends StatelessWidget {
  const LineView(this.line, {super.key});

  final Line line;

  @override
  Widget build(BuildContext context) {
    final colours = Theme.of(context).colorScheme;
    return Padding(
      padding: const EdgeInsets.symmetric(vertical: 6),
      child: switch (line.who) {
        Who.user => Align(
            alignment: Alignment.centerRight,
            child: Card(
              color: colours.primaryContainer,
              child: Padding(padding: const EdgeInsets.all(10), child: Text(line.text)),
            ),
          ),
        Who.model => SelectableText(line.text),
        Who.tool => Text(line.text, style: TextStyle(color: colours.outline)),
        Who.notice => Text(line.text, style: TextStyle(color: colours.error)),
      },
    );
  }
}
