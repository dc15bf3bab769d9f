import 'dart:async';
import 'dart:math';

import 'package:http/http.dart' as http;

import 'answers.dart';
import 'approval.dart';
import 'context.dart';
import 'credentials.dart';
import 'durable.dart';
import 'effects.dart';
import 'errors.dart';
import 'events.dart';
import 'finished.dart';
import 'hooks.dart';
import 'json.dart';
import 'machine.dart';
import 'media.dart';
import 'outcomes.dart';
import 'owner.dart';
import 'registry.dart';
import 'session.dart';
import 'shapes.dart';
import 'start.dart';
import 'store.dart';
import 'threads.dart';
import 'tools.dart';
import 'transport.dart';

part 'shared.dart';
part 'turn.dart';

/// Takes complete lines of the journal of a turn, for `stepwell replay`. They hold the whole conversation, but no key.
typedef JournalSink = void Function(String turn, String lines);

/// An unfinished turn of the store that this agent revives.
final class Recovered {
  const Recovered._(this.key, this.turn, this.error);

  /// The key of the turn. `Agent.thread` with its thread returns the conversation.
  final TurnKey key;

  /// The turn under way; null if it cannot continue.
  final Turn? turn;

  /// Why the turn cannot continue. It stays unfinished in the store, until a message is sent on its thread.
  final StepwellException? error;
}

/// A conversation with a model and the app's tools: a [RunMachine] for each turn, and `package:http` to carry out its
/// requests.
final class Agent {
  /// `approver` asks the user to approve the tools that need it; without one they are denied. `answerer` asks the user
  /// the questions of running tools; without one their questions are declined. `history` is an earlier conversation to
  /// continue, `sharedState` the state shared with an AG-UI agent: an empty object if left out. `client` may be the
  /// platform's own, such as `cupertino_http`'s or `cronet_http`'s; [close] does not close it. With a `store` each turn
  /// is stored before its first request is sent, and each finished block before what depends on it; a thread of the
  /// store continues from its stored turns. With `waitForStore` turns wait for a store that is full or unreachable,
  /// however long it takes; otherwise a write is tried as often as `RunConfig.persistAttempts` says, or 6 times by
  /// default. `journal` takes the journals of the turns. `trimContext` shortens a conversation that no longer fits the
  /// model's context; `runSource` creates the runs of the hops, for a backend that creates each run before its stream
  /// is opened. `credentials` supplies the key and the headers of each request, for tokens that expire, and
  /// `instructionsFrom` makes the instructions of each turn. `hooks` inspect requests, answers and tools, change them,
  /// or refuse them with a reason, in their order. `outputDecoder` decodes the typed answers, before they are accepted.
  /// `registry` is one that the app has stored, or that several agents share.
  factory Agent(
    RunConfig config, {
    List<Tool> tools = const [],
    Approver? approver,
    Answerer? answerer,
    String? threadId,
    List<JsonObject> history = const [],
    Object? sharedState,
    http.Client? client,
    Store? store,
    bool waitForStore = false,
    JournalSink? journal,
    Trimmer? trimContext,
    OutputDecoder? outputDecoder,
    RunSource? runSource,
    CredentialSource? credentials,
    List<Hook> hooks = const [],
    InstructionsSource? instructionsFrom,
    RunRegistry? registry,
  }) {
    if (config.tools case [final tool, ...]) {
      throw StepwellException(
        StepwellErrorKind.configuration,
        'the tool `${tool.name}` has no code',
        'give the agent its tools as `tools`, and leave those of the configuration empty',
      );
    }
    if ({for (final hook in hooks) hook.name}.length < hooks.length) {
      throw const StepwellException(
        StepwellErrorKind.configuration,
        'two hooks have one name',
        'give each a name of its own',
      );
    }
    if (store == null && config.persistAttempts != null) {
      throw const StepwellException(
        StepwellErrorKind.configuration,
        'the agent has no store to keep its turns in',
        'give it a `store`, or leave `persistAttempts` out',
      );
    }
    if (trimContext == null && config.contextGuard.atLimit == ContextPolicy.trim) {
      throw const StepwellException(
        StepwellErrorKind.configuration,
        'the agent has no code that says what to leave out of a full context',
        'give it a `trimContext`, or take another policy',
      );
    }
    final output = config.output;
    if (output != null && output.decodedByHost && outputDecoder == null) {
      throw const StepwellException(
        StepwellErrorKind.configuration,
        'the agent has no code that decodes its typed answers',
        'give it an `outputDecoder`, or leave `decodedByHost` out',
      );
    }
    final settings = config.copyWith(
      output: outputDecoder == null ? null : output?.copyWith(decodedByHost: true),
      tools: [for (final tool in tools) tool.definition],
      persistAttempts: store == null ? null : config.persistAttempts ?? 6,
      contextGuard: trimContext == null ? null : config.contextGuard.copyWith(atLimit: ContextPolicy.trim),
      runIds: runSource == null ? null : RunIds.host,
      credentials: credentials == null ? null : Credentials.host,
      hooks: [for (final hook in hooks) hook.spec],
    );
    final shared = _Shared(
      settings,
      {for (final tool in tools) tool.definition.name: tool},
      approver: approver,
      answerer: answerer,
      trimContext: trimContext,
      outputDecoder: outputDecoder,
      runSource: runSource,
      credentials: credentials,
      hooks: hooks,
      instructionsFrom: instructionsFrom,
      client: client ?? http.Client(),
      ownsClient: client == null,
      journal: journal,
      durable: store == null ? null : Durable(store, _newId(), settings, waits: waitForStore),
      registry: registry ?? RunRegistry(),
    );
    final key = ThreadKey(threadId ?? _newId());
    return Agent._(shared, shared.thread(key, messages: history, state: sharedState));
  }

