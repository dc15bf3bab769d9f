part of 'agent.dart';

/// Begins the turns of an agent, and knows those that are under way.
final class _Shared {
  _Shared(
    this.config,
    this.tools, {
    required this.approver,
    required this.answerer,
    required this.onToolError,
    required this.trimContext,
    required this.modelFor,
    required this.runSource,
    required this.credentials,
    required this.summaryCredentials,
    required this.hooks,
    required this.instructionsFrom,
    required this.client,
    required this.ownsClient,
    required this.journal,
    required this.store,
    required this.waitForStore,
    required this.persistAttempts,
    required this.registry,
  });

  final RunConfig config;
  final Map<String, Tool> tools;
  final Approver? approver;
  final Answerer? answerer;
  final OnToolError onToolError;
  final Trimmer? trimContext;
  final ModelChooser? modelFor;
  final RunSource? runSource;

  /// The sources of the models' keys, by the models' numbers.
  final List<CredentialSource?> credentials;

  /// The source of the keys of the model that writes summaries.
  final CredentialSource? summaryCredentials;
  final List<Hook> hooks;
  final InstructionsSource? instructionsFrom;
  final http.Client client;
  final bool ownsClient;
  final JournalSink? journal;
  final Store? store;
  final bool waitForStore;
  final int persistAttempts;
  final RunRegistry? registry;
  final turns = <Turn<Object?>>{};
  bool isInBackground = false;
  bool isOffline = false;

  final _memory = _Place(null);
  final _stores = Expando<_Place>();

  /// The configuration of turns that are stored.
  RunConfig get _stored => config.copyWith(persistAttempts: persistAttempts);

  /// Where the conversations of a store are kept.
  _Place place(Store? store) => store == null
      ? _memory
      : _stores[store] ??= _Place(Durable(store, newId(), _stored, waits: waitForStore));

  /// The conversation of this key: the same as long as it is in use.
  _Thread thread(ThreadKey key, Store? store, {List<JsonObject> messages = const [], Object? state}) {
    final at = place(store);
    return at.thread(
      key,
      () => _Thread(key, at.durable, registry, messages, state ?? const <String, Object?>{}),
    );
  }

  /// A conversation of one turn, which nothing finds.
  _Thread once() => _Thread(ThreadKey(newId()), null, null, const [], const <String, Object?>{});

  void tellAll(Outputs Function(RunMachine machine) input) {
    for (final turn in turns.toList()) {
      turn._tell(input);
    }
  }

  /// Begins a turn. `from` returns the stored turn that it follows instead of the last one. Nobody can reply to a turn that
  /// `isAlone`.
  Turn<T> start<T>(
    _Thread thread,
    Start start,
    RunOptions options,
    Output<T>? output, {
    Future<({String? parent})> Function()? from,
    bool isAlone = false,
  }) {
    final _Thread(:durable, :key) = thread;
    final Start(runId: id, :message) = start;
    final code = _code(options, output, isAlone: isAlone);
    final whenBusy = options.whenBusy ?? config.whenBusy;
    if (_refuses(thread, whenBusy)) return _refused(code);
    final base = durable == null ? config : _stored;
    final settings = options.model == null ? base : _at(options.model!, base);
    final type = _typeOf(output);
    var turnOptions = options.turn.copyWith(output: type);
    (RunMachine, Outputs) started(List<JsonObject> messages, Object? state, JsonObject? compaction) {
      final machine = RunMachine(
        settings,
        key.thread,
        history: messages,
        sharedState: state,
        compaction: compaction,
        journal: journal != null,
      );
      tellRests(settings, machine);
      return (machine, machine.start(start.withOptions(turnOptions)));
    }

    final source = options.instructions == null ? instructionsFrom : null;
    Future<void> instructed(List<JsonObject> messages, Waiting waiting) async {
      if (source == null) return;
      final request = InstructionsRequest(key, id, message, messages);
      final made = await instructions(source, request, config.timeouts.tool, waiting.over);
      turnOptions = turnOptions.copyWith(instructions: made);
    }

    if (durable == null) {
      _Run inMemory() {
        final (machine, outputs) = started(thread.messages, thread.state, thread.compaction);
        return (machine: machine, outputs: outputs, writer: null);
      }

      if (source == null && !_waits(thread, whenBusy)) {
        thread.cancel();
        final run = inMemory();
        return _begin(thread, code, whenBusy: whenBusy, (_) => run);
      }
      return _begin(thread, code, whenBusy: whenBusy, message: message, (waiting) async {
        await instructed(thread.messages, waiting);
        return inMemory();
      });
    }
    return _storedFirst(thread, id, code, whenBusy: whenBusy, message: message, (waiting) async {
      Known known() => (
            messages: thread.messages,
            sharedState: thread.state,
            compaction: thread.compaction,
            turn: thread.last,
          );
      final at = await from?.call();
      final (:messages, :sharedState, :compaction, turn: parent) = await durable.before(key, at, known, waiting);
      await instructed(messages, waiting);
      final (machine, outputs) = started(messages, sharedState, compaction);
      // If the store has no turns with the conversation, it is stored with this one.
      final isKnownElsewhere = parent != null || (messages.isEmpty && (sharedState is Map && sharedState.isEmpty));
      final turn = NewTurn(
        TurnKey(key, id),
        durable.owner,
        DateTime.now(),
        parent: parent,
        message: message,
        history: isKnownElsewhere ? null : {'messages': messages, 'state': sharedState},
        checkpoint: machine.checkpoint,
        title: parent == null ? titleOf(machine.messages) : null,
      );
      return (machine, outputs, await durable.begin(turn, waiting));
    });
  }

