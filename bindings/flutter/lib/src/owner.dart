import 'dart:async';
import 'dart:collection';

import 'errors.dart';
import 'outcomes.dart';
import 'registry.dart';
import 'shapes.dart';
import 'threads.dart';

/// The events of a registry, each for one caller, whichever agent it asks.
final class RegistryEvents {
  RegistryEvents._(this._registry);

  /// Those of a registry: the same for all agents that share it.
  factory RegistryEvents.of(RunRegistry registry) => _all[registry] ??= RegistryEvents._(registry);

  static final _all = Expando<RegistryEvents>();

  final RunRegistry _registry;

  /// Taken out for somebody, and one too many.
  final _events = Queue<RegistryEvent>();
  final _waiting = Queue<Completer<RegistryEvent>>();

  Future<RegistryEvent> next() {
    final event = Completer<RegistryEvent>();
    _waiting.add(event);
    changed();
    return event.future;
  }

  /// There may be events. Nobody takes them whom nobody waits for.
  void changed() {
    if (_waiting.isEmpty) return;
    _events.addAll(_registry.takeEvents());
    while (_waiting.isNotEmpty && _events.isNotEmpty) {
      _waiting.removeFirst().complete(_events.removeFirst());
    }
  }
}

/// A turn's hold on its thread.
final class Owner {
  Owner._(this._registry, this._handle) : _events = RegistryEvents.of(_registry) {
    _events.changed();
  }

  /// A turn that goes on takes the place of the run that has the thread.
  factory Owner(RunRegistry registry, ThreadKey thread, {required bool goesOn}) {
    final before = goesOn ? registry.current(thread) : null;
    return Owner._(registry, before == null ? registry.register(thread).handle : registry.replace(before));
  }

  final RunRegistry _registry;
  final RegistryEvents _events;
  RunHandle _handle;

  /// Whether the call is taken. It is not, if another run has the thread.
  static bool _does(void Function() call) {
    try {
      call();
    } on StepwellException {
      return false;
    }
    return true;
  }

  /// Whether the thread is still the turn's.
  bool get holds => _does(() => _registry.check(_handle));

  /// The turn goes on with its next hop, if the thread is still its own.
  bool goOn() {
    final goesOn = _does(() => _handle = _registry.replace(_handle));
    _events.changed();
    return goesOn;
  }

  /// The turn is over. One that lost its thread was over for the registry before.
  void complete(Outcome outcome) {
    _does(() => _registry.complete(_handle, outcome));
    _events.changed();
  }
}
