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
import 'shapes.dart';
import 'tools.dart';
import 'transport.dart';
import 'turn_exceptions.dart';

/// Asks the user whether a tool may run.
typedef Approver = Future<Decision> Function(ToolInvocation invocation);

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

/// A conversation with a model and the app's tools, with the network inside: a [RunMachine] for each turn, and
/// `package:http` to carry out what it asks for.
final class Agent {
  /// `approver` asks the user about the tools that need it; without one they are denied. `history` is an earlier
  /// conversation to go on with, `sharedState` what is shared with an AG-UI agent: an empty object if left out. `client` may be
  /// the platform's own, such as `cupertino_http`'s or `cronet_http`'s; one that is given is not closed by [close].
  Agent(
    RunConfig config, {
    List<Tool> tools = const [],
    Approver? approver,
    String? threadId,
    List<JsonObject> history = const [],
    Object? sharedState,
    http.Client? client,
  })  : _config = config.copyWith(tools: [for (final tool in tools) tool.definition]),
        _tools = {for (final tool in tools) tool.definition.name: tool},
        _approver = approver,
        threadId = threadId ?? _newId(),
        _messages = history,
        _state = sharedState ?? const <String, Object?>{},
        _client = client ?? http.Client(),
        _ownsClient = client == null {
    if (config.tools case [final tool, ...]) {
      throw StepwellException(
        StepwellErrorKind.configuration,
        'the tool `${tool.name}` has no code',
        'give the agent its tools as `tools`, and leave those of the configuration empty',
      );
    }
  }

  final RunConfig _config;
  final Map<String, Tool> _tools;
  final Approver? _approver;
  final http.Client _client;
  final bool _ownsClient;
  List<JsonObject> _messages;
  Object? _state;
  Turn? _current;
  bool _isInBackground = false;
  bool _isOffline = false;

  /// The conversation's id.
  final String threadId;

  /// The conversation as it was after the last turn: AG-UI messages, oldest first.
  List<JsonObject> get messages => _messages;

  /// The state shared with an AG-UI agent, as it was after the last turn.
  Object? get sharedState => _state;

  /// Says something to the model. A turn that is still under way is cancelled first: the user has moved on.
  Turn send(String text) {
    _current?.cancel();
    final machine = RunMachine(_config, threadId, history: _messages, sharedState: _state);
    return _begin(machine, () => machine.start(_newId(), text: text));
  }

  /// Says something to the model and waits for its whole answer; throws a [TurnException] where it is not whole.
  /// [Turn.finish] gives the turn however it ended.
  Future<Finished> sendAndWait(String text) async => (await send(text).finish()).whole;

  /// Goes on with a stored turn, of [Turn.snapshot], in a later process.
  Turn revive(String snapshot) {
    _current?.cancel();
    final machine = RunMachine.revive(snapshot, _config);
    return _begin(machine, machine.pollOutputs);
  }

  Turn _begin(RunMachine machine, Outputs Function() begin) {
    final turn = Turn._(machine, _tools, _approver, _client, (finished) {
      _messages = finished.messages;
      _state = machine.sharedState;
    });
    _current = turn;
    turn._take(begin);
    // A new run knows nothing of the device.
    if (_isInBackground) enteredBackground();
    if (_isOffline) networkLost();
    return turn;
  }

  /// The app goes to the background; see `DevicePolicy`. As what follows, it holds for this turn and the next ones.
  void enteredBackground() {
    _isInBackground = true;
    _current?._tell((machine) => machine.enteredBackground());
  }

  /// The app is in the foreground again.
  void enteredForeground() {
    _isInBackground = false;
    _current?._tell((machine) => machine.enteredForeground());
  }

  /// The network is gone.
  void networkLost() {
    _isOffline = true;
    _current?._tell((machine) => machine.networkLost());
  }

  /// There is a network, or another one took the place of the one before.
  void networkAvailable() {
    _isOffline = false;
    _current?._tell((machine) => machine.networkAvailable());
  }

  /// Cancels the turn under way and lets go of the connections.
  void close() {
    _current?.cancel();
    if (_ownsClient) _client.close();
  }

  static final _random = Random.secure();

  static String _newId() =>
      [for (var i = 0; i < 16; i++) _random.nextInt(256).toRadixString(16).padLeft(2, '0')].join();
}

