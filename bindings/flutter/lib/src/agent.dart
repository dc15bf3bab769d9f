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

/// Takes whole lines of the journal of a turn, for `stepwell replay`. They hold all that is said, but no key.
typedef JournalSink = void Function(String turn, String lines);

/// An unfinished turn of the store that goes on here.
final class Recovered {
  const Recovered._(this.key, this.turn, this.error);

  /// The turn. `Agent.thread` with its thread gives the conversation.
  final TurnKey key;

  /// The turn under way; nothing if it cannot go on.
  final Turn? turn;

  /// Why it cannot go on. It stays unfinished in the store, until somebody sends on its thread.
  final StepwellException? error;
}

/// A conversation with a model and the app's tools, with the network inside: a [RunMachine] for each turn, and
/// `package:http` to carry out what it asks for.
final class Agent {
  /// `approver` asks the user about the tools that need it; without one they are denied. `answerer`
  /// asks the user what running tools want to know; without one their questions are declined. `history` is an earlier
  /// conversation to go on with, `sharedState` what is shared with an AG-UI agent: an empty object if left out. `client` may be
  /// the platform's own, such as `cupertino_http`'s or `cronet_http`'s; one that is given is not closed by [close].
  /// With a `store` each turn is kept there: it is there before its first request goes out, and each finished piece of it
  /// before what depends on it; a thread that the store has goes on from what it has. With `waitForStore` turns wait for a
  /// store that is full or out of reach, however long it takes; else a write is tried as often as
  /// `RunConfig.persistAttempts` says, 6 times if it does not. `journal` takes the journals of the turns. `trimContext`
  /// shortens a conversation that does not fit the model's context any more; `runSource` is where the runs of the hops come
  /// from, for a backend that creates each before its stream is opened. `credentials` gives the key and the headers of each
  /// request, for tokens that expire, and `instructionsFrom` makes the instructions of each turn. `hooks` look at requests,
  /// answers and tools, change them, or refuse them with a reason, in their order. `outputDecoder` decodes the
  /// typed answers, before they count. `registry` is one that the app has stored, or that
  /// several agents share.
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

  /// What its turns answer, and what decodes that, where that is not the agent's own.
  final ({OutputType type, OutputDecoder? decoder})? _output;

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

  /// Waits for what next happens to the turns of all threads: a turn began, goes on with another hop, is over; a thread is
  /// unread. Each event goes to one caller: take them here, or with `takeEvents` of the [registry]. It wakes for those that
  /// turns made; a read mark comes with the next of them.
  Future<RegistryEvent> nextRegistryEvent() => RegistryEvents.of(registry).next();

  /// Another conversation with the same model and tools: the one that goes by this key, or a new one.
  Agent thread(ThreadKey key) => Agent._(_shared, _shared.thread(key), _output);

  /// As [thread]; a new one begins with an earlier conversation, and the state shared with an AG-UI agent.
  Agent threadWithHistory(ThreadKey key, List<JsonObject> history, {Object? sharedState}) =>
      Agent._(_shared, _shared.thread(key, messages: history, state: sharedState), _output);

  /// Cancels the thread's turn, if one is under way, and forgets its conversation: what a store has of it stays there. An
  /// agent on the thread that is still held is not to be used any more.
  void forgetThread(ThreadKey key) {
    final thread = _shared.threads.remove(key);
    registry.remove(key);
    thread?.current?.cancel();
    RegistryEvents.of(registry).changed();
  }

  /// Forgets the thread, and deletes it from the store with all its turns. Whether the store had it.
  Future<bool> deleteThread(ThreadKey key) async {
    forgetThread(key);
    final durable = _shared.durable;
    return durable != null && await durable.once(() => durable.store.deleteThread(key));
  }

