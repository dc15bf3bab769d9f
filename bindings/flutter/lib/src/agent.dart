import 'dart:async';
import 'dart:convert';
import 'dart:math';

import 'package:http/http.dart' as http;

import 'effects.dart';
import 'errors.dart';
import 'events.dart';
import 'json.dart';
import 'machine.dart';
import 'outcomes.dart';
import 'registry.dart';
import 'shapes.dart';
import 'threads.dart';
import 'tools.dart';
import 'transport.dart';
import 'turn_exceptions.dart';

part 'turn.dart';

/// Asks the user whether a tool may run.
typedef Approver = Future<Decision> Function(ToolInvocation invocation);

/// Takes whole lines of the journal of a turn, for `stepwell replay`. They hold all that is said, but no key.
typedef JournalSink = void Function(String turn, String lines);

/// What the user says to a tool that asks to run.
sealed class Decision {
  const Decision();
}

/// It may.
final class Granted extends Decision {
  const Granted();
}

/// It may not. The reason is for the model to read.
final class Denied extends Decision {
  const Denied([this.reason]);
  final String? reason;
}

/// It may, with other arguments than the model's. The model is told.
final class Edited extends Decision {
  const Edited(this.arguments);
  final JsonObject arguments;
}

/// A turn that is over.
final class Finished {
  const Finished(this.outcome, this.text, this.messages, this.usage, this.hops);

  final Outcome outcome;

  /// All that the model said in it.
  final String text;

  /// The conversation after it: AG-UI messages.
  final List<JsonObject> messages;

  /// What it cost, over all its hops.
  final TokenUsage usage;

  /// How many streams it took.
  final int hops;

  /// Itself, if the answer is whole; else throws the [TurnException] of the kind.
  Finished get whole => switch (outcome.problem) {
        null => this,
        final problem? => throw TurnException.of(problem, this),
      };
}

/// What all threads of an agent share.
final class _Shared {
  _Shared(this.config, this.tools, this.approver, this.client, this.journal, {required this.ownsClient});

  final RunConfig config;
  final Map<String, Tool> tools;
  final Approver? approver;
  final http.Client client;
  final JournalSink? journal;
  final bool ownsClient;
  final threads = <ThreadKey, _Thread>{};
  late final registry = RunRegistry();
  bool isInBackground = false;
  bool isOffline = false;

  _Thread thread(ThreadKey key, {List<JsonObject> messages = const [], Object? state}) =>
      threads.putIfAbsent(key, () => _Thread(key, messages, state ?? const <String, Object?>{}));

  void tellAll(Outputs Function(RunMachine machine) input) {
    for (final thread in threads.values.toList()) {
      thread.current?._tell(input);
    }
  }
}

/// One conversation.
final class _Thread {
  _Thread(this.key, this.messages, this.state);

  final ThreadKey key;
  List<JsonObject> messages;
  Object? state;
  Turn? current;
}

/// A conversation with a model and the app's tools, with the network inside: a [RunMachine] for each turn, and
/// `package:http` to carry out what it asks for.
final class Agent {
  /// `approver` asks the user about the tools that need it; without one they are denied. `history` is an earlier
  /// conversation to go on with, `sharedState` what is shared with an AG-UI agent: an empty object if left out. `client` may be
  /// the platform's own, such as `cupertino_http`'s or `cronet_http`'s; one that is given is not closed by [close].
  /// `journal` takes the journals of the turns.
  factory Agent(
    RunConfig config, {
    List<Tool> tools = const [],
    Approver? approver,
    String? threadId,
    List<JsonObject> history = const [],
    Object? sharedState,
    http.Client? client,
    JournalSink? journal,
  }) {
    if (config.tools case [final tool, ...]) {
      throw StepwellException(
        StepwellErrorKind.configuration,
        'the tool `${tool.name}` has no code',
        'give the agent its tools as `tools`, and leave those of the configuration empty',
      );
    }
    final shared = _Shared(
      config.copyWith(tools: [for (final tool in tools) tool.definition]),
      {for (final tool in tools) tool.definition.name: tool},
      approver,
      client ?? http.Client(),
      journal,
      ownsClient: client == null,
    );
    final key = ThreadKey(threadId ?? _newId());
    return Agent._(shared, shared.thread(key, messages: history, state: sharedState));
  }

  Agent._(this._shared, this._thread);

  final _Shared _shared;
  final _Thread _thread;

  /// The conversation's id.
  String get threadId => _thread.key.thread;