  Agent._(this._shared, this._thread, [this._output]);

  final _Shared _shared;
  final _Thread _thread;

  /// The type of its turns' answers, and their decoder, if they are not the agent's own.
  final ({OutputType type, OutputDecoder? decoder})? _output;

  /// The conversation's id.
  String get threadId => _thread.key.thread;

  /// The conversation's id, with its room and server.
  ThreadKey get threadKey => _thread.key;

  /// The conversation as it was after the last turn: AG-UI messages, oldest first.
  List<JsonObject> get messages => _thread.messages;

  /// The state shared with an AG-UI agent, as it was after the last turn.
  Object? get sharedState => _thread.state;

  /// The registry of this agent and of those that [thread] returned: which threads have a turn under way, what the user
  /// looks at, and what is unread. Report with `lookAt` what the user looks at. The registry's runs are the agent's
  /// turns: only the agent should register, complete and remove them.
  RunRegistry get registry => _shared.registry;

  /// Waits for the next event of the turns of all threads: a turn began, continued with another hop, or ended; a thread
  /// is unread. Each event goes to one caller only: take them here, or with `takeEvents` of the [registry]. Only events
  /// of turns wake it; a read mark comes with the next of them.
  Future<RegistryEvent> nextRegistryEvent() => RegistryEvents.of(registry).next();

  /// Returns the conversation with this key, or a new one, with the same model and tools.
  Agent thread(ThreadKey key) => Agent._(_shared, _shared.thread(key), _output);

  /// Returns the conversation as [thread] does; a new one begins with an earlier conversation, and the state shared
  /// with an AG-UI agent.
  Agent threadWithHistory(ThreadKey key, List<JsonObject> history, {Object? sharedState}) =>
      Agent._(_shared, _shared.thread(key, messages: history, state: sharedState), _output);

  /// Cancels the thread's turn, if one is under way, and forgets its conversation: what a store has of the thread stays
  /// there. Stop using an agent of the thread that is still held.
  void forgetThread(ThreadKey key) {
    final thread = _shared.threads.remove(key);
    registry.remove(key);
    thread?.current?.cancel();
    RegistryEvents.of(registry).changed();
  }

  /// Forgets the thread, and deletes it from the store with all its turns. Returns whether the store had it.
  Future<bool> deleteThread(ThreadKey key) async {
    forgetThread(key);
    final durable = _shared.durable;
    return durable != null && await durable.once(() => durable.store.deleteThread(key));
  }

  /// Sends a message to the model. If another turn of this thread is under way, the turn fails at once as busy, unless
  /// `whenBusy` of the configuration or of the options is [WhenBusy.cancel]. `options` override the agent's options for
  /// this turn, and `tools` are offered in addition to the agent's. `parts` follow the text, in order: what [image],
  /// [audio], [video], [document] and [file] make, and texts. With parts, an empty text is left out.
  Turn send(
    String text, {
    List<Object> parts = const [],
    TurnOptions options = const TurnOptions(),
    List<Tool> tools = const [],
  }) =>
      start(Start(_newId(), text: text, parts: parts, options: options), tools: tools);

