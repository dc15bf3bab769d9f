part of 'agent.dart';

/// A run that has begun: its machine, with what that gave by then, and who stores it.
typedef _Run = ({RunMachine machine, Outputs outputs, Writer? writer});

/// A turn under way.
final class Turn {
  Turn._(this._shared, this._messages, this._onEvent, this._onFinished) {
    _transport = Transport(_shared.client, _take);
    _events.onListen = () => _isListenedTo = true;
    _events.onCancel = cancel;
    _events.onPause = _transport.pause;
    _events.onResume = _transport.resume;
    // Whoever follows the events alone is told there.
    _finished.future.ignore();
  }

  final _Shared _shared;

  /// The conversation before the turn.
  final List<JsonObject> Function() _messages;
  final void Function(RunEvent) _onEvent;

  /// Without a machine where the turn did not begin.
  final void Function(Finished, RunMachine?) _onFinished;
  late final Transport _transport;
  late final _waiting = Waiting(_warn);
  final _events = StreamController<RunEvent>();
  final _begun = Completer<void>();
  final _finished = Completer<Finished>();
  final _ended = Completer<void>();
  final _working = <String, Completer<void>>{};
  final _resting = <Completer<String>>[];
  RunMachine? _machine;
  Writer? _writer;

  /// How many writes are under way.
  int _writes = 0;

  /// The event that ends the turn, until its end is stored.
  TurnCompleted? _last;
  bool _isListenedTo = false;
  Timer? _timer;

  /// Is there when the turn has begun: at once, but for an agent with a store, which is asked first. It never fails.
  Future<void> get begun => _begun.future;

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

  void _warn(String message) {
    if (!_isOver) _events.add(WarningEvent(message));
  }

  void _begin(FutureOr<_Run> Function(Waiting waiting) make) {
    final FutureOr<_Run> run;
    try {
      run = make(_waiting);
    } on StepwellException catch (error, trace) {
      return _break(error, trace);
    }
    if (run is Future<_Run>) {
      unawaited(run.then(_start, onError: _notBegun));
    } else {
      _start(run);
    }
  }

  void _start(_Run run) {
    _machine = run.machine;
    _writer = run.writer;
    _begun.complete();
    _take(() => run.outputs);
    // A new run knows nothing of the device.
    if (_shared.isInBackground) _tell((machine) => machine.enteredBackground());
    if (_shared.isOffline) _tell((machine) => machine.networkLost());
    if (_waiting.isOver) cancel();
  }

  /// A turn that could not be stored has not begun: nothing went out.
  void _notBegun(Object error, StackTrace trace) {
    if (error is! StoreException) return _break(error, trace);
    final outcome = Outcome.fromJson(notStored(error.message));
    _last = TurnCompleted(outcome);
    _finish(Finished(outcome, '', _messages(), const TokenUsage(), 0));
  }

  bool get _isOver => _ended.isCompleted;

  /// Stops the turn: its tools are told, its connection is closed. The events up to its end still come.
  void cancel() {
    _waiting.giveUp();
    _tell((machine) => machine.cancel());
  }

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
  String get snapshot => _running.snapshot;

  /// Waits until nothing but the user, or the result of a deferred call, can move the turn on, and gives its [snapshot].
  Future<String> rested() {
    if (_isOver) throw _over;
    if (_machine case final machine? when machine.isResting) return Future.value(machine.snapshot);
    final rested = Completer<String>();
    _resting.add(rested);
    return rested.future;
  }

  static const _over = StepwellException(StepwellErrorKind.misuse, 'the turn is over', 'begin another turn');

  /// The machine, for what the app asks of it.
  RunMachine get _running {
    if (_isOver) throw _over;
    return _machine ??
        (throw const StepwellException(
          StepwellErrorKind.misuse,
          'the turn has not begun: its store is asked first',
          'wait for `begun`, or for the first event',
        ));
  }

