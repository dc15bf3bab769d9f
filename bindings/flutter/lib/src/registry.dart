import 'dart:convert';
import 'dart:ffi';

import 'json.dart';
import 'native.dart';
import 'outcomes.dart';
import 'shapes.dart';
import 'threads.dart';

/// Which run owns which thread, what the user looks at, and what is unread. It starts nothing and calls nobody back.
///
/// A thread has one owner at most. Whoever registers takes it over, and the handle before is stale: check the handle with
/// whatever the run's network, tools and timers bring, and drop what comes with a stale one. A call with a stale handle
/// throws a `StepwellException` of the kind `stale`.
final class RunRegistry implements Finalizable {
  /// A registry with no runs, or a stored one: what [snapshot] gave.
  RunRegistry([String? snapshot]) : _registry = _made(snapshot) {
    _finalizer.attach(this, _registry.cast(), detach: this);
  }

  static final _finalizer = NativeFinalizer(Native.instance.freeRegistry.cast());

  final Pointer<NativeRegistry> _registry;

  static Pointer<NativeRegistry> _made(String? snapshot) {
    final native = Native.instance;
    return native.made((refusal) => snapshot == null
        ? native.makeRegistry(nullptr, 0, refusal)
        : Native.lent(utf8.encode(snapshot), (data, length) => native.makeRegistry(data, length, refusal)));
  }

  Object? _call(String name, [JsonObject fields = const {}]) {
    final native = Native.instance;
    final json = utf8.encode(jsonEncode({'call': name, ...fields}));
    return native.answered(
        Native.lent(json, (data, length) => native.callRegistry(_registry, data, length)))['answer'];
  }

  static RunHandle? _handle(Object? json) => json == null ? null : RunHandle.fromJson(json as JsonObject);

  static List<T> _all<T>(Object? json, T Function(JsonObject json) read) =>
      [for (final each in (json! as List<Object?>).cast<JsonObject>()) read(each)];

  /// The registry as text, to be stored.
  String get snapshot => _call('snapshot')! as String;

  /// A new run takes the thread over, whatever ran there.
  Registered register(ThreadKey thread) =>
      Registered.fromJson(_call('register', {'thread': thread.toJson()})! as JsonObject);

  /// The run goes on under a new handle, with the hop raised, if `old` still owns the thread.
  RunHandle replace(RunHandle old) => RunHandle.fromJson(_call('replace', {'handle': old.toJson()})! as JsonObject);

  /// Whether what came with the handle may be given to its run; throws if not.
  void check(RunHandle handle) => _call('check', {'handle': handle.toJson()});

  /// The run is over. Marks its thread unread if the user does not look at it.
  void complete(RunHandle handle, Outcome outcome) =>
      _call('complete', {'handle': handle.toJson(), 'outcome': outcome.toJson()});

  /// The app could not dispose of a run. That undoes nothing; it is said as an event.
  void disposalFailed(RunHandle handle, String message) =>
      _call('disposalFailed', {'handle': handle.toJson(), 'message': message});

  /// The run that owns the thread.
  RunHandle? current(ThreadKey thread) => _handle(_call('current', {'thread': thread.toJson()}));

  /// All runs that own a thread, in the order of their threads' keys.
  List<RunHandle> get running => _all(_call('running'), RunHandle.fromJson);

  /// The user looks at this thread now, or at none. It is no longer unread.
  void lookAt(ThreadKey? thread) => _call('lookAt', {'thread': thread?.toJson()});

  /// The thread that the user looks at.
  ThreadKey? get lookedAt => switch (_call('lookedAt')) { final JsonObject json => ThreadKey.fromJson(json), _ => null };

  /// Whether a run has ended in the thread since the user last looked at it.
  bool unread(ThreadKey thread) => _call('unread', {'thread': thread.toJson()})! as bool;

  /// All unread threads, in the order of their keys.
  List<ThreadKey> get unreadThreads => _all(_call('unreadThreads'), ThreadKey.fromJson);

  /// Forgets the thread. A run that owned it is now stale, and given back: cancel it and dispose of it.
  RunHandle? remove(ThreadKey thread) => _handle(_call('remove', {'thread': thread.toJson()}));

  /// Takes the events that wait, in order: each goes to one caller.
  List<RegistryEvent> takeEvents() => _all(_call('takeEvents'), RegistryEvent.fromJson);
}
