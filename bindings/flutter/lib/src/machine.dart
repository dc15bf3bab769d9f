import 'dart:convert';
import 'dart:ffi';
import 'dart:typed_data';

import 'effects.dart';
import 'events.dart';
import 'hooks.dart';
import 'json.dart';
import 'native.dart';
import 'outcomes.dart';
import 'shapes.dart';
import 'start.dart';

/// What a run gives the app after one input: all of it.
final class Outputs {
  const Outputs(this.events, this.effects, this.wakeAtMs);

  factory Outputs.fromJson(JsonObject json) => Outputs(
        [for (final event in json.objects('events')) RunEvent.fromJson(event)],
        [for (final effect in json.objects('effects')) Effect.fromJson(effect)],
        json.maybeNumber('wakeAtMs'),
      );

  /// What to show, in order.
  final List<RunEvent> events;

  /// What to do, in order.
  final List<Effect> effects;

  /// When the run wants to be woken with `timeout`, in milliseconds since the epoch.
  final int? wakeAtMs;
}

/// Why a tool failed.
enum ToolFailureKind { error, panicked, timedOut }

/// A turn without any IO: the app owns the network, the tools, the clock and the store.
///
/// Each input is one call, and gives back all that came of it. Carry out each effect, and answer it by its id. Time is
/// an argument, in milliseconds since the epoch; the clock's if left out. Call [timeout] when `wakeAtMs` of the latest
/// outputs has come.
///
/// The host's loop: [start]; for an `OpenStream` send the request and call [opened], then [receive] for every piece of
/// the body, then [ended] (or [refused], [connectionFailed], [lost]); for a `RunTool` run the tool and call
/// [toolFinished] or [toolFailed]; until the event `TurnCompleted` comes. Wrong calls throw a `StepwellException`, and
/// change nothing.
final class RunMachine implements Finalizable {
  /// A run that is ready to start, on a conversation as it stands: AG-UI messages, oldest first, and the state shared
  /// with an AG-UI agent. With `journal` all inputs are written down, for [takeJournal].
  RunMachine(
    RunConfig config,
    String threadId, {
    List<JsonObject> history = const [],
    Object? sharedState,
    bool journal = false,
  }) : this._(given({
          'config': config.toJson(),
          'threadId': threadId,
          'history': history,
          'sharedState': sharedState,
          'journal': journal,
        }));

  /// A stored run in the same process, which was suspended and goes on: what the app was given to do, it still does.
  RunMachine.restore(String snapshot, RunConfig config) : this._({'config': config.toJson(), 'restore': snapshot});

  /// A stored run whose process died. A request that had shown nothing goes out again; a stream that was open is
  /// resumed where the server can, else what was shown of the answer stays, marked as cut, and it is asked for anew; a
  /// tool that had begun is run again only if it says that it is idempotent, and else the model is told that its outcome
  /// is unknown. Take [pollOutputs] first. With `journal` all further inputs are written down, in a journal of their own.
  RunMachine.revive(String snapshot, RunConfig config, {int? nowMs, bool journal = false})
      : this._({'config': config.toJson(), 'revive': snapshot, 'nowMs': nowMs ?? _now(), 'journal': journal});

  RunMachine._(JsonObject making) : _machine = _made(making) {
    _finalizer.attach(this, _machine.cast(), detach: this);
  }

  static final _finalizer = NativeFinalizer(Native.instance.freeMachine.cast());

  final Pointer<NativeMachine> _machine;
  final _journal = StringBuffer();
  bool _isClosed = false;

  static int _now() => DateTime.now().millisecondsSinceEpoch;

  static Pointer<NativeMachine> _made(JsonObject making) {
    final native = Native.instance;
    return native.made(
      (refusal) => Native.lent(_bytes(making), (data, length) => native.makeMachine(data, length, refusal)),
    );
  }

  static Uint8List _bytes(JsonObject json) => utf8.encode(jsonEncode(json));

  JsonObject _answer(NativeText Function(Native native) call) {
    if (_isClosed) throw StateError('the machine is closed');
    final native = Native.instance;
    return native.answered(call(native));
  }

