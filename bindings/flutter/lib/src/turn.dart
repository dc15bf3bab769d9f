part of 'agent.dart';

/// A run that has begun: its machine, with what that gave by then, and who stores it.
typedef _Run = ({RunMachine machine, Outputs outputs, Writer? writer});

/// Another turn of the thread is under way.
final class _Busy implements Exception {
  const _Busy();
}

/// What a turn has of its agent.
typedef _Host = ({
  /// Nothing of a turn whose thread is busy: it never begins.
  Owner? owner,
  bool isRevived,

  /// The tools that are the turn's own.
  Map<String, Tool> tools,

  /// Decodes its typed answer.
  OutputDecoder? outputDecoder,

  /// The conversation before the turn.
  List<JsonObject> Function() messages,

  /// The turn is over; without a machine where it did not begin.
  void Function(Finished finished, RunMachine? machine) over,

  /// The turn is let go of without an end.
  void Function() left,
});

/// A turn under way.
final class Turn {
  Turn._(this._shared, this._host) {
    _transport = Transport(_shared.client, _arrived);
    _events.onListen = () => _isListenedTo = true;
    _events.onCancel = cancel;
    _events.onPause = _transport.pause;
    _events.onResume = _transport.resume;
    // Whoever follows the events alone is told there.
    _finished.future.ignore();
  }

  final _Shared _shared;
  final _Host _host;
  late final Transport _transport;
  late final _waiting = Waiting(_warn, (error) => _trouble = error);
  final _events = StreamController<RunEvent>();
  final _begun = Completer<void>();
  final _finished = Completer<Finished>();
  final _ended = Completer<void>();
  final _working = <String, Completer<void>>{};

  /// The tools that wait for the user, by their questions.
  final _asked = <String, Completer<UserAnswer>>{};
  final _resting = <Completer<String>>[];
  RunMachine? _machine;
  Writer? _writer;

  StoreException? _trouble;
  List<JsonObject>? _revivedFrom;

  /// How many writes are under way.
  int _writes = 0;

  /// The last write is done, or has failed.
  Future<void>? _written;

