import 'dart:convert';
import 'dart:ffi';

import 'chat_state.dart';
import 'json.dart';
import 'machine.dart';
import 'native.dart';
import 'shapes.dart';

/// Builds a [ChatState] from stored turns, the actions of the app, and the events of the turn under way, for apps that
/// drive turns themselves; `ChatSession` does that for a conversation. The app passes on, in order, every event.
final class ChatReducer implements Finalizable {
  /// The chat of stored `turns`, or of a conversation of `messages` without them. `tools` are the agent's, for the schemas
  /// of approvals.
  ChatReducer({
    List<TurnRecord> turns = const [],
    List<JsonObject> messages = const [],
    List<ToolDefinition> tools = const [],
  }) : _chat = _made({
          if (turns.isNotEmpty) 'turns': [for (final turn in turns) turn.toJson()] else 'messages': messages,
          'tools': [for (final tool in tools) tool.toJson()],
        }) {
    _finalizer.attach(this, _chat.cast(), detach: this);
  }

  static final _finalizer = NativeFinalizer(Native.instance.freeChat.cast());

  final Pointer<NativeChat> _chat;
  ChatState _state = const ChatState();

  static Pointer<NativeChat> _made(JsonObject making) {
    final native = Native.instance;
    final json = utf8.encode(jsonEncode(making));
    return native.made((refusal) => Native.lent(json, (data, length) => native.makeChat(data, length, refusal)));
  }

  Object? _call(String chat, [JsonObject fields = const {}]) {
    final native = Native.instance;
    final json = utf8.encode(jsonEncode({'chat': chat, ...given(fields)}));
    final now = DateTime.now().millisecondsSinceEpoch;
    return native.answered(Native.lent(json, (data, length) => native.callChat(_chat, data, length, now)))['answer'];
  }

  /// Begins a turn with the user's message.
  void begin(String turn, JsonObject? message) => _call('begin', {'turn': turn, 'message': message});

  /// Continues the last stored turn, which did not end: its events follow.
  void resume() => _call('resume');

  /// Notes a message that the user sends during the turn. It is shown once the turn takes it.
  void steer(JsonObject message) => _call('steer', {'message': message});

  /// Applies an event of the turn under way.
  void apply(RunEvent event) => _call('apply', {
        'events': [jsonOf(event)],
      });

  /// Ends the turn of an `Agent`, whose end is no update; the event `TurnCompleted` of a `RunMachine` does so, too.
  void end([ChatProblem? problem]) => _call('end', {'problem': problem?.toJson()});

  /// The state now: the same object as before if nothing has changed.
  ChatState get state {
    final update = _call('update') as JsonObject?;
    if (update == null) return _state;
    final messages = {for (final message in _state.messages) message.id: message};
    for (final message in update.objects('messages')) {
      messages[message.text('id')] = ChatMessage.fromJson(message);
    }
    final order = update['order'] == null ? messages.keys : update.texts('order');
    return _state = ChatState.fromJson(update, [for (final id in order) messages[id]!]);
  }
}