/// A turn under way.
final class Turn {
  Turn._(this._machine, this._tools, this._approver, http.Client client, this._onFinished) {
    _transport = Transport(client, _take);
    _events.onListen = () => _isListenedTo = true;
    _events.onCancel = cancel;
    _events.onPause = _transport.pause;
    _events.onResume = _transport.resume;
  }

  final RunMachine _machine;
  final Map<String, Tool> _tools;
  final Approver? _approver;
  final void Function(Finished) _onFinished;
  late final Transport _transport;
  final _events = StreamController<RunEvent>();
  final _finished = Completer<Finished>();
  final _working = <String, Completer<void>>{};
  final _resting = <Completer<String>>[];
  bool _isListenedTo = false;
  Timer? _timer;

  /// What happens, until the turn is over; the last event is [TurnCompleted]. To be listened to once. Letting go of the
  /// subscription cancels the turn, and pausing it holds up the model.
  Stream<RunEvent> get events => _events.stream;

  /// Waits for the end of the turn, and gives the turn however it ended.
  ///
  /// Where nobody has listened to [events], nobody sees what an AG-UI agent asks meanwhile: it is told that there is no
  /// answer, and where it asks once more, the turn is cancelled.
  Future<Finished> finish() async {
    if (!_isListenedTo) {
      var asked = false;
      await for (final event in events) {
        if (event case Interrupted(:final interrupts)) {
          asked ? cancel() : resume([for (final each in interrupts) ResumeEntry.cancelled(each.id)]);
          asked = true;
        }
      }
    }
    return _finished.future;
  }

  bool get _isOver => _finished.isCompleted;

  /// Stops the turn: its tools are told, its connection is closed. The events up to its end still come.
  void cancel() => _tell((machine) => machine.cancel());

  /// Says something during the turn, without stopping it. Gives the message's id.
  String steer(String text) {
    final id = Agent._newId();
    _said((machine) => machine.steer({'id': id, 'role': 'user', 'content': text}));
    return id;
  }

  /// Answers what an AG-UI agent asked with the event `Interrupted`, all of it at once.
  void resume(List<ResumeEntry> answers) => _said((machine) => machine.resume(answers));

  /// Stops one tool call. The others go on, and the model is told.
  void cancelCall(CallKey call) => _said((machine) => machine.cancelCall(call));

  /// Brings the result of a deferred tool call, by the provider's id for it.
  void finishCall(String toolCallId, Object? result) =>
      _said((machine) => machine.toolFinished(_awaited(toolCallId), _content(result)));

  /// The same for a call that failed; the model is shown the message.
  void failCall(String toolCallId, String message) =>
      _said((machine) => machine.toolFailed(_awaited(toolCallId), message));

  /// The turn as text, as it stands, for `Agent.revive` in a later process. It holds no key. A turn that goes on after its
  /// snapshot was taken may run tools that the snapshot knows nothing of: prefer [rested].
  String get snapshot => _isOver ? throw _over : _machine.snapshot;

  /// Waits until nothing but the user, or the result of a deferred call, can move the turn on, and gives its [snapshot].
  Future<String> rested() {
    if (_isOver) throw _over;
    if (_machine.isResting) return Future.value(_machine.snapshot);
    final rested = Completer<String>();
    _resting.add(rested);
    return rested.future;
  }

  static const _over = StepwellException(StepwellErrorKind.misuse, 'the turn is over', 'begin another turn');

  String _awaited(String toolCallId) =>
      _machine.awaitedResult(toolCallId) ??
      (throw const StepwellException(
        StepwellErrorKind.misuse,
        'no result of this call is awaited',
        'follow the event `ToolCallUpdate` to know where a call stands',
      ));

  /// An input that is harmless after the end.
  void _tell(Outputs Function(RunMachine machine) input) {
    if (!_isOver) _take(() => input(_machine));
  }

  /// An input whose refusal the app is to know of.
  void _said(Outputs Function(RunMachine machine) input) {
    if (_isOver) throw _over;
    _carryOut(input(_machine));
  }

  void _take(Outputs Function() input) {
    if (_isOver) return;
    final Outputs outputs;
    try {
      outputs = input();
    } on StepwellException catch (error, trace) {
      // The machine cannot be trusted any more, or was never right: there is no end of its own to wait for.
      return _close(() => _finished.completeError(error, trace), error);
    }
    _carryOut(outputs);
  }

