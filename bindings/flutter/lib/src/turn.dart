part of 'agent.dart';

/// A run that has begun: its machine, with the outputs so far, and the writer of its store.
typedef _Run = ({RunMachine machine, Outputs outputs, Writer? writer});

/// Another turn of the thread is under way, and should not be cancelled.
final class _Busy implements Exception {
  const _Busy();
}

/// The turn's message was answered in another turn, whose end this is.
final class _Steered implements Exception {
  const _Steered(this.end);

  final Ended end;
}

/// The turn was cancelled while it waited for another turn of its thread.
final class _Stopped implements Exception {
  const _Stopped();
}

/// The code of a turn: its agent's, but for what its options have.
typedef _Code<T> = ({
  /// The configuration, whose models are asked.
  RunConfig config,
  Map<String, Tool> tools,
  Approver? approver,
  Answerer? answerer,

  /// Whether nobody can reply to the turn.
  bool isAlone,

  /// The value for the tools.
  Object? deps,

  /// The sources of the models' keys, by the models' numbers.
  List<CredentialSource?> credentials,

  /// Reads the turn's typed answer; null if it is text.
  T Function(Object? value)? read,
});

/// The parts of its conversation that a turn needs.
typedef _Host = ({
  bool isRevived,

  /// Called when the turn is over; without a machine if it did not begin.
  void Function(Ended ended, RunMachine? machine) over,

  /// Called when the turn is released without an end.
  void Function() left,
});

/// A turn under way. Its [updates] and its [result] throw a [StepwellException] if the answer is incomplete, also if the
/// turn was cancelled.
final class Turn<T> {
  Turn._(this._shared, this._code, this._host) {
    _transport = Transport(_shared.client, _arrived);
    _updates.onListen = () => _isListenedTo = true;
    _updates.onCancel = cancel;
    _updates.onPause = _transport.pause;
    _updates.onResume = _transport.resume;
    // Clients that only follow the updates learn of it there.
    _result.future.ignore();
  }

  final _Shared _shared;
  final _Code<T> _code;
  final _Host _host;
  late final Transport _transport;
  late final _waiting = Waiting(_warn, (error) => _trouble = error);
  final _updates = StreamController<Update>();
  final _begun = Completer<void>();
  final _result = Completer<TurnResult<T>>();
  final _ended = Completer<void>();
  final _working = <String, Completer<void>>{};

  /// The tools that wait for the user, by their questions.
  final _asked = <String, Completer<UserAnswer>>{};

  /// The effects that the replies to what is pending answer, by its ids.
  final _effects = <String, String>{};
  List<Pending> _pending = const [];

  /// What ended the turn: the exception of a tool.
  ({String tool, Object error})? _fault;
  final _resting = <Completer<String>>[];
  RunMachine? _machine;
  Writer? _writer;

  /// The turn's hold on its thread in a registry; null without one, and as long as the turn waits for another.
  Owner? _owner;

  StoreException? _trouble;
  List<JsonObject>? _revivedFrom;

  /// How many writes are under way.
  int _writes = 0;

  /// The last write is done, or has failed.
  Future<void>? _written;

  /// How the turn ends, until its end is stored.
  Outcome? _outcome;

  /// The end of the turn, once it has ended by itself.
  Ended? _end;
  bool _isListenedTo = false;
  bool _isSuspended = false;
  Timer? _timer;

  /// Completes when the turn has begun: at once, except for an agent with a store, which is asked first. It never
  /// fails.
  Future<void> get begun => _begun.future;

  /// The updates, until the turn is over. The stream of a turn without a complete answer ends with a [StepwellException].
  /// Listen to it only once. Cancelling the subscription cancels the turn, and pausing it holds up the model.
  Stream<Update> get updates => _updates.stream;

  /// What the model says, as it comes: instead of [updates], which it listens to.
  Stream<String> get textStream async* {
    await for (final update in updates) {
      if (update case TextUpdate(:final delta)) yield delta;
    }
  }

  /// The turn's result, once it is over. Throws the [StepwellException] of a turn whose answer is incomplete.
  ///
  /// Without a listener to [updates], questions of an AG-UI agent are not shown to the user: the agent is informed that
  /// there is no answer, and if it asks again, the turn is cancelled.
  Future<TurnResult<T>> get result {
    if (!_isListenedTo) {
      var asked = false;
      updates.listen(
        (update) {
          if (update case Interrupted(:final interrupts)) {
            asked ? cancel() : resume([for (final each in interrupts) ResumeEntry.cancelled(each.id)]);
            asked = true;
          }
        },
        onError: (Object error) {},
      );
    }
    return _result.future;
  }