  Outputs _outputs(NativeText Function(Native native) call) {
    final answer = _answer(call);
    _journal.write(answer.text('journal'));
    return Outputs.fromJson(answer.object('outputs'));
  }

  Outputs _input(String name, int? nowMs, [JsonObject fields = const {}]) {
    final json = _bytes({'input': name, ...given(fields)});
    return _outputs(
      (native) => Native.lent(json, (data, length) => native.call(_machine, data, length, nowMs ?? _now())),
    );
  }

  Object? _ask(String name, [JsonObject fields = const {}]) {
    final json = _bytes({'ask': name, ...fields});
    return _answer((native) => Native.lent(json, (data, length) => native.ask(_machine, data, length)))['answer'];
  }

  /// Gives the machine's memory back at once; else it is given back when the machine is collected.
  void close() {
    if (_isClosed) return;
    _isClosed = true;
    _finalizer.detach(this);
    Native.instance.freeMachine.asFunction<void Function(Pointer<NativeMachine>)>()(_machine);
  }

  /// What waits without an input of its own: after a restore.
  Outputs pollOutputs() => _outputs((native) => native.poll(_machine));

  /// Starts the turn.
  Outputs start(Start start, {int? nowMs}) => _input('start', nowMs, {'start': start.toJson()});

  /// The backend created a run.
  Outputs runCreated(String effect, String runId, {int? nowMs}) =>
      _input('runCreated', nowMs, {'effect': effect, 'runId': runId});

  /// The backend did not create a run.
  Outputs runNotCreated(String effect, String message, {int? nowMs}) =>
      _input('runNotCreated', nowMs, {'effect': effect, 'message': message});

  /// The provider answered with a 2xx status: the body follows.
  Outputs opened(String effect, {String? contentType, int? nowMs}) =>
      _input('opened', nowMs, {'effect': effect, 'contentType': contentType});

  /// The provider answered with any other status. `body` is the beginning of its answer, 64 KiB are plenty.
  Outputs refused(String effect, int status, String body, {Duration? retryAfter, int? nowMs}) =>
      _input('refused', nowMs, {
        'effect': effect,
        'status': status,
        'body': body,
        'retryAfterMs': retryAfter?.inMilliseconds,
      });

  /// No answer came at all.
  Outputs connectionFailed(String effect, String message, {int? nowMs}) =>
      _input('connectionFailed', nowMs, {'effect': effect, 'message': message});

  /// Bytes of the body, as many as the transport gave, cut anywhere.
  Outputs receive(String effect, Uint8List bytes, {int? nowMs}) {
    final id = utf8.encode(effect);
    return _outputs(
      (native) => Native.lent(
        id,
        (name, nameLength) => Native.lent(
          bytes,
          (data, length) => native.receive(_machine, name, nameLength, data, length, nowMs ?? _now()),
        ),
      ),
    );
  }

  /// The body ended as it should.
  Outputs ended(String effect, {int? nowMs}) => _input('ended', nowMs, {'effect': effect});

  /// The connection broke within the body.
  Outputs lost(String effect, String message, {int? nowMs}) =>
      _input('lost', nowMs, {'effect': effect, 'message': message});

  /// A tool gave a result: text, JSON as text, or AG-UI content parts.
  Outputs toolFinished(String effect, Object content, {int? nowMs}) =>
      _input('toolFinished', nowMs, {'effect': effect, 'content': content});

  /// A tool failed; the model is shown the message.
  Outputs toolFailed(String effect, String message, {ToolFailureKind kind = ToolFailureKind.error, int? nowMs}) =>
      _input('toolFailed', nowMs, {'effect': effect, 'message': message, 'kind': kind.name});

  /// The tool has begun something whose result comes later.
  Outputs toolDeferred(String effect, {int? nowMs}) => _input('toolDeferred', nowMs, {'effect': effect});

  /// A running tool says how far it has come, from 0 to 1 if that is known, and what it does now.
  Outputs toolProgress(String effect, double? fraction, {String? message, int? nowMs}) =>
      _input('toolProgress', nowMs, {'effect': effect, 'fraction': fraction, 'message': message});

  /// A running tool shows what it has so far, text or AG-UI content parts, in the place of what it showed before.
  Outputs toolPartialResult(String effect, Object content, {int? nowMs}) =>
      _input('toolPartialResult', nowMs, {'effect': effect, 'content': content});