  /// Starts a turn with ids and a message that the app makes, and with `tools` in addition to the agent's.
  Turn start(Start start, {List<Tool> tools = const []}) => _start(start, tools);

  /// Starts a turn that does not follow the thread's last turn: one that follows `parent`, or a first one. The turns
  /// that followed `parent` before stay in the store as another branch. Needs an agent with a store.
  Turn branch(String? parent, Start start, {List<Tool> tools = const []}) {
    _requireStore();
    return _start(start, tools, (parent: parent));
  }

  /// Sends a message to the model and waits for its complete answer; throws a `TurnException` if it is incomplete.
  /// [Turn.finish] returns the turn however it ended.
  Future<Finished> sendAndWait(
    String text, {
    List<Object> parts = const [],
    TurnOptions options = const TurnOptions(),
    List<Tool> tools = const [],
  }) async =>
      (await send(text, parts: parts, options: options, tools: tools).finish()).whole;

  /// Sends a message to the model, and returns its answer as a value of a type: `output` is requested of the model, and
  /// `fromJson` converts the answer. An answer that does not fit the schema, or at which `fromJson` throws, goes back
  /// to the model with the reason; then this throws an [OutputInvalidException], with the text kept.
  ///
  /// ```dart
  /// const trip = OutputType(name: 'Trip', schema: {
  ///   'type': 'object',
  ///   'properties': {'city': {'type': 'string'}, 'days': {'type': 'integer'}},
  ///   'required': ['city', 'days'],
  /// });
  /// final Trip(:city, :days) = await agent.run('Three days in Norway: where?', trip, Trip.fromJson);
  /// ```
  Future<T> run<T>(
    String text,
    OutputType output,
    T Function(JsonObject value) fromJson, {
    List<Object> parts = const [],
  }) async {
    T read(Object? value) => fromJson(value! as JsonObject);
    return read((await withOutput(output, read).sendAndWait(text, parts: parts)).output);
  }

  /// Returns the same conversations, whose turns have answers of this type. This code decodes them; without it the
  /// agent's own, if `decodedByHost` is set.
  Agent withOutput(OutputType output, [OutputDecoder? decoder]) {
    final type = output.copyWith(decodedByHost: decoder != null || output.decodedByHost);
    return Agent._(_shared, _thread, (type: type, decoder: decoder));
  }

  /// Sends another message instead of the one that a stored turn of this thread began with: a new branch, from the
  /// conversation before that turn, which stays. Needs an agent with a store; throws its [StoreException].
  Future<Turn> resend(String turn, String text, {List<Object> parts = const []}) async {
    final durable = _requireStore();
    final earlier = await durable.once(() => durable.store.turn(TurnKey(_thread.key, turn)));
    if (earlier == null) {
      throw StoreException(StoreErrorKind.noTurn, 'the store has no turn `$turn` in this thread');
    }
    return _start(Start(_newId(), text: text, parts: parts), const [], (parent: earlier.parent));
  }

  Durable _requireStore() =>
      _shared.durable ??
      (throw const StepwellException(
        StepwellErrorKind.misuse,
        'the agent has no store to take the earlier turn from',
        'give it a `store`',
      ));

