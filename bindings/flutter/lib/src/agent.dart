import 'dart:async';
import 'dart:math';

import 'package:http/http.dart' as http;

import 'answers.dart';
import 'approval.dart';
import 'compaction.dart';
import 'context.dart';
import 'credentials.dart';
import 'durable.dart';
import 'effects.dart';
import 'errors.dart';
import 'events.dart';
import 'hooks.dart';
import 'ids.dart';
import 'json.dart';
import 'machine.dart';
import 'media.dart';
import 'model.dart';
import 'model_health.dart';
import 'options.dart';
import 'outcomes.dart';
import 'owner.dart';
import 'problems.dart';
import 'registry.dart';
import 'result.dart';
import 'session.dart';
import 'shapes.dart';
import 'start.dart';
import 'store.dart';
import 'threads.dart';
import 'tools.dart';
import 'transport.dart';

part 'conversation.dart';
part 'shared.dart';
part 'thread.dart';
part 'turn.dart';

/// Takes complete lines of the journal of a turn, for `stepwell replay`. They hold the whole conversation, but no key.
typedef JournalSink = void Function(String turn, String lines);

/// The kinds of failure after which another model is asked.
const _fallbackAfter = [
  ErrorKind.overloaded,
  ErrorKind.rateLimit,
  ErrorKind.serverError,
  ErrorKind.connection,
  ErrorKind.timeout,
];

/// An unfinished turn of a store that this process continues.
final class Recovered {
  const Recovered._(this.key, this.conversation, this.turn, this.error);

  /// The key of the turn.
  final TurnKey key;

  /// The turn's conversation.
  final Conversation conversation;

  /// The turn under way; null if it cannot continue.
  final Turn<Object?>? turn;

  /// Why the turn cannot continue. It stays unfinished in the store, until a message is sent in its conversation.
  final StepwellException? error;
}

/// A model with instructions and tools: a definition, which remembers nothing, and which any number of users can share.
/// [run] and [stream] are one turn each; [conversation] returns what is remembered.
final class Agent {
  /// `approver` asks the user to approve the tools that need it, and `answerer` the questions of running tools; without
  /// them calls and questions wait: see [Turn.pending]. `onToolError` says what happens if a tool is broken. `client` may be the platform's own, such
  /// as `cupertino_http`'s or `cronet_http`'s; [close] does not close it. `store` keeps the conversations, unless one
  /// has its own: each turn is stored before its first request is sent, and each finished block before what depends on
  /// it. With `waitForStore` turns wait for a store that is full or unreachable, however long it takes; otherwise a
  /// write is tried as often as `persistAttempts` says, or 6 times by default. `journal` takes the journals of the
  /// turns. `trimContext` shortens a conversation that no longer fits the model's context; `runSource` creates the runs
  /// of the hops, for a backend that creates each run before its stream is opened. `instructionsFrom` makes the
  /// instructions of each turn. `hooks` inspect requests, answers and tools, change them, or refuse them with a reason,
  /// in their order. `registry` keeps which conversations have a turn under way, or are unread; agents may share one.
  /// `fallback` are the models that are asked, in this order, when the agent's own has failed after its retries; the turn
  /// stays with the one that answers, and the update `ModelChanged` tells the app. `fallbackAfter` has the kinds of failure
  /// after which they are asked. With `fallbackAfterText` they are asked even if the user has seen a part of the answer,
  /// which stays, marked as cut. A model that has failed is not asked first for the time `modelRest`. `modelFor` chooses the
  /// model of each hop. `compaction` keeps a long conversation from filling the model's context, and `summaryModel` writes the
  /// summaries, instead of the agent's own model; without a `compaction` that says otherwise, summaries are the one way. The
  /// update `ContextTrimmed` reports each compaction. The other options are those of `RunConfig`.
  factory Agent(
    Model model, {
    String? instructions,
    List<Tool> tools = const [],
    Approver? approver,
    Answerer? answerer,
    OnToolError onToolError = OnToolError.tellModel,
    GenerationSettings settings = const GenerationSettings(),
    Limits limits = const Limits(),
    RetryPolicy retry = const RetryPolicy(),
    Timeouts timeouts = const Timeouts(),
    DevicePolicy device = const DevicePolicy(),
    ContextGuard contextGuard = const ContextGuard(),
    CompactionPolicy compaction = const CompactionPolicy(),
    Model? summaryModel,
    TextOptions text = const TextOptions(),
    AgUiOptions agUi = const AgUiOptions(),
    ModelPrice? price,
    Resumption? resumption,
    List<Object?> providers = const [],
    int? persistAttempts,
    bool partialArguments = false,
    WhenBusy whenBusy = WhenBusy.fail,
    http.Client? client,
    Store? store,
    bool waitForStore = false,
    JournalSink? journal,
    Trimmer? trimContext,
    List<Model> fallback = const [],
    List<ErrorKind> fallbackAfter = _fallbackAfter,
    bool fallbackAfterText = false,
    Duration modelRest = const Duration(minutes: 1),
    ModelChooser? modelFor,
    RunSource? runSource,
    List<Hook> hooks = const [],
    InstructionsSource? instructionsFrom,
    RunRegistry? registry,
  }) {
    if ({for (final hook in hooks) hook.name}.length < hooks.length) {
      throw const MisuseException(
        'two hooks have one name',
        'give each a name of its own',
        code: MisuseCode.configuration,
      );
    }
    if (trimContext == null && contextGuard.atLimit == ContextPolicy.trim) {
      throw const MisuseException(
        'the agent has no code that says what to leave out of a full context',
        'give it a `trimContext`, or take another policy',
        code: MisuseCode.configuration,
      );
    }
    if (trimContext == null && compaction.ways.any((way) => way is CompactedByHost)) {
      throw const MisuseException(
        'the agent has no code that compacts a conversation',
        'give it a `trimContext`, or leave the way of the host out',
        code: MisuseCode.configuration,
      );
    }
    final config = model.config.copyWith(
      instructions: instructions,
      tools: [for (final tool in tools) tool.definition],
      settings: settings,
      limits: limits,
      retry: retry,
      fallback: Fallback(
        models: [for (final other in fallback) other.asFallback],
        after: fallbackAfter,
        afterText: fallbackAfterText,
        rest: modelRest,
        choice: modelFor == null ? null : ModelChoice.host,
      ),
      timeouts: timeouts,
      device: device,
      contextGuard: trimContext == null ? contextGuard : contextGuard.copyWith(atLimit: ContextPolicy.trim),
      compaction: summarizedBy(summaryModel?.asFallback, compaction),
      text: text,
      agUi: agUi,
      price: price,
      resumption: resumption,
      providers: providers,
      partialArguments: partialArguments,
      whenBusy: whenBusy,
      runIds: runSource == null ? null : RunIds.host,
      hooks: [for (final hook in hooks) hook.spec],
    );
    RunMachine(config, '').close();
    return Agent._(_Shared(
      config,
      {for (final tool in tools) tool.definition.name: tool},
      approver: approver,
      answerer: answerer,
      onToolError: onToolError,
      trimContext: trimContext,
      modelFor: modelFor,
      runSource: runSource,
      credentials: [model.credentials, for (final other in fallback) other.credentials],
      summaryCredentials: summaryModel?.credentials,
      hooks: hooks,
      instructionsFrom: instructionsFrom,
      client: client ?? http.Client(),
      ownsClient: client == null,
      journal: journal,
      store: store,
      waitForStore: waitForStore,
      persistAttempts: persistAttempts ?? 6,
      registry: registry,
    ));
  }

