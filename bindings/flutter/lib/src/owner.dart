import 'dart:async';
import 'dart:collection';

import 'errors.dart';
import 'outcomes.dart';
import 'registry.dart';
import 'shapes.dart';
import 'threads.dart';

/// The events of a registry, each for one caller of any agent.
final class RegistryEvents {
  RegistryEvents._(this._registry);

  /// The events of a registry: the same object for all agents that share it.
  factory RegistryEvents.of(RunRegistry registry) => _all[registry] ??= RegistryEvents._(registry);

  static final _all = Expando<RegistryEvents>();

  final RunRegistry _registry;

  /// Events that were taken together with one that a caller waited for.
  final _events = Queue<RegistryEvent>();
  final _waiting = Queue<Completer<RegistryEvent>>();

  Future<RegistryEvent> next() {
    final event = Completer<RegistryEvent>();
    _waiting.add(event);
    changed();
    return event.future;
  }

  /// Reports that there may be events. They are not taken if no caller waits.
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

  /// Continues the run that has the thread, for a turn that continues.
  factory Owner(RunRegistry registry, ThreadKey thread, {required bool goesOn}) {
    final before = goesOn ? registry.current(thread) : null;
    return Owner._(registry, before == null ? registry.register(thread).handle : registry.replace(before));
  }

  final RunRegistry _registry;
  final RegistryEvents _events;
  RunHandle _handle;

  /// Whether the call is accepted. It is not, if another run has the thread.
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

  /// Continues the turn with its next hop, if the thread is still its own.
  bool goOn() {
    final goesOn = _does(() => _handle = _registry.replace(_handle));
    _events.changed();
    return goesOn;
  }

  /// Ends the turn. For the registry, a turn that lost its thread was over before.
  void complete(Outcome outcome) {
    _does(() => _registry.complete(_handle, outcome));
    _events.changed();
  }
}
