import 'dart:convert';
import 'dart:ffi';

import 'json.dart';
import 'native.dart';
import 'outcomes.dart';
import 'shapes.dart';
import 'threads.dart';

part 'registry_calls.dart';

/// Which run owns which thread, what the user looks at, and what is unread. It starts nothing and calls nobody back.
///
/// A thread has one owner at most. Whoever registers takes it over, and the handle before is stale: check the handle with
/// whatever the run's network, tools and timers bring, and drop what comes with a stale one. A call with a stale handle
/// throws a `StepwellException` of the kind `stale`.
final class RunRegistry with _RegistryCalls implements Finalizable {
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

  @override
  T _call<T>(String call, T Function(JsonObject json) read, [JsonObject fields = const {}]) {
    final native = Native.instance;
    final json = utf8.encode(jsonEncode({'call': call, ...fields}));
    return read(native.answered(Native.lent(json, (data, length) => native.callRegistry(_registry, data, length))));
  }
}