  Agent._(this._shared);

  final _Shared _shared;

  /// Runs one turn, which is not remembered, and returns its result. `parts` follow the text, in order: what [image],
  /// [audio], [video], [document] and [file] make, and texts. With parts, an empty text is left out. Throws a
  /// [StepwellException] if the answer is incomplete. Nobody can reply to the turn: without an `approver` and an
  /// `answerer` calls that need an approval are denied, and questions declined.
  Future<TurnResult<String>> run(
    String text, {
    List<Object> parts = const [],
    RunOptions options = const RunOptions(),
  }) async =>
      _shared.start<String>(_shared.once(), Start(newId(), text: text, parts: parts), options, null, isAlone: true).result;

  /// Runs one turn as [run] does, whose answer is a value of a type.
  Future<TurnResult<T>> runAs<T>(
    String text,
    Output<T> output, {
    List<Object> parts = const [],
    RunOptions options = const RunOptions(),
  }) async =>
      _shared.start(_shared.once(), Start(newId(), text: text, parts: parts), options, output, isAlone: true).result;

  /// Begins one turn, which is not remembered, and returns it.
  Turn<String> stream(String text, {List<Object> parts = const [], RunOptions options = const RunOptions()}) =>
      _shared.start(_shared.once(), Start(newId(), text: text, parts: parts), options, null);

  /// Begins one turn as [stream] does, whose answer is a value of a type.
  Turn<T> streamAs<T>(
    String text,
    Output<T> output, {
    List<Object> parts = const [],
    RunOptions options = const RunOptions(),
  }) =>
      _shared.start(_shared.once(), Start(newId(), text: text, parts: parts), options, output);

  /// Returns the conversation of this id, which remembers its turns: the same one as long as it is in use, the store's
  /// if there is a store, a new one otherwise. `id` is a random one if left out; `room` and `server` belong to it. A
  /// new conversation begins with `history`, and `sharedState` for an AG-UI agent. `store` keeps it, instead of the
  /// agent's.
  Conversation conversation({
    String? id,
    String room = '',
    String server = '',
    List<JsonObject> history = const [],
    Object? sharedState,
    Store? store,
  }) {
    final key = ThreadKey(id ?? newId(), room: room, server: server);
    return Conversation._(_shared, _shared.thread(key, store ?? _shared.store, messages: history, state: sharedState));
  }

  /// Continues every unfinished turn of the store that no process drives any more: turns that a dead process left. Call
  /// it when the app starts, and as often as needed after that; turns that are under way are left alone. The store, the
  /// agent's if left out, is assumed to belong to this isolate alone. Throws its [StoreException].
  Future<List<Recovered>> recover({Store? store}) => _shared.recover(store ?? _shared.store);

  /// Reports that the app goes to the background; see `DevicePolicy`. Like the following methods, this one applies to
  /// all turns of the agent, and to later ones.
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

  /// Cancels the turns under way, and releases the connections.
  void close() {
    for (final turn in _shared.turns.toList()) {
      turn.cancel();
    }
    if (_shared.ownsClient) _shared.client.close();
  }
}
