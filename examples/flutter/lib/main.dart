import 'dart:async';

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

enum Who { person, model, tool, notice }

class ChatPage extends StatefulWidget {
  const ChatPage({super.key});

  @override
  State<ChatPage> createState() => _ChatPageState();
}

class _ChatPageState extends State<ChatPage> with WidgetsBindingObserver {
  final _agent = Agent(
    const RunConfig(
      provider: 'ag-ui',
      baseUrl: String.fromEnvironment('AGENT', defaultValue: 'http://127.0.0.1:8000/agent'),
    ),
    tools: [
      Tool('get_time', 'The time on this device.', run: (_) => DateTime.now().toIso8601String()),
    ],
  );
  final _input = TextEditingController();
  final _lines = <Line>[];
  Turn? _turn;

  @override
  void initState() {
    super.initState();
    WidgetsBinding.instance.addObserver(this);
  }

  @override
  void dispose() {
    WidgetsBinding.instance.removeObserver(this);
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
    final turn = _agent.send(text);
    setState(() {
      _lines.add(Line('person-${_lines.length}', Who.person, text));
      _turn = turn;
    });
    try {
      await for (final event in turn.events) {
        if (!mounted) return;
        setState(() => _show(event));
      }
    } on StepwellException catch (error) {
      if (mounted) setState(() => _notice('$error'));
    }
    if (mounted) setState(() => _turn = null);
  }

  void _show(Event event) {
    switch (event) {
      case TextMessageContent(:final messageId, :final delta):
        _line(messageId, Who.model).text += delta;
      case ToolCallUpdate(:final toolCallId, :final name, :final status, :final content, :final failure):
        _line(toolCallId, Who.tool).text = '$name: ${failure ?? content ?? status.name}';
      case Retrying(:final reason):
        _notice(reason);
      case TurnCompleted(outcome: Outcome(problem: Problem(:final kind, :final message)))
          when kind != ProblemKind.stopped:
        _notice(message);
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

class LineView extends StatelessWidget {
  const LineView(this.line, {super.key});

  final Line line;

  @override
  Widget build(BuildContext context) {
    final colours = Theme.of(context).colorScheme;
    return Padding(
      padding: const EdgeInsets.symmetric(vertical: 6),
      child: switch (line.who) {
        Who.person => Align(
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
