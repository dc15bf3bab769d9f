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

part 'machine_calls.dart';

/// The outputs of a run after one input: all of them.
final class Outputs {
  const Outputs(this.events, this.effects, this.wakeAtMs);

  factory Outputs.fromJson(JsonObject json) => Outputs(
        [for (final event in json.objects('events')) _event(event)],
        [for (final effect in json.objects('effects')) Effect.fromJson(effect)],
        json.maybeNumber('wakeAtMs'),
      );

  /// The events to show, in order.
  final List<RunEvent> events;

  /// The effects to carry out, in order.
  final List<Effect> effects;

  /// When the run wants to be woken with `timeout`, in milliseconds since the epoch.
  final int? wakeAtMs;
}

/// The JSON forms of the events that the library has returned.
final _forms = Expando<JsonObject>();

RunEvent _event(JsonObject json) {
  final event = RunEvent.fromJson(json);
  _forms[event] = json;
  return event;
}

/// Returns an event in the library's JSON form, for backends that pass it on, and for a `ChatReducer`.
JsonObject jsonOf(RunEvent event) => switch (event) {
      WarningUpdate(:final message) => {'type': 'warning', 'message': message},
      _ => _forms[event] ?? const {},
    };

/// Why a tool failed.
enum ToolFailureKind { error, panicked, timedOut }

/// A turn without any IO: the app owns the network, the tools, the clock and the store.
///
/// Each input is one call, and returns all of its outputs. Carry out each effect, and answer it by its id. Time is an
/// argument, in milliseconds since the epoch; the clock's if left out. Call [timeout] when `wakeAtMs` of the latest
/// outputs has come.
///
/// The host's loop: [start]; for an `OpenStream` send the request and call [opened], then [receive] for every chunk of
/// the body, then [ended] (or [refused], [connectionFailed], [lost]); for a `RunTool` run the tool and call
/// [toolFinished] or [toolFailed]; until the event `TurnCompleted` comes. Wrong calls throw a `StepwellException`, and
/// change nothing.
final class RunMachine with _RunCalls implements Finalizable {
  /// Creates a run that is ready to start, on an existing conversation: AG-UI messages, oldest first, and the state
  /// shared with an AG-UI agent. `compaction` is what requests no longer carry of it: the [compaction] of the run before.
  /// With `journal` all inputs are recorded, for [takeJournal].
  RunMachine(
    RunConfig config,
    String threadId, {
    List<JsonObject> history = const [],
    Object? sharedState,
    JsonObject? compaction,
    bool journal = false,
  }) : this._(given({
          'config': config.toJson(),
          'threadId': threadId,
          'history': history,
          'sharedState': sharedState,
          'compaction': compaction,
          'journal': journal,
        }));

  /// Restores a run that was suspended and continues in the same process: the app still carries out the effects that it
  /// has received.
  RunMachine.restore(String snapshot, RunConfig config) : this._({'config': config.toJson(), 'restore': snapshot});

  /// Revives a stored run whose process died. A request that had shown nothing is sent again. A stream that was open is
  /// resumed where the server can; if not, what was shown of the answer stays, marked as cut, and the answer is asked
  /// for again. A tool that had begun is run again only if it is idempotent; for other tools the model is informed that
  /// the outcome is unknown. Take [pollOutputs] first. With `journal` all further inputs are recorded, in a journal of
  /// their own.
  RunMachine.revive(String snapshot, RunConfig config, {int? nowMs, bool journal = false})
      : this._({'config': config.toJson(), 'revive': snapshot, 'nowMs': nowMs ?? _now(), 'journal': journal});

  /// Revives a stored run whose process died, as [RunMachine.revive] does, from a store's data: the newest checkpoint
  /// of the turn, and the turns of its thread, or only those on the path to it. Read all of them at one time: a turn
  /// with more blocks than were stored with its checkpoint, or with fewer, is refused.
  RunMachine.reviveFrom(
    String checkpoint,
    List<TurnRecord> turns,
    String turn,
    RunConfig config, {
    int? nowMs,
    bool journal = false,
  }) : this._({
          'config': config.toJson(),
          'reviveFrom': {
            'checkpoint': checkpoint,
            'turns': [for (final stored in turns) stored.toJson()],
            'turn': turn,
          },
          'nowMs': nowMs ?? _now(),
          'journal': journal,
        });

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

  @override
  Outputs _tell(String input, int? nowMs, [JsonObject fields = const {}]) {
    final json = _bytes({'input': input, ...fields});
    return _outputs(
      (native) => Native.lent(json, (data, length) => native.call(_machine, data, length, nowMs ?? _now())),
    );
  }

  @override
  T _ask<T>(String question, T Function(JsonObject json) read, [JsonObject fields = const {}]) {
    final json = _bytes({'ask': question, ...fields});
    return read(_answer((native) => Native.lent(json, (data, length) => native.ask(_machine, data, length))));
  }

  /// The model that the run asks now; null before its start.
  ModelName? get model => _ask(
        'model',
        (json) => json['answer'] == null ? null : ModelName.fromJson(json.object('answer')),
      );

  /// What requests no longer carry of the conversation, for the next run to begin with; null if they carry all.
  JsonObject? get compaction => _ask('compaction', (json) => json['answer'] as JsonObject?);

  /// Frees the machine's memory at once; otherwise it is freed when the machine is collected.
  void close() {
    if (_isClosed) return;
    _isClosed = true;
    _finalizer.detach(this);
    Native.instance.freeMachine.asFunction<void Function(Pointer<NativeMachine>)>()(_machine);
  }

  /// Returns the outputs that wait without an input: after a restore.
  Outputs pollOutputs() => _outputs((native) => native.poll(_machine));

  /// Bytes of the body, in chunks as the transport gave them, cut anywhere.
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

  /// The user sends a message during the turn: an AG-UI message of the role `user`, answered in this turn.
  Outputs steer(JsonObject message, {int? nowMs}) => _tell('steer', nowMs, {'message': message});

  /// Returns the lines of the journal since the last call; empty without a journal. They hold the whole conversation,
  /// but no key. The program's `stepwell replay` replays them.
  String takeJournal() {
    final lines = '$_journal';
    _journal.clear();
    return lines;
  }

  /// Closes the journal, because the run is over or the app leaves it, and returns its last lines.
  String endJournal() => takeJournal() + (_answer((native) => native.endJournal(_machine))['answer']! as String);
}