  Turn _start(Start start, List<Tool> tools, [({String? parent})? from]) {
    final _Shared(:config, :durable, :journal, :instructionsFrom) = _shared;
    final thread = _thread;
    final Start(runId: id, :message) = start;
    if (_isBusy(start.options.whenBusy)) return _refused();
    final own = {for (final tool in tools) tool.definition.name: tool};
    var options = start.options;
    if (tools.isNotEmpty) options = options.copyWith(tools: [for (final tool in tools) tool.definition]);
    // Stored with the turn, so that a revived turn has it.
    options = options.copyWith(output: options.output ?? _output?.type);
    (RunMachine, Outputs) started(List<JsonObject> messages, Object? state) {
      final machine =
          RunMachine(config, threadId, history: messages, sharedState: state, journal: journal != null);
      return (machine, machine.start(start.withOptions(options)));
    }

    Future<void> instructed(List<JsonObject> messages, Waiting waiting) async {
      if (instructionsFrom == null || options.instructions != null) return;
      final request = InstructionsRequest(thread.key, id, message, messages);
      final made = await instructions(instructionsFrom, request, config.timeouts.tool, waiting.over);
      options = options.copyWith(instructions: made);
    }

    if (durable == null && instructionsFrom != null) {
      return _begin(tools: own, (waiting) async {
        await instructed(thread.messages, waiting);
        final (machine, outputs) = started(thread.messages, thread.state);
        return (machine: machine, outputs: outputs, writer: null);
      });
    }
    if (durable == null) {
      thread.current?.cancel();
      final (machine, outputs) = started(thread.messages, thread.state);
      return _begin(tools: own, (_) => (machine: machine, outputs: outputs, writer: null));
    }
    return _stored(id, tools: own, (waiting) async {
      Known known() => (messages: thread.messages, sharedState: thread.state, turn: thread.last);
      final (:messages, :sharedState, turn: parent) = await durable.before(thread.key, from, known, waiting);
      await instructed(messages, waiting);
      final (machine, outputs) = started(messages, sharedState);
      // If the store has no turns with the conversation, it is stored with this one.
      final isKnownElsewhere = parent != null || (messages.isEmpty && (sharedState is Map && sharedState.isEmpty));
      final turn = NewTurn(
        TurnKey(thread.key, id),
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

  /// Continues a stored turn, of [Turn.snapshot], in a later process, on the thread of the snapshot. An agent with a
  /// store continues from the store's data of the turn, which is at least as new.
  Turn revive(String snapshot) {
    final durable = _shared.durable;
    final machine = _revived(snapshot);
    final ThreadKey(:room, :server) = _thread.key;
    final on = thread(ThreadKey(machine.threadId, room: room, server: server));
    if (on._isBusy(null)) {
      machine.close();
      return on._refused();
    }
    if (durable == null) {
      return on._begin((_) => (machine: machine, outputs: machine.pollOutputs(), writer: null), isRevived: true);
    }
    final key = TurnKey(on._thread.key, machine.turn);
    return on._stored(key.turn, isRevived: true, (waiting) async {
      final claimed = await durable.claim(key, waiting);
      if (claimed == null) {
        // The turn was begun without this store.
        final now = DateTime.now();
        final generation = await durable.begin(NewTurn(key, durable.owner, now, checkpoint: snapshot), waiting);
        return (machine, machine.pollOutputs(), generation);
      }
      machine.close();
      final newer = claimed.checkpoint == null ? _revived(snapshot) : await _claimed(key, claimed, waiting);
      return (newer, newer.pollOutputs(), claimed.generation);
    });
  }

  /// The run of a claimed turn.
  Future<RunMachine> _claimed(TurnKey key, Claimed claimed, Waiting waiting) =>
      _shared.durable!.revived(key, claimed, _shared.config, waiting, journal: _shared.journal != null);

  RunMachine _revived(String snapshot) {
    final machine = RunMachine.revive(snapshot, _shared.config, journal: _shared.journal != null);
    if (machine.state != StateKind.idle) return machine;
    machine.close();
    throw const StepwellException(
      StepwellErrorKind.misuse,
      'the stored turn had not begun',
      'send its message instead',
    );
  }

  /// Revives every unfinished turn of the store that no process drives any more, each on its own thread: turns that a
  /// dead process left. Call it when the app starts, and as often as needed after that; turns that are under way are
  /// left alone. The store is assumed to belong to this isolate alone. Throws its [StoreException].
  Future<List<Recovered>> recover() async {
    final durable = _shared.durable;
    if (durable == null) return const [];
    final orphans = await durable.orphans((key) => _shared.thread(key).current != null);
    return [
      for (final (key, claimed) in orphans) await _recovered(key, claimed),
    ];
  }

  Future<Recovered> _recovered(TurnKey key, Claimed claimed) async {
    try {
      final once = Waiting((_) {}, (_) {})..giveUp();
      final machine = await _claimed(key, claimed, once);
      final turn = thread(key.thread)._stored(
        key.turn,
        isRevived: true,
        (_) async => (machine, machine.pollOutputs(), claimed.generation),
      );
      return Recovered._(key, turn, null);
    } on StepwellException catch (error) {
      return Recovered._(key, null, error);
    }
  }

  /// Whether another turn blocks this thread.
  bool _isBusy(WhenBusy? whenBusy) =>
      (whenBusy ?? _shared.config.whenBusy) != WhenBusy.cancel && (_thread.current?._isUnderWay ?? false);

  /// A turn that has failed, because another one is under way. It has nothing of the conversation, which may be another
  /// user's.
  Turn _refused() {
    final host = (
      owner: null,
      isRevived: false,
      tools: const <String, Tool>{},
      outputDecoder: null,
      messages: () => const <JsonObject>[],
      over: (Finished finished, RunMachine? machine) {},
      left: () {},
    );
    return Turn._(_shared, host).._begin((_) => Future<_Run>.error(const _Busy()));
  }

  /// Begins a turn that is stored first.
  Turn _stored(
    String id,
    Future<(RunMachine, Outputs, int)> Function(Waiting waiting) make, {
    bool isRevived = false,
    Map<String, Tool> tools = const {},
  }) {
    final durable = _shared.durable!;
    final thread = _thread;
    final earlier = thread.current;
    durable.attend();
    late final Turn turn;
    turn = _begin(
      (waiting) async {
        // Not long: the turn was cancelled, and waits only for its last write.
        await earlier?._ended.future;
        final (machine, outputs, generation) = await make(waiting);
        final stored = StoredTurn(TurnKey(thread.key, id), generation);
        final writer = Writer(durable, stored, waiting, () => turn.cancel());
        return (machine: machine, outputs: outputs, writer: writer);
      },
      isRevived: isRevived,
      stored: id,
      tools: tools,
    );
    unawaited(turn._ended.future.then((_) => durable.leave()));
    return turn;
  }

  Turn _begin(
    FutureOr<_Run> Function(Waiting waiting) make, {
    bool isRevived = false,
    String? stored,
    Map<String, Tool> tools = const {},
  }) {
    final thread = _thread;
    // A stored turn continues as the run that has its thread, unless another run has taken that since.
    final goesOn = isRevived && thread.current == null;
    thread.current?.cancel();
    final owner = Owner(registry, thread.key, goesOn: goesOn);
    late final Turn turn;
    void left() {
      if (identical(thread.current, turn)) thread.current = null;
    }

    void over(Finished finished, RunMachine? machine) {
      if (machine != null) {
        thread.messages = finished.messages;
        thread.state = machine.sharedState;
        thread.last = stored;
      }
      left();
      owner.complete(finished.outcome);
    }

    final host = (
      owner: owner,
      isRevived: isRevived,
      tools: tools,
      outputDecoder: _output?.decoder ?? _shared.outputDecoder,
      messages: () => thread.messages,
      over: over,
      left: left,
    );
    turn = Turn._(_shared, host);
    thread.current = turn;
    turn._begin(make);
    return turn;
  }

  /// Returns the thread's conversation as the store has it: AG-UI messages, oldest first. Use it for a thread that this
  /// process has not sent on yet; from then on [messages] returns the conversation too, as it does without a store.
  /// Throws its [StoreException].
  Future<List<JsonObject>> load() async {
    final thread = _thread;
    final last = thread.last;
    final loaded = await _shared.durable?.load(thread.key, last);
    if (loaded == null) return thread.messages;
    // The conversation of a turn since then is newer.
    if (loaded.turn case final turn? when thread.last == last) {
      thread.messages = loaded.messages;
      thread.state = loaded.sharedState;
      thread.last = turn;
    }
    return loaded.messages;
  }

  /// Cancels the turn of this thread that is under way, if there is one.
  void cancel() => _thread.current?.cancel();

  /// Reports that the app goes to the background; see `DevicePolicy`. Like the following methods, this one applies to
  /// the turns of all threads, and to later ones.
  void enteredBackground() {
    _shared.isInBackground = true;
    _shared.tellAll((machine) => machine.enteredBackground());
  }

  /// Reports that the app is in the foreground again.
  void enteredForeground() {
    _shared.isInBackground = false;
    _shared.tellAll((machine) => machine.enteredForeground());
  }

  /// Reports that the network is gone.
  void networkLost() {
    _shared.isOffline = true;
    _shared.tellAll((machine) => machine.networkLost());
  }

  /// Reports that there is a network, or that another one replaced it.
  void networkAvailable() {
    _shared.isOffline = false;
    _shared.tellAll((machine) => machine.networkAvailable());
  }

  /// Cancels the turns under way, of all threads, and releases the connections.
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