  void _warn(String message) {
    if (!_isOver) _updates.add(WarningUpdate(message));
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
    // A new run must be informed of the device's state.
    if (_shared.isInBackground) _tell((machine) => machine.enteredBackground());
    if (_shared.isOffline) _tell((machine) => machine.networkLost());
    if (_waiting.isOver) cancel();
  }

  static const _stopped =
      Problem(ErrorKind.cancelled, 'the turn was stopped', 'send the message again if that was not meant', false);

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
      case _Stopped():
        return _conclude(const Ended(CancelledOutcome(problem: _stopped), '', [], TokenUsage(), 0));
      case _Steered(:final end):
        return _conclude(end);
      default:
        return _break(error, trace);
    }
    final outcome = Outcome.fromJson(ended);
    _host.over(Ended(outcome, '', const [], const TokenUsage(), 0), null);
    _break(error is StoreException ? error : exceptionOf(outcome.problem!), trace);
  }

  /// Whether the turn blocks its thread: a turn that is being stopped does not.
  bool get _isUnderWay => !_isOver && !_waiting.isOver;

  bool get _isOver => _ended.isCompleted || _isSuspended;

  /// Whether the turn should continue. A turn that has lost its thread stops itself.
  bool get _counts {
    if (!_isOver && !_waiting.isOver && !(_owner?.holds ?? true)) cancel();
    return !_waiting.isOver;
  }

  /// Stops the turn and its tools, and closes its connection. The updates up to the turn's end still arrive.
  void cancel() {
    _waiting.giveUp();
    if (_machine case final machine?) _take(() => machine.cancel());
  }

  /// Sends a message during the turn, without stopping it. Returns the message's id: `SteeringTaken` reports that it is
  /// in the conversation, `SteeringRefused` returns it.
  String steer(String text, {List<Object> parts = const []}) {
    final id = '${newId()}-user';
    steerMessage({'id': id, 'role': 'user', 'content': contentOf(text, parts)});
    return id;
  }

  /// Sends an AG-UI message as [steer] does.
  void steerMessage(JsonObject message) => _said((machine) => machine.steer(message));

  /// Answers all questions that an AG-UI agent asked with the update `Interrupted`, at once.
  void resume(List<ResumeEntry> answers) => _said((machine) => machine.resume(answers));

  /// Stops one tool call. The other calls continue, and the model is informed.
  void cancelCall(CallKey call) => _said((machine) => machine.cancelCall(call));

  /// What the turn waits for now: approvals and questions for the user, and results of deferred calls. [PendingUpdate]
  /// reports each change. An approver or an answerer may ask the user for the same.
  List<Pending> get pending => _isOver ? const [] : _pending;

  /// Lets the call run that waits for approval under this id, with other `arguments` than the model's if they are given.
  /// Throws a [MisuseException] if nothing waits under the id, or the arguments do not fit the tool; then nothing changes.
  /// The same holds for the following methods.
  void approve(String id, {JsonObject? arguments}) =>
      _reply(id, 'approve:', (machine, effect) => machine.approve(effect, arguments: arguments));

  /// Denies the call, or declines the question, that waits under this id. The model, or the tool, gets the reason.
  void deny(String id, {String? reason}) {
    if (_effects[id]?.startsWith('ask:') ?? false) {
      _reply(id, 'ask:', (machine, effect) => machine.decline(effect, reason: reason));
    } else {
      _reply(id, 'approve:', (machine, effect) => machine.deny(effect, reason: reason));
    }
  }

  /// Answers the question of a running tool that waits under this id.
  void answer(String id, Object? value) =>
      _reply(id, 'ask:', (machine, effect) => machine.answer(effect, value));

  void _reply(String id, String kind, Outputs Function(RunMachine machine, String effect) input) {
    final effect = pending.any((each) => each.id == id) ? _effects[id] : null;
    if (effect == null || !effect.startsWith(kind)) throw nothingWaits;
    _said((machine) => input(machine, effect));
    // Whoever asks the user now is no longer awaited.
    _working.remove(effect)?.complete();
  }

  void _fail(String tool, Object error) {
    // A turn that was cancelled before ends as cancelled.
    if (!_waiting.isOver) _fault ??= (tool: tool, error: error);
    cancel();
  }

  /// Supplies the result of a deferred tool call, by the provider's id for it.
  void resolveCall(String toolCallId, Object? result) =>
      _said((machine) => machine.toolFinished(_awaited(toolCallId), shown(result)));

  /// Reports that such a call failed; the model is shown the message.
  void failCall(String toolCallId, String message) =>
      _said((machine) => machine.toolFailed(_awaited(toolCallId), message));

  /// The current conversation in the middle of the turn: AG-UI messages, oldest first.
  List<JsonObject> get messages => _running.messages;

  /// The current state shared with an AG-UI agent in the middle of the turn.
  Object? get sharedState => _running.sharedState;

  /// What an AG-UI agent asks now, to be answered with [resume].
  List<Interrupt> get interrupts => _isOver ? const [] : _machine?.interrupts ?? const [];

  /// What the turn has cost so far, over all its hops. [result] has the final cost.
  TokenUsage get usage => _running.usage;

  /// The turn as its store knows it, once it has [begun] there.
  StoredTurn? get stored => _writer?.stored;

  /// What delays the turn's writes: a store that is full, read-only, or unreachable. For a turn that could not begin
  /// this is the reason. The app decides how long to wait, and calls [cancel].
  StoreException? get storeTrouble => _trouble;

  /// The conversation from which a stored turn continued, once it has [begun]: its updates follow that conversation.
  List<JsonObject>? get revivedFrom => _revivedFrom;

  /// Releases the turn without ending it, and returns it as text for `Conversation.revive`, in this process or a later one.
  /// The turn's stream is closed, its tools are stopped, and its updates end: best done once it has [rested]. The turn
  /// keeps the thread until it is revived or a message is sent on the thread; until then the conversation has nothing
  /// of the turn. What the user typed and the turn had not taken is dropped.
  Future<String> suspend() async {
    final machine = _own;
    if (_outcome != null) {
      // A caller that releases the turn does not wait for its end to be stored.
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
    _result.completeError(_suspended);
    _close();
    return snapshot;
  }

  static const _suspended = MisuseException('the turn was suspended', 'continue it by `Conversation.revive`');

  /// Returns the current turn as text, for `Conversation.revive` in a later process. The text holds no key. A turn that
  /// continues after its snapshot was taken may run tools that the snapshot does not know: prefer [rested].
  String get snapshot => _running.snapshot;

  /// Waits until the turn is idle: only the user, or the result of a deferred call, can continue it. Returns its
  /// [snapshot].
  Future<String> rested() {
    if (_isOver) throw _over;
    if (_machine case final machine? when machine.isResting) return Future.value(machine.snapshot);
    final rested = Completer<String>();
    _resting.add(rested);
    return rested.future;
  }

  static const _over = MisuseException('the turn is over', 'begin another turn');

  /// Returns the machine, for queries of the app.
  RunMachine get _running {
    if (_isOver) throw _over;
    return _machine ??
        (throw const MisuseException(
          'the turn has not begun: its store is asked first',
          'wait for `begun`, or for the first update',
        ));
  }

  /// Returns the machine, for inputs of the app: none for a turn that has lost its thread.
  RunMachine get _own {
    final machine = _running;
    return _counts ? machine : throw _over;
  }

  String _awaited(String toolCallId) =>
      _running.awaitedResult(toolCallId) ??
      (throw const MisuseException(
        'no result of this call is awaited',
        'follow the update `ToolCallUpdate` to know where a call stands',
      ));

  /// An input that is harmless before the turn and after its end.
  void _tell(Outputs Function(RunMachine machine) input) {
    if (_machine case final machine?) _arrived(() => input(machine));
  }

  void _arrived(Outputs Function() input) {
    if (_counts) _take(input);
  }

  /// An input whose refusal the app should learn of.
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

  /// The machine cannot be trusted any more, or never could: there is no end of its own to wait for.
  void _break(Object error, StackTrace trace) {
    _result.completeError(error, trace);
    _updates.addError(error, trace);
    _host.left();
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
      if (event case PendingUpdate(:final pending)) _pending = pending;
      if (event case ModelChanged(:final previous, after: _?)) noteFailure(_code.config, previous);
      // The run that took the thread over keeps it: this turn stops.
      if (event is HopStarted && !(_owner?.goOn() ?? true)) scheduleMicrotask(cancel);
      switch (event) {
        case Update():
          _updates.add(event);
        case AnswerDropped(:final effect):
          _warn('an answer for `$effect` came when none was awaited');
        case UnknownToolCall(:final toolCallId):
          _warn('the stream had an event for the tool call `$toolCallId`, which is not open');
        case TurnCompleted(:final outcome):
          _outcome = outcome;
          noteEnd(_code.config, machine.model, outcome);
      }
    }
    _wake(outputs.wakeAtMs);
    if (_outcome case final outcome?) {
      // The last write is stored first.
      if (_writes > 0) return;
      _write(machine, machine.endJournal());
      final RunMachine(shownText: text, :messages, :usage, :hop, :output) = machine;
      _conclude(Ended(outcome, text, messages, usage, hop + 1, output: output));
    } else if (_resting.isNotEmpty && machine.isResting) {
      for (final rested in _resting) {
        rested.complete(machine.snapshot);
      }
      _resting.clear();
    }
  }

  void _conclude(Ended end) {
    final ended = switch ((_fault, end.outcome)) {
      ((:final tool, :final error), CancelledOutcome()) =>
        Ended(Outcome.fromJson(toolFailed(tool, '$error')), end.fullText, end.messages, end.usage, end.hops),
      _ => end,
    };
    _end = ended;
    _host.over(ended, _machine);
    switch (ended.outcome.problem) {
      case null:
        final read = _code.read;
        try {
          _result.complete(ended.result(read == null ? ended.text as T : read(ended.output)));
        } catch (error, trace) {
          _result.completeError(error, trace);
        }
      case final problem:
        final TurnResult<void> result = ended.result(null);
        final asked = _machine?.model;
        final provider = asked?.provider ?? _code.config.provider;
        final error = exceptionOf(problem, provider: provider, model: asked?.model, result: result);
        _result.completeError(error);
        _updates.addError(error);
    }
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
    unawaited(_updates.close());
    _machine?.close();
  }

  void _carryOutEffect(RunMachine machine, Effect effect) {
    final _Shared(:runSource, :trimContext, :modelFor) = _shared;
    final (:config, :tools, :approver, :answerer, :isAlone, :deps, :credentials, :read) = _code;
    switch (effect) {
      case OpenStream(:final id, :final request):
        unawaited(_transport.open(id, request, machine));
      case CloseStream(:final id):
        _transport.stop(id);
      case CancelAnswer(:final request):
        unawaited(_transport.send(request));
      case RunTool(:final id):
        final onToolError = _shared.onToolError;
        unawaited(_work(
          id,
          (cancelled) => runTool(tools, effect, cancelled, _ToolAsking(this), onToolError: onToolError, deps: deps),
        ));
      case AskApproval(:final id, :final invocation):
        _effects[invocation.toolCallId] = id;
        unawaited(_work(id, (_) => askApproval(approver, effect, isAlone: isAlone)));
      case AskUser(:final id, :final invocation):
        _effects['${invocation.toolCallId}/${id.split(':').last}'] = id;
        unawaited(_work(id, (_) => askUser(answerer, effect, isAlone: isAlone)));
      case AnswerTool(:final id, :final answer):
        _asked.remove(id)?.complete(answer);
      case CancelTool(:final id):
        _working.remove(id)?.complete();
      case CreateRun(:final id):
        unawaited(_work(id, (_) => createRun(runSource, effect)));
      case Authorize(:final id):
        final RunMachine(:threadId, :turn, :model) = machine;
        final number = numberOf(config, model);
        final source = number < 0 ? _shared.summaryCredentials : credentials[number];
        unawaited(_work(id, (_) => authorize(source, effect, threadId, turn, model!)));
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
      case ChooseModel(:final id):
        unawaited(_work(id, (_) => chooseModel(modelFor, effect)));
      case DecodeOutput(:final id):
        unawaited(_work(id, (_) => decode(read, effect)));
    }
  }

  Future<void> _store(Persist effect) async {
    _writes += 1;
    // No code of the app runs within the machine's call.
    await null;
    final writer = _writer;
    final answer = writer == null
        ? (RunMachine machine) => machine.persistFailed(effect.id, 'this agent has no store')
        : await writer.write(effect);
    _writes -= 1;
    if (_machine case final machine?) _take(() => answer(machine));
  }

  /// Carries out an effect by code of the app, whose answer is null if the effect waits for a reply. Nothing is begun for a
  /// turn that is about to be stopped.
  Future<void> _work(String id, Future<Answer?> Function(Future<void> cancelled) code) async {
    final cancelled = _working[id] = Completer<void>();
    // No code of the app runs within the machine's call.
    await null;
    if (cancelled.isCompleted || !_counts) return;
    final answer = await code(cancelled.future);
    if (answer == null) return;
    // The result of stopped code is no longer awaited.
    if (_working.remove(id) != null) _tell(answer);
  }
}

/// Passes a running tool's reports to its turn. After the turn's end they change nothing.
final class _ToolAsking implements Asking {
  _ToolAsking(this._turn);

  final Turn<Object?> _turn;

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
  void fail(ToolInvocation invocation, Object error) {
    if (_turn._working.containsKey(_tool(invocation))) _turn._fail(invocation.name, error);
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