  /// Says something to the model. If another turn of this thread is under way, the turn fails at once as busy, unless
  /// `whenBusy` of the configuration or of the options is [WhenBusy.cancel].
  /// `options` are what is otherwise for this turn than the agent has it, `tools` what it offers beside the agent's.
  /// `parts` come behind the text, in order: what [image], [audio], [video], [document] and [file] make, and texts. An empty
  /// text is none.
  Turn send(
    String text, {
    List<Object> parts = const [],
    TurnOptions options = const TurnOptions(),
    List<Tool> tools = const [],
  }) =>
      start(Start(_newId(), text: text, parts: parts, options: options), tools: tools);

  /// Starts a turn with ids and a message of the app's own, and with `tools` beside the agent's.
  Turn start(Start start, {List<Tool> tools = const []}) => _start(start, tools);

  /// Starts a turn that does not come after the thread's last one: after `parent`, or as a first one. What the user said is
  /// said otherwise, and the turns that came of it before stay in the store as another branch. For an agent with a store.
  Turn branch(String? parent, Start start, {List<Tool> tools = const []}) {
    _requireStore();
    return _start(start, tools, (parent: parent));
  }

  /// Says something to the model and waits for its whole answer; throws a `TurnException` where it is not whole.
  /// [Turn.finish] gives the turn however it ended.
  Future<Finished> sendAndWait(
    String text, {
    List<Object> parts = const [],
    TurnOptions options = const TurnOptions(),
    List<Tool> tools = const [],
  }) async =>
      (await send(text, parts: parts, options: options, tools: tools).finish()).whole;

  /// Says something to the model, and gives its answer as a value of a type: `output` is what the model is asked for, `fromJson`
  /// makes the value of it. What does not fit the schema, or `fromJson` throws at, goes back to the model with the reason; then
  /// it throws an [OutputInvalidException], with the text kept.
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

  /// The same conversations, whose turns have answers of this type. They are decoded by this code; without any by the agent's
  /// own, if `decodedByHost` says so.
  Agent withOutput(OutputType output, [OutputDecoder? decoder]) {
    final type = output.copyWith(decodedByHost: decoder != null || output.decodedByHost);
    return Agent._(_shared, _thread, (type: type, decoder: decoder));
  }

  /// Says something else in the place of what a stored turn of this thread began with: another branch, from the conversation
  /// before that turn, which stays. For an agent with a store; throws its [StoreException].
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
    // Stored with the turn, so that one which comes back has it.
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
      // Where the store has no turns that give the conversation, it is stored with this one.
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

  /// Goes on with a stored turn, of [Turn.snapshot], in a later process, on the thread of the snapshot. An agent with a store
  /// goes on from what that has of the turn, which is at least as new.
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
        // It was begun without this store.
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

  /// Goes on with every unfinished turn of the store that nobody drives any more, each on its own thread: with what a process
  /// that died has left. To be called when the app starts, and as often as it likes after that; turns that are under way are
  /// left alone. The store is taken for this isolate's alone. Throws its [StoreException].
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

  /// Whether another turn keeps one from this thread.
  bool _isBusy(WhenBusy? whenBusy) =>
      (whenBusy ?? _shared.config.whenBusy) != WhenBusy.cancel && (_thread.current?._isUnderWay ?? false);

  /// A turn that has failed, since another one is under way. It has nothing of the conversation, which may be another user's.
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

  /// Begins a turn that the store has first.
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
        // Not long: it was cancelled, and waits for nothing itself but its last write.
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
    // A stored turn goes on as the run that has its thread, if nobody has taken that since.
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

  /// The thread's conversation as the store has it: AG-UI messages, oldest first. For one that this process has not sent on yet;
  /// from then on [messages] gives it too, which is what an agent without a store has. Throws its [StoreException].
  Future<List<JsonObject>> load() async {
    final thread = _thread;
    final last = thread.last;
    final loaded = await _shared.durable?.load(thread.key, last);
    if (loaded == null) return thread.messages;
    // What a turn has put there meanwhile is newer.
    if (loaded.turn case final turn? when thread.last == last) {
      thread.messages = loaded.messages;
      thread.state = loaded.sharedState;
      thread.last = turn;
    }
    return loaded.messages;
  }

  /// Cancels the turn of this thread that is under way, if there is one.
  void cancel() => _thread.current?.cancel();

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