  /// A running tool asks the user: the effects [AskUser] and then [AnswerTool] have the id `ask:HOP:INDEX:NUMBER`, with the
  /// question's [number] among those of the call, counted from 0 each time that the tool is run.
  Outputs toolAsks(String effect, int number, Question question, {int? nowMs}) => _input('toolAsks', nowMs, {
        'effect': effect,
        'number': number,
        'question': {'message': question.message, 'schema': question.schema},
      });

  /// The user answered a tool's question. An answer that does not fit its schema throws, and it is still asked.
  Outputs answer(String effect, Object? value, {int? nowMs}) => _input('answer', nowMs, {'effect': effect, 'value': value});

  /// The user does not answer a tool's question. The reason is for the tool.
  Outputs decline(String effect, {String? reason, int? nowMs}) =>
      _input('decline', nowMs, {'effect': effect, 'reason': reason});

  /// The user allows the call; with [arguments] in the place of the model's.
  Outputs approve(String effect, {JsonObject? arguments, int? nowMs}) =>
      _input('approve', nowMs, {'effect': effect, 'arguments': arguments});

  /// The user does not allow the call. The reason is for the model to read.
  Outputs deny(String effect, {String? reason, int? nowMs}) =>
      _input('deny', nowMs, {'effect': effect, 'reason': reason});

  /// The conversation is to go on with the messages of these ids.
  Outputs contextTrimmed(String effect, List<String> keep, {String? summary, int? nowMs}) =>
      _input('contextTrimmed', nowMs, {'effect': effect, 'keep': keep, 'summary': summary});

  /// There is no way to shorten the conversation: the turn fails.
  Outputs contextNotTrimmed(String effect, String message, {int? nowMs}) =>
      _input('contextNotTrimmed', nowMs, {'effect': effect, 'message': message});

  /// The app has decoded the typed answer: it counts.
  Outputs outputDecoded(String effect, {int? nowMs}) => _input('outputDecoded', nowMs, {'effect': effect});

  /// The app cannot decode the typed answer. The reason is for the model to read, which is asked again if it may be.
  Outputs outputRefused(String effect, String reason, {int? nowMs}) =>
      _input('outputRefused', nowMs, {'effect': effect, 'reason': reason});

  /// The key of the next request, and headers to send besides. Neither is stored.
  Outputs authorized(String effect, String? key, {Map<String, String> headers = const {}, int? nowMs}) =>
      _input('authorized', nowMs, {'effect': effect, 'key': key, 'headers': headers});

  /// A hook has looked. An answer that changes something else than it was asked about is none to the effect.
  Outputs hookAnswered(String effect, HookAnswer answer, {int? nowMs}) =>
      _input('hookAnswered', nowMs, {'effect': effect, 'answer': answer.toJson()});

  /// There are no credentials for the next request: the turn fails.
  Outputs notAuthorized(String effect, String message, {int? nowMs}) =>
      _input('notAuthorized', nowMs, {'effect': effect, 'message': message});

  /// Blocks are stored.
  Outputs persisted(String effect, {int? nowMs}) => _input('persisted', nowMs, {'effect': effect});

  /// Blocks could not be stored.
  Outputs persistFailed(String effect, String message, {int? nowMs}) =>
      _input('persistFailed', nowMs, {'effect': effect, 'message': message});

  /// The user answered the agent's questions, all of them.
  Outputs resume(List<ResumeEntry> answers, {int? nowMs}) => _input('resume', nowMs, {
        'answers': [for (final answer in answers) answer.toJson()],
      });

  /// The user stops the turn. What is over stays as it is.
  Outputs cancel({int? nowMs}) => _input('cancel', nowMs);

  /// The user stops one call. The others go on, and the model is told.
  Outputs cancelCall(CallKey call, {int? nowMs}) => _input('cancelCall', nowMs, {'call': call.toJson()});

  /// The user types during the turn: an AG-UI message of the role `user`, answered in this turn.
  Outputs steer(JsonObject message, {int? nowMs}) => _input('steer', nowMs, {'message': message});