  /// The event that ends the turn, until its end is stored.
  TurnCompleted? _last;
  bool _isListenedTo = false;
  bool _isSuspended = false;
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
    if (_host.isRevived) _revivedFrom = run.machine.messages;
    _begun.complete();
    _take(() => run.outputs);
    // A new run knows nothing of the device.
    if (_shared.isInBackground) _tell((machine) => machine.enteredBackground());
    if (_shared.isOffline) _tell((machine) => machine.networkLost());
    if (_waiting.isOver) cancel();
  }

  /// A turn whose thread is busy, that could not be stored, or has no instructions, has not begun: nothing went out.
  void _notBegun(Object error, StackTrace trace) {
    final JsonObject ended;
    switch (error) {
      case StoreException(:final message):
        _trouble = error;
        ended = notStored(message);
      case NoInstructions(:final message):
        ended = noInstructions(message);
      case _Busy():
        ended = busy();
      default:
        return _break(error, trace);
    }
    final outcome = Outcome.fromJson(ended);
    _last = TurnCompleted(outcome);
    _finish(Finished(outcome, '', _host.messages(), const TokenUsage(), 0));
  }

  /// Whether it keeps others from its thread: one that was told to stop does not.
  bool get _isUnderWay => !_isOver && !_waiting.isOver;

  bool get _isOver => _ended.isCompleted || _isSuspended;

  /// Whether the turn is to go on. One that has lost its thread stops itself.
  bool get _counts {
    if (!_isOver && !_waiting.isOver && !(_host.owner?.holds ?? true)) cancel();
    return !_waiting.isOver;
  }

  /// Stops the turn: its tools are told, its connection is closed. The events up to its end still come.
  void cancel() {
    _waiting.giveUp();
    if (_machine case final machine?) _take(() => machine.cancel());
  }

  /// Says something during the turn, without stopping it. Gives the message's id: `SteeringTaken` says when it is in the
  /// conversation, `SteeringRefused` gives it back.
  String steer(String text, {List<Object> parts = const []}) {
    final id = '${Agent._newId()}-user';
    steerMessage({'id': id, 'role': 'user', 'content': contentOf(text, parts)});
    return id;
  }

  /// As [steer], with an AG-UI message of the app's own.
  void steerMessage(JsonObject message) => _said((machine) => machine.steer(message));

  /// Answers what an AG-UI agent asked with the event `Interrupted`, all of it at once.
  void resume(List<ResumeEntry> answers) => _said((machine) => machine.resume(answers));

  /// Stops one tool call. The others go on, and the model is told.
  void cancelCall(CallKey call) => _said((machine) => machine.cancelCall(call));

  /// Brings the result of a deferred tool call, by the provider's id for it.
  void finishCall(String toolCallId, Object? result) =>
      _said((machine) => machine.toolFinished(_awaited(toolCallId), shown(result)));

  /// The same for a call that failed; the model is shown the message.
  void failCall(String toolCallId, String message) =>
      _said((machine) => machine.toolFailed(_awaited(toolCallId), message));

  /// The conversation as it stands in the middle of the turn: AG-UI messages, oldest first. That after it is the agent's.
  List<JsonObject> get messages => _running.messages;

  /// The state shared with an AG-UI agent, as it stands in the middle of the turn.
  Object? get sharedState => _running.sharedState;

  /// What an AG-UI agent asks now, to be answered with [resume].
  List<Interrupt> get interrupts => _isOver ? const [] : _machine?.interrupts ?? const [];

  /// What the turn has cost so far, over all its hops. [finish] has what it cost in the end.
  TokenUsage get usage => _running.usage;

  /// The turn as its store knows it, once it has [begun] there.
  StoredTurn? get stored => _writer?.stored;

  /// What keeps the turn's writes waiting: a store that is full, can only be read, or cannot be reached. Of a turn that could
  /// not begin it is the reason. How long is long enough is for the app to say, by [cancel].
  StoreException? get storeTrouble => _trouble;

  /// The conversation from which a stored turn went on, once it has [begun]: its events come on top of that.
  List<JsonObject>? get revivedFrom => _revivedFrom;

  /// Lets go of the turn without ending it, and gives it as text for `Agent.revive`, in this process or a later one. Its stream
  /// is closed, its tools are told to stop, and its events end: best done once it has [rested]. The thread stays the turn's
  /// until it is revived or somebody sends on it; its conversation has nothing of the turn until then. What the user typed and
  /// the turn had not taken in is dropped.
  Future<String> suspend() async {
    final machine = _own;
    if (_last != null) {
      // Whoever lets go of it waits no longer for its end to be stored.
      _writer?.giveUp();
      throw _over;
    }
    machine.dispose();
    final snapshot = machine.snapshot;
    _write(machine, machine.endJournal());
    _isSuspended = true;
    _stopWork();
    // The snapshot counts a write that is under way as done.
    _writer?.giveUp();
    await _written;
    _host.left();
    _finished.completeError(_suspended);
    _close();
    return snapshot;
  }

  static const _suspended =
      StepwellException(StepwellErrorKind.misuse, 'the turn was suspended', 'go on with it by `Agent.revive`');

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

  /// The machine, for what the app tells it: of a turn that has lost its thread, nothing any more.
  RunMachine get _own {
    final machine = _running;
    return _counts ? machine : throw _over;
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
    if (_machine case final machine?) _arrived(() => input(machine));
  }

  void _arrived(Outputs Function() input) {
    if (_counts) _take(input);
  }

  /// An input whose refusal the app is to know of.
  void _said(Outputs Function(RunMachine machine) input) {
    final machine = _own;
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
      // Whoever took the thread over has it: this turn stops.
      if (event is HopStarted && !(_host.owner?.goOn() ?? true)) scheduleMicrotask(cancel);
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
      final RunMachine(shownText: text, :messages, :usage, :hop, :output) = machine;
      _finish(Finished(last.outcome, text, messages, usage, hop + 1, output: output));
    } else if (_resting.isNotEmpty && machine.isResting) {
      for (final rested in _resting) {
        rested.complete(machine.snapshot);
      }
      _resting.clear();
    }
  }

  void _finish(Finished finished) {
    _host.over(finished, _machine);
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

  void _stopWork() {
    _timer?.cancel();
    _transport.close();
    for (final work in _working.values) {
      if (!work.isCompleted) work.complete();
    }
  }

  void _close() {
    _stopWork();
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
    final _Shared(:approver, :answerer, :runSource, :credentials, :trimContext) = _shared;
    final tools = {..._shared.tools, ..._host.tools};
    switch (effect) {
      case OpenStream(:final id, :final request):
        unawaited(_transport.open(id, request, machine));
      case CloseStream(:final id):
        _transport.stop(id);
      case RunTool(:final id):
        unawaited(_work(id, (cancelled) => runTool(tools, effect, cancelled, _ToolAsking(this))));
      case AskApproval(:final id):
        unawaited(_work(id, (_) => askApproval(approver, effect)));
      case AskUser(:final id):
        unawaited(_work(id, (_) => askUser(answerer, effect)));
      case AnswerTool(:final id, :final answer):
        _asked.remove(id)?.complete(answer);
      case CancelTool(:final id):
        _working.remove(id)?.complete();
      case CreateRun(:final id):
        unawaited(_work(id, (_) => createRun(runSource, effect)));
      case Authorize(:final id):
        final RunMachine(:threadId, :turn) = machine;
        unawaited(_work(id, (_) => authorize(credentials, effect, threadId, turn)));
      case RunHook(:final id):
        unawaited(_work(id, (_) => runHook(_shared.hooks, effect)));
      case Persist():
        _written = _store(effect);
      case TrimContext(:final id, :final messages):
        final sized = {for (final message in messages) message.messageId};
        final those = [
          for (final message in machine.messages)
            if (sized.contains(message['id'])) message,
        ];
        unawaited(_work(id, (_) => trim(trimContext, effect, those)));
      case DecodeOutput(:final id):
        unawaited(_work(id, (_) => decode(_host.outputDecoder, effect)));
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
    if (_machine case final machine?) _take(() => answer(machine));
  }

  /// Carries out an effect by code of the app's. Nothing is begun for a turn that is about to be stopped.
  Future<void> _work(String id, Future<Answer> Function(Future<void> cancelled) code) async {
    final cancelled = _working[id] = Completer<void>();
    // Nothing of the app's runs within the machine's call.
    await null;
    if (cancelled.isCompleted || !_counts) return;
    final answer = await code(cancelled.future);
    // What was stopped is not waited for any more.
    if (_working.remove(id) != null) _tell(answer);
  }
}

/// What a running tool says to its turn. After its end that changes nothing.
final class _ToolAsking implements Asking {
  _ToolAsking(this._turn);

  final Turn _turn;

  String _tool(ToolInvocation invocation) => 'tool:${invocation.call.hop}:${invocation.call.index}';

  void _say(String id, Outputs Function(RunMachine machine) input) {
    if (_turn._working.containsKey(id) && _turn._counts) _turn._said(input);
  }

  @override
  void report(ToolInvocation invocation, double? fraction, String? message) {
    final id = _tool(invocation);
    _say(id, (machine) => machine.toolProgress(id, fraction: fraction, message: message));
  }

  @override
  void partial(ToolInvocation invocation, Object? result) {
    final id = _tool(invocation);
    _say(id, (machine) => machine.toolPartialResult(id, shown(result)));
  }

  @override
  Future<UserAnswer> ask(ToolInvocation invocation, int number, Question question) {
    final id = _tool(invocation);
    final CallKey(:hop, :index) = invocation.call;
    const stopped = ToolException('nobody waits for the call any more');
    final working = _turn._working[id];
    if (working == null || working.isCompleted) throw stopped;
    final asked = _turn._asked['ask:$hop:$index:$number'] = Completer<UserAnswer>();
    _say(id, (machine) => machine.toolAsks(id, number, question));
    return Future.any([asked.future, working.future.then<UserAnswer>((_) => throw stopped)]);
  }
}