  void _carryOut(Outputs outputs) {
    outputs.effects.forEach(_begin);
    outputs.events.forEach(_events.add);
    _wake(outputs.wakeAtMs);
    if (outputs.events.any((event) => event is TurnCompleted)) {
      final outcome = _machine.outcome ?? const CancelledOutcome();
      final finished = Finished(outcome, _machine.text, _machine.messages, _machine.usage, _machine.hop + 1);
      _onFinished(finished);
      _close(() => _finished.complete(finished));
    } else if (_resting.isNotEmpty && _machine.isResting) {
      for (final rested in _resting) {
        rested.complete(_machine.snapshot);
      }
      _resting.clear();
    }
  }

  void _wake(int? atMs) {
    _timer?.cancel();
    if (atMs == null) return;
    final wait = Duration(milliseconds: max(0, atMs - DateTime.now().millisecondsSinceEpoch));
    _timer = Timer(wait, () => _tell((machine) => machine.timeout()));
  }

  void _close(void Function() complete, [Object? error]) {
    _timer?.cancel();
    _transport.close();
    for (final work in _working.values) {
      if (!work.isCompleted) work.complete();
    }
    for (final rested in _resting) {
      rested.completeError(_over);
    }
    _resting.clear();
    complete();
    // Whoever follows the events alone is told there.
    _finished.future.ignore();
    if (error != null) _events.addError(error);
    unawaited(_events.close());
    _machine.close();
  }

  void _begin(Effect effect) {
    switch (effect) {
      case OpenStream(:final id, :final request):
        unawaited(_transport.open(id, request, _machine));
      case CloseStream(:final id):
        _transport.stop(id);
      case RunTool(:final id, :final invocation):
        unawaited(_run(id, invocation));
      case AskApproval(:final id, :final invocation):
        unawaited(_ask(id, invocation));
      case CancelTool(:final id):
        _working.remove(id)?.complete();
      case CreateRun(:final id):
        _later((machine) => machine.runNotCreated(id, 'an `Agent` creates no runs; drive a `RunMachine`'));
      case Persist(:final id):
        _later((machine) => machine.persistFailed(id, 'an `Agent` has no store; drive a `RunMachine`'));
      case TrimContext(:final id):
        _later((machine) => machine.contextNotTrimmed(id, 'an `Agent` does not trim; drive a `RunMachine`'));
    }
  }

  /// After the outputs at hand are carried out.
  void _later(Outputs Function(RunMachine machine) input) => scheduleMicrotask(() => _tell(input));

  Future<void> _run(String id, ToolInvocation invocation) async {
    final cancelled = _working[id] = Completer<void>();
    Outputs Function(RunMachine machine) answer;
    try {
      // A tool that throws at once must not do so within the machine's call.
      await null;
      final tool = _tools[invocation.name];
      if (tool == null) throw ToolException('there is no tool `${invocation.name}`');
      final content = _content(await tool.run(ToolCall(invocation, cancelled.future)));
      answer = (machine) => machine.toolFinished(id, content);
    } on Deferred {
      answer = (machine) => machine.toolDeferred(id);
    } on ToolException catch (error) {
      answer = (machine) => machine.toolFailed(id, error.message);
    } catch (error) {
      answer = (machine) => machine.toolFailed(id, '$error', kind: ToolFailureKind.panicked);
    }
    // A call that was stopped is not waited for any more.
    if (_working.remove(id) != null) _tell(answer);
  }

  Future<void> _ask(String id, ToolInvocation invocation) async {
    _working[id] = Completer<void>();
    Decision decision;
    try {
      await null;
      decision = await _approver?.call(invocation) ?? const Denied('nobody can be asked');
    } catch (_) {
      decision = const Denied('the user could not be asked');
    }
    if (_working.remove(id) == null) return;
    _tell((machine) => switch (decision) {
          Granted() => machine.approve(id),
          Denied(:final reason) => machine.deny(id, reason: reason),
          Edited(:final arguments) => _edited(machine, id, arguments),
        });
  }

  Outputs _edited(RunMachine machine, String id, JsonObject arguments) {
    try {
      return machine.approve(id, arguments: arguments);
    } on StepwellException catch (error) {
      return machine.deny(id, reason: error.reason);
    }
  }

  static String _content(Object? result) => result is String ? result : jsonEncode(result);
}