  /// The configuration with another model, of which nothing is left.
  static RunConfig _at(Model model, RunConfig base) => model.config.copyWith(
        instructions: base.instructions,
        tools: base.tools,
        settings: base.settings,
        limits: base.limits,
        retry: base.retry,
        fallback: base.fallback,
        timeouts: base.timeouts,
        runIds: base.runIds,
        persistAttempts: base.persistAttempts,
        partialArguments: base.partialArguments,
        device: base.device,
        providers: base.providers,
        price: base.price,
        text: base.text,
        contextGuard: base.contextGuard,
        compaction: base.compaction,
        agUi: base.agUi,
        whenBusy: base.whenBusy,
        hooks: base.hooks,
      );

  static OutputType? _typeOf(Output<Object?>? output) => output == null
      ? null
      : OutputType(
          name: output.name,
          schema: output.schema,
          description: output.description,
          mode: output.mode,
          retries: output.retries,
          decodedByHost: true,
        );

  /// The code of a turn: the agent's, but for what the options have.
  _Code<T> _code<T>(RunOptions options, Output<T>? output, {bool isAlone = false}) {
    final fromJson = output?.fromJson;
    return (
      config: options.model == null ? config : _at(options.model!, config),
      tools: {...tools, for (final tool in options.tools) tool.definition.name: tool},
      approver: options.approver ?? approver,
      answerer: options.answerer ?? answerer,
      isAlone: isAlone,
      deps: options.deps,
      credentials: options.model == null ? credentials : [options.model?.credentials, ...credentials.skip(1)],
      read: fromJson == null ? null : (Object? value) => fromJson(value! as JsonObject),
    );
  }

  /// Continues a stored turn of a conversation.
  Turn<T> revive<T>(_Thread thread, String snapshot, RunOptions options, Output<T>? output) {
    final _Thread(:durable, :key) = thread;
    final code = _code(options, output);
    final machine = _revived(snapshot, durable);
    if (machine.threadId != key.thread) {
      machine.close();
      throw const MisuseException(
        'the stored turn is of another conversation',
        'revive it in the conversation with the id that its own had',
      );
    }
    final whenBusy = options.whenBusy ?? config.whenBusy;
    if (_refuses(thread, whenBusy)) {
      machine.close();
      return _refused(code);
    }
    if (durable == null) {
      return _begin(
        thread,
        code,
        whenBusy: whenBusy,
        (_) => (machine: machine, outputs: machine.pollOutputs(), writer: null),
        isRevived: true,
      );
    }
    final turn = TurnKey(key, machine.turn);
    return _storedFirst(thread, turn.turn, code, whenBusy: whenBusy, isRevived: true, (waiting) async {
      final claimed = await durable.claim(turn, waiting);
      if (claimed == null) {
        // The turn was begun without this store.
        final now = DateTime.now();
        final generation = await durable.begin(NewTurn(turn, durable.owner, now, checkpoint: snapshot), waiting);
        return (machine, machine.pollOutputs(), generation);
      }
      machine.close();
      final newer =
          claimed.checkpoint == null ? _revived(snapshot, durable) : await _claimed(durable, turn, claimed, waiting);
      return (newer, newer.pollOutputs(), claimed.generation);
    });
  }

  /// The run of a claimed turn.
  Future<RunMachine> _claimed(Durable durable, TurnKey key, Claimed claimed, Waiting waiting) =>
      durable.revived(key, claimed, _stored, waiting, journal: journal != null);

  RunMachine _revived(String snapshot, Durable? durable) {
    final machine = RunMachine.revive(snapshot, durable == null ? config : _stored, journal: journal != null);
    if (machine.state != StateKind.idle) return machine;
    machine.close();
    throw const MisuseException('the stored turn had not begun', 'send its message instead');
  }

  /// Continues the unfinished turns of a store.
  Future<List<Recovered>> recover(Store? store) async {
    final at = place(store);
    final durable = at.durable;
    if (durable == null) return const [];
    final orphans = await durable.orphans((key) => at.find(key)?.turns.isNotEmpty ?? false);
    return [
      for (final (key, claimed) in orphans) await _recovered(durable, store, key, claimed),
    ];
  }

  Future<Recovered> _recovered(Durable durable, Store? store, TurnKey key, Claimed claimed) async {
    final thread = this.thread(key.thread, store);
    final conversation = Conversation._(this, thread);
    try {
      final once = Waiting((_) {}, (_) {})..giveUp();
      final machine = await _claimed(durable, key, claimed, once);
      final turn = _storedFirst<Object?>(
        thread,
        key.turn,
        _code(const RunOptions(), null),
        whenBusy: WhenBusy.cancel,
        isRevived: true,
        (_) async => (machine, machine.pollOutputs(), claimed.generation),
      );
      return Recovered._(key, conversation, turn, null);
    } on StepwellException catch (error) {
      return Recovered._(key, conversation, null, error);
    }
  }