  String _awaited(String toolCallId) =>
      _running.awaitedResult(toolCallId) ??
      (throw const StepwellException(
        StepwellErrorKind.misuse,
        'no result of this call is awaited',
        'follow the event `ToolCallUpdate` to know where a call stands',
      ));

  /// An input that is harmless before the turn and after its end.
  void _tell(Outputs Function(RunMachine machine) input) {
    if (_machine case final machine?) _take(() => input(machine));
  }

  /// An input whose refusal the app is to know of.
  void _said(Outputs Function(RunMachine machine) input) {
    final machine = _running;
    _carryOut(machine, input(machine));
  }

  void _take(Outputs Function() input) {
    final machine = _machine;
    if (_isOver || machine == null) return;
    final Outputs outputs;
    try {
      outputs = input();
    } on StepwellException catch (error, trace) {
      return _break(error, trace);
    }
    _carryOut(machine, outputs);
  }

  /// The machine cannot be trusted any more, or was never right: there is no end of its own to wait for.
  void _break(Object error, StackTrace trace) {
    _finished.completeError(error, trace);
    _events.addError(error, trace);
    _close();
  }

  /// A journal that cannot be written is no reason to end a turn.
  void _write(RunMachine machine, String lines) {
    if (lines.isEmpty) return;
    try {
      _shared.journal?.call(machine.turn, lines);
    } catch (error, trace) {
      Zone.current.handleUncaughtError(error, trace);
    }
  }

  void _carryOut(RunMachine machine, Outputs outputs) {
    _write(machine, machine.takeJournal());
    for (final effect in outputs.effects) {
      _carryOutEffect(machine, effect);
    }
    for (final event in outputs.events) {
      _onEvent(event);
      if (event is TurnCompleted) {
        _last = event;
      } else {
        _events.add(event);
      }
    }
    _wake(outputs.wakeAtMs);
    if (_last case final last?) {
      // The last of it is stored first.
      if (_writes > 0) return;
      _write(machine, machine.endJournal());
      _finish(Finished(last.outcome, machine.text, machine.messages, machine.usage, machine.hop + 1));
    } else if (_resting.isNotEmpty && machine.isResting) {
      for (final rested in _resting) {
        rested.complete(machine.snapshot);
      }
      _resting.clear();
    }
  }

  void _finish(Finished finished) {
    _onFinished(finished, _machine);
    if (_last case final last?) _events.add(last);
    _finished.complete(finished);
    _close();
  }

  void _wake(int? atMs) {
    _timer?.cancel();
    if (atMs == null) return;
    final wait = Duration(milliseconds: max(0, atMs - DateTime.now().millisecondsSinceEpoch));
    _timer = Timer(wait, () => _tell((machine) => machine.timeout()));
  }

  void _close() {
    _timer?.cancel();
    _transport.close();
    for (final work in _working.values) {
      if (!work.isCompleted) work.complete();
    }
    for (final rested in _resting) {
      rested.completeError(_over);
    }
    _resting.clear();
    if (!_begun.isCompleted) _begun.complete();
    _ended.complete();
    unawaited(_events.close());
    _machine?.close();
  }

  void _carryOutEffect(RunMachine machine, Effect effect) {
    switch (effect) {
      case OpenStream(:final id, :final request):
        unawaited(_transport.open(id, request, machine));
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
      case Persist():
        unawaited(_store(effect));
      case TrimContext(:final id):
        _later((machine) => machine.contextNotTrimmed(id, 'an `Agent` does not trim; drive a `RunMachine`'));
    }
  }

  Future<void> _store(Persist effect) async {
    _writes += 1;
    // Nothing of the app's runs within the machine's call.
    await null;
    final writer = _writer;
    final answer = writer == null
        ? (RunMachine machine) => machine.persistFailed(effect.id, 'this agent has no store')
        : await writer.write(effect);
    _writes -= 1;
    _tell(answer);
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
