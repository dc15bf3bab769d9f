import 'dart:convert';
import 'dart:ffi';

import 'json.dart';
import 'native.dart';
import 'outcomes.dart';
import 'owner.dart';
import 'shapes.dart';
import 'threads.dart';

part 'registry_calls.dart';

/// The runs of an app: which run owns which thread, what the user looks at, and what is unread. It makes no callbacks.
///
/// A thread has at most one owner. Registering a run takes the thread over and makes the previous handle stale: check
/// the handle of everything that the run's network, tools and timers bring, and drop what has a stale handle. A call
/// with a stale handle throws a `MisuseException` with the code `stale`.
final class RunRegistry with _RegistryCalls implements Finalizable {
  /// Creates a registry with no runs, or restores one from what [snapshot] returned.
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

  /// Waits for the next event of the turns of all conversations: a turn began, continued with another hop, or ended; a
  /// conversation is unread. Each event goes to one caller only: take them here, or with `takeEvents`. Only events of
  /// turns wake it; a read mark comes with the next of them.
  Future<RegistryEvent> nextEvent() => RegistryEvents.of(this).next();

  @override
  T _call<T>(String call, T Function(JsonObject json) read, [JsonObject fields = const {}]) {
    final native = Native.instance;
    final json = utf8.encode(jsonEncode({'call': call, ...fields}));
    return read(native.answered(Native.lent(json, (data, length) => native.callRegistry(_registry, data, length))));
  }
}