  /// What the user was shown by a host that died, as AG-UI messages: for a run that was revived, before any other
  /// input. What the run does not know of it stays, marked with `metadata.cut`, and the answer is asked for anew.
  Outputs shown(List<JsonObject> messages, {int? nowMs}) => _input('shown', nowMs, {'messages': messages});

  /// The app goes to the background; see `DevicePolicy`.
  Outputs enteredBackground({int? nowMs}) => _input('enteredBackground', nowMs);

  /// The app is in the foreground again.
  Outputs enteredForeground({int? nowMs}) => _input('enteredForeground', nowMs);

  /// The network is gone.
  Outputs networkLost({int? nowMs}) => _input('networkLost', nowMs);

  /// There is a network, or another one took the place of the one before.
  Outputs networkAvailable({int? nowMs}) => _input('networkAvailable', nowMs);

  /// The app goes away: the outputs stop what it has begun. The turn can go on elsewhere, by `revive` of the snapshot.
  Outputs dispose({int? nowMs}) => _input('dispose', nowMs);

  /// Time has passed: what is due is done.
  Outputs timeout({int? nowMs}) => _input('timeout', nowMs);

  /// Where the run stands.
  StateKind get state => StateKind.values.byName(_ask('state')! as String);

  /// How the turn ended, once it has.
  Outcome? get outcome => switch (_ask('outcome')) { final JsonObject json => Outcome.fromJson(json), _ => null };

  /// What the agent asks the user, while it does.
  List<Interrupt> get interrupts =>
      [for (final asked in (_ask('interrupts')! as List<Object?>).cast<JsonObject>()) Interrupt.fromJson(asked)];

  /// All that the model has said since the user's last message.
  String get text => _ask('text')! as String;

  /// The same as it is shown: see `TextOptions`.
  String get shownText => _ask('shownText')! as String;

  /// The conversation: AG-UI messages, oldest first.
  List<JsonObject> get messages => (_ask('messages')! as List<Object?>).cast<JsonObject>();

  /// The state shared with an AG-UI agent.
  Object? get sharedState => _ask('sharedState');

  /// What is certain so far of the arguments of a call that streams. Only with `RunConfig.partialArguments`.
  Object? partialArguments(String toolCallId) => _ask('partialArguments', {'toolCallId': toolCallId});

  /// The typed answer; null if there was to be none, and until the turn has ended well.
  Object? get output => _ask('output');

  /// What is certain so far of the typed answer of the hop in progress; null while nothing is.
  Object? get partialOutput => _ask('partialOutput');

  /// The id of the effect under which the result of a tool call is awaited, by the provider's id for the call.
  String? awaitedResult(String toolCallId) => _ask('awaitedResult', {'toolCallId': toolCallId}) as String?;

  /// When to call [timeout], in milliseconds since the epoch; all outputs say so too.
  int? get timeoutAtMs => _ask('timeoutAt') as int?;

  /// Whether nothing but the user, or the result of a deferred call, can move the run on.
  bool get isResting => _ask('isResting')! as bool;

  /// Whether [dispose] was called.
  bool get isDisposed => _ask('isDisposed')! as bool;

  /// What the turn has cost so far, over all its hops.
  TokenUsage get usage => TokenUsage.fromJson(_ask('usage')! as JsonObject);

  /// The hop, from 0.
  int get hop => _ask('hop')! as int;

  /// The conversation's id.
  String get threadId => _ask('threadId')! as String;

  /// The turn: the run id of its first hop. Empty before it has started.
  String get turn => _ask('turn') as String? ?? '';

  /// The lines of the journal that were written since the last call; empty without a journal. They hold all that is said,
  /// but no key. The program's `stepwell replay` replays them.
  String takeJournal() {
    final lines = '$_journal';
    _journal.clear();
    return lines;
  }

  /// Closes the journal, since the run is over or the app leaves it, and gives its last lines.
  String endJournal() => takeJournal() + (_answer((native) => native.endJournal(_machine))['answer']! as String);

  /// A digest of how the run stands: the same in every language and on every machine.
  String get digest => _ask('digest')! as String;

  /// The run as text, to be stored and given to `restore` or `revive`. It holds no key.
  String get snapshot => _ask('snapshot')! as String;
}