  /// The conversation's id, with its room and server.
  ThreadKey get threadKey => _thread.key;

  /// The conversation as it was after the last turn: AG-UI messages, oldest first.
  List<JsonObject> get messages => _thread.messages;

  /// The state shared with an AG-UI agent, as it was after the last turn.
  Object? get sharedState => _thread.state;

  /// Which threads have a turn under way, what the user looks at, and what is unread: of this agent and of those that
  /// [thread] gave. Say with `lookAt` what the user looks at. Its runs are the agent's turns: leave it to the agent to
  /// register, to complete and to remove them.
  RunRegistry get registry => _shared.registry;

  /// Another conversation with the same model and tools: the one that goes by this key, or a new one.
  Agent thread(ThreadKey key) => Agent._(_shared, _shared.thread(key));

  /// Cancels the thread's turn, if one is under way, and forgets its conversation. An agent on the thread that is still
  /// held is not to be used any more.
  void forgetThread(ThreadKey key) {
    final thread = _shared.threads.remove(key);
    registry.remove(key);
    thread?.current?.cancel();
  }

  /// Says something to the model. A turn of this thread that is still under way is cancelled first: the user has moved on.
  Turn send(String text) {
    _thread.current?.cancel();
    final machine = RunMachine(
      _shared.config,
      threadId,
      history: _thread.messages,
      sharedState: _thread.state,
      journal: _shared.journal != null,
    );
    return _begin(machine, () => machine.start(_newId(), text: text));
  }

  /// Says something to the model and waits for its whole answer; throws a [TurnException] where it is not whole.
  /// [Turn.finish] gives the turn however it ended.
  Future<Finished> sendAndWait(String text) async => (await send(text).finish()).whole;

  /// Goes on with a stored turn, of [Turn.snapshot], in a later process, on the thread of the snapshot.
  Turn revive(String snapshot) {
    final machine = RunMachine.revive(snapshot, _shared.config, journal: _shared.journal != null);
    final ThreadKey(:room, :server) = _thread.key;
    final on = thread(ThreadKey(machine.threadId, room: room, server: server));
    return on._begin(machine, machine.pollOutputs);
  }

  Turn _begin(RunMachine machine, Outputs Function() begin) {
    final registry = _shared.registry;
    final thread = _thread;
    thread.current?.cancel();
    var handle = registry.register(thread.key).handle;
    late final Turn turn;
    void told(RunEvent event) {
      if (event is! HopStarted) return;
      try {
        handle = registry.replace(handle);
      } on StepwellException {
        // Whoever took the thread over has it: this turn stops.
        scheduleMicrotask(turn.cancel);
      }
    }

    void over(Finished finished) {
      thread.messages = finished.messages;
      thread.state = machine.sharedState;
      if (identical(thread.current, turn)) thread.current = null;
      try {
        registry.complete(handle, finished.outcome);
      } on StepwellException {
        // For the registry it was over before.
      }
    }

    turn = Turn._(machine, _shared, told, over);
    thread.current = turn;
    turn._take(begin);
    // A new run knows nothing of the device.
    if (_shared.isInBackground) turn._tell((machine) => machine.enteredBackground());
    if (_shared.isOffline) turn._tell((machine) => machine.networkLost());
    return turn;
  }

  /// The app goes to the background; see `DevicePolicy`. As what follows, it holds for the turns of all threads, and later
  /// ones.
  void enteredBackground() {
    _shared.isInBackground = true;
    _shared.tellAll((machine) => machine.enteredBackground());
  }

  /// The app is in the foreground again.
  void enteredForeground() {
    _shared.isInBackground = false;
    _shared.tellAll((machine) => machine.enteredForeground());
  }

  /// The network is gone.
  void networkLost() {
    _shared.isOffline = true;
    _shared.tellAll((machine) => machine.networkLost());
  }

  /// There is a network, or another one took the place of the one before.
  void networkAvailable() {
    _shared.isOffline = false;
    _shared.tellAll((machine) => machine.networkAvailable());
  }

  /// Cancels the turns under way, of all threads, and lets go of the connections.
  void close() {
    for (final thread in _shared.threads.values.toList()) {
      thread.current?.cancel();
    }
    if (_shared.ownsClient) _shared.client.close();
  }

  static final _random = Random.secure();

  static String _newId() =>
      [for (var i = 0; i < 16; i++) _random.nextInt(256).toRadixString(16).padLeft(2, '0')].join();
}