  /// Gives the turn of a conversation a reply. A turn that a dead process left continues here, and is returned.
  Future<Turn<Object?>?> reply(
    _Thread thread,
    String id,
    RunOptions options,
    void Function(Turn<Object?> turn) reply,
  ) async {
    if (thread.live case final turn?) {
      reply(turn);
      return null;
    }
    final durable = thread.durable ?? (throw nothingWaits);
    final (key, claimed) = await durable.takeOver(thread.key, id);
    final once = Waiting((_) {}, (_) {})..giveUp();
    final machine = await _claimed(durable, key, claimed, once);
    final turn = _storedFirst<Object?>(
      thread,
      key.turn,
      _code(options, null),
      whenBusy: WhenBusy.cancel,
      isRevived: true,
      (_) async => (machine, machine.pollOutputs(), claimed.generation),
    );
    await turn.begun;
    reply(turn);
    return turn;
  }

  /// Whether another turn of this thread keeps a new one from beginning.
  static bool _refuses(_Thread thread, WhenBusy whenBusy) => whenBusy == WhenBusy.fail && thread.live != null;

  /// Whether a new turn waits for another turn of this thread.
  static bool _waits(_Thread thread, WhenBusy whenBusy) => whenBusy != WhenBusy.cancel && thread.live != null;

  /// A turn that has failed, because another one is under way. It has nothing of the conversation, which may be another
  /// user's.
  Turn<T> _refused<T>(_Code<T> code) {
    final host = (
      isRevived: false,
      over: (Ended ended, RunMachine? machine) {},
      left: () {},
    );
    return Turn<T>._(this, code, host).._begin((_) => Future<_Run>.error(const _Busy()));
  }

  /// Begins a turn that is stored first.
  Turn<T> _storedFirst<T>(
    _Thread thread,
    String id,
    _Code<T> code,
    Future<(RunMachine, Outputs, int)> Function(Waiting waiting) make, {
    required WhenBusy whenBusy,
    JsonObject? message,
    bool isRevived = false,
  }) {
    final durable = thread.durable!;
    final earlier = [for (final turn in thread.turns) turn._ended.future];
    durable.attend();
    late final Turn<T> turn;
    turn = _begin(
      thread,
      code,
      (waiting) async {
        // Not long: the turns have ended or were cancelled, and wait only for their last writes.
        await Future.wait(earlier);
        final (machine, outputs, generation) = await make(waiting);
        final stored = StoredTurn(TurnKey(thread.key, id), generation);
        final writer = Writer(durable, stored, waiting, () => turn.cancel());
        return (machine: machine, outputs: outputs, writer: writer);
      },
      whenBusy: whenBusy,
      message: message,
      isRevived: isRevived,
      stored: id,
    );
    unawaited(turn._ended.future.then((_) => durable.leave()));
    return turn;
  }

  Turn<T> _begin<T>(
    _Thread thread,
    _Code<T> code,
    FutureOr<_Run> Function(Waiting waiting) make, {
    required WhenBusy whenBusy,
    JsonObject? message,
    bool isRevived = false,
    String? stored,
  }) {
    final registry = thread.registry;
    final others = thread.turns.toList();
    final waits = _waits(thread, whenBusy);
    if (!waits) thread.cancel();
    late final Turn<T> turn;
    // A stored turn continues as the run that has its thread, unless another run has taken that since.
    void own() {
      if (registry != null) turn._owner = Owner(registry, thread.key, goesOn: isRevived && others.isEmpty);
    }

    void left() {
      thread.turns.remove(turn);
      turns.remove(turn);
    }

    void over(Ended ended, RunMachine? machine) {
      // Of a conversation that was forgotten meanwhile nothing is kept.
      if (machine != null && thread.turns.contains(turn)) {
        thread.messages = ended.messages;
        thread.state = machine.sharedState;
        thread.compaction = machine.compaction;
        thread.last = stored;
      }
      left();
      turn._owner?.complete(ended.outcome);
    }

    // A message of `steer` joins the turn under way. Where that takes none, the new turn waits for its end.
    Future<_Run> queued(Waiting waiting) async {
      final steered = whenBusy == WhenBusy.steer && message != null ? thread.live : null;
      try {
        steered?.steerMessage(message!);
      } on StepwellException {
        // The turn under way is about to end.
      }
      await Future.any([Future.wait([for (final other in others) other._ended.future]), waiting.over]);
      if (waiting.isOver) throw const _Stopped();
      final end = steered?._end;
      if (end != null && end.messages.any((each) => each['id'] == message!['id'])) throw _Steered(end);
      own();
      return make(waiting);
    }

    turn = Turn<T>._(this, code, (isRevived: isRevived, over: over, left: left));
    if (!waits) own();
    thread.turns.add(turn);
    turns.add(turn);
    turn._begin(waits ? queued : make);
    return turn;
  }
}
