import 'dart:async';

import 'package:flutter/foundation.dart';

import 'agent.dart';
import 'chat_reducer.dart';
import 'chat_state.dart';
import 'errors.dart';
import 'events.dart';
import 'ids.dart';
import 'json.dart';
import 'options.dart';
import 'result.dart';
import 'shapes.dart';
import 'start.dart';

/// A conversation as a chat screen needs it: [state] is what the screen shows, listeners are told of each change, and the
/// other methods are what the user does.
///
/// ```dart
/// ListenableBuilder(
///   listenable: session,
///   builder: (context, _) => Column(children: [for (final message in session.state.messages) MessageView(message)]),
/// )
/// ```
///
/// One session drives a conversation. What waits for the user is in the state's `pending`; an `approver` or `answerer` of
/// the agent is asked, too.
final class ChatSession extends ChangeNotifier {
  /// `options` are those of every message: `deps`, `settings` and the like.
  ChatSession(this.conversation, {this.options = const RunOptions()})
      : _reducer = ChatReducer(messages: conversation.messages, tools: conversation.tools) {
    _state = _reducer.state;
  }

  final Conversation conversation;
  final RunOptions options;
  ChatReducer _reducer;
  late ChatState _state;
  Turn<Object?>? _turn;
  bool _isDisposed = false;

  /// The answers to the agent's interrupts, until there are all of them.
  final _resumed = <String, ResumeEntry>{};

  /// What the screen shows now: the same object until something changes.
  ChatState get state => _state;

  /// Loads the conversation from its store; nothing happens without one, or during a turn. Throws the store's exception.
  Future<void> load() async {
    final turns = await conversation.storedTurns();
    await conversation.load();
    if (_turn != null || turns.isEmpty) return;
    _reducer = ChatReducer(turns: turns, tools: conversation.tools);
    _changed();
  }

  /// Sends a message, and returns the result of the turn, or null if the turn failed or was cancelled: the state then has
  /// the problem. Throws a [MisuseException] while another turn is under way: [steer] sends a message during a turn.
  Future<TurnResult<Object?>?> send(String text, {List<Object> parts = const []}) {
    _refuseWhileBusy();
    final start = Start(newId(), text: text, parts: parts);
    final turn = conversation.start(start, options: options);
    _reducer.begin(start.runId, start.message);
    return _follow(turn);
  }

  /// Shows a turn of this conversation that was not begun here, one of `Agent.recover`. [load] the session first.
  Future<TurnResult<Object?>?> follow(Turn<Object?> turn) {
    _refuseWhileBusy();
    _reducer.resume();
    return _follow(turn);
  }

  void _refuseWhileBusy() {
    if (_turn == null) return;
    throw const MisuseException('a turn of this chat is under way', 'wait for it, `cancel` it, or send by `steer`');
  }

  Future<TurnResult<Object?>?> _follow(Turn<Object?> turn) async {
    _turn = turn;
    _changed();
    try {
      await for (final update in turn.updates) {
        _reducer.apply(update);
        _changed();
      }
      final result = await turn.result;
      _reducer.end();
      return result;
    } on StepwellException catch (error) {
      final StepwellException(:kind, :message, :advice, :retryable, :status) = error;
      _reducer.end(ChatProblem(kind, message, advice, retryable: retryable, status: status));
      return null;
    } finally {
      _turn = null;
      _resumed.clear();
      _changed();
    }
  }

  /// Stops the turn under way, if there is one. What has arrived stays.
  void cancel() => _turn?.cancel();

  /// Sends a message during the turn, without stopping it. It is shown once the turn takes it.
  void steer(String text) {
    final turn = _turn;
    if (turn == null) throw const MisuseException('no turn is under way', 'call `send`');
    final id = turn.steer(text);
    _reducer.steer({'id': id, 'role': 'user', 'content': text});
  }

  /// Lets a call run, by the id of what is pending, with other `arguments` than the model's if they are given. A turn that was
  /// loaded from the store, and that a dead process left, continues here. Throws a [MisuseException] if nothing waits under
  /// the id, or the arguments do not fit the tool. The same holds for the following methods.
  Future<void> approve(String id, {JsonObject? arguments}) =>
      _reply(id, (turn) => turn.approve(id, arguments: arguments));

  /// Refuses what is pending under the id: a call may not run, a question has no answer.
  Future<void> deny(String id, {String? reason}) async {
    if (_isInterrupt(id)) return _resume(ResumeEntry.cancelled(id));
    await _reply(id, (turn) => turn.deny(id, reason: reason));
  }

  /// Answers a question of a tool, or one of the state's `interrupts`, with a value that fits its schema.
  Future<void> answer(String id, Object? value) async {
    if (_isInterrupt(id)) return _resume(ResumeEntry.resolved(id, value));
    await _reply(id, (turn) => turn.answer(id, value));
  }

  /// Supplies the result of a deferred call, by the provider's id for it.
  Future<void> resolveCall(String toolCallId, Object? result) =>
      _reply(toolCallId, (turn) => turn.resolveCall(toolCallId, result));

  Future<void> _reply(String id, void Function(Turn<Object?> turn) reply) async {
    if (_turn case final turn?) return reply(turn);
    final continued = await conversation.reply(id, reply, options: options);
    if (continued == null || _turn != null) return;
    unawaited(follow(continued));
  }

  bool _isInterrupt(String id) => _state.interrupts.any((each) => each.id == id);

  void _resume(ResumeEntry entry) {
    _resumed[entry.interruptId] = entry;
    final asked = [for (final interrupt in _state.interrupts) interrupt.id];
    if (!asked.every(_resumed.containsKey)) return;
    final answers = [for (final id in asked) _resumed[id]!];
    _resumed.clear();
    _turn?.resume(answers);
  }

  void _changed() {
    final state = _reducer.state;
    if (_isDisposed || identical(state, _state)) return;
    _state = state;
    notifyListeners();
  }

  /// Lets go of the listeners. A turn under way continues.
  @override
  void dispose() {
    _isDisposed = true;
    super.dispose();
  }
}
