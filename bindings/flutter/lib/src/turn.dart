part of 'agent.dart';

/// A turn under way.
final class Turn {
  Turn._(this._machine, this._shared, this._onEvent, this._onFinished) {
    _transport = Transport(_shared.client, _take);
    _events.onListen = () => _isListenedTo = true;
    _events.onCancel = cancel;
    _events.onPause = _transport.pause;
    _events.onResume = _transport.resume;
  }

  final RunMachine _machine;
  final _Shared _shared;
  final void Function(RunEvent) _onEvent;
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

  /// A journal that cannot be written is no reason to end a turn.
  void _write(String lines) {
    if (lines.isEmpty) return;
    try {
      _shared.journal?.call(_machine.turn, lines);
    } catch (error, trace) {
      Zone.current.handleUncaughtError(error, trace);
    }
  }

  void _carryOut(Outputs outputs) {
    _write(_machine.takeJournal());
    outputs.effects.forEach(_begin);
    for (final event in outputs.events) {
      _onEvent(event);
      _events.add(event);
    }
    _wake(outputs.wakeAtMs);
    if (outputs.events.any((event) => event is TurnCompleted)) {
      final outcome = _machine.outcome ?? const CancelledOutcome();
      final finished = Finished(outcome, _machine.text, _machine.messages, _machine.usage, _machine.hop + 1);
      _write(_machine.endJournal());
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
      final tool = _shared.tools[invocation.name];
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
      decision = await _shared.approver?.call(invocation) ?? const Denied('nobody can be asked');
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
