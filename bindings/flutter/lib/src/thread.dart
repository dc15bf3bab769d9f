part of 'agent.dart';

/// What is known of a conversation here, and its turns that have not ended; or the one turn of a run that is no
/// conversation.
final class _Thread {
  _Thread(this.key, this.durable, this.registry, this.messages, this.state);

  final ThreadKey key;

  /// What keeps its turns; null for the app's memory.
  final Durable? durable;
  final RunRegistry? registry;
  List<JsonObject> messages;
  Object? state;

  /// What requests no longer carry of it.
  JsonObject? compaction;

  /// The stored turn with which the conversation ends.
  String? last;

  /// The turns that have not ended, the oldest first: more than one where turns wait for each other.
  final turns = <Turn<Object?>>{};

  /// The turn under way.
  Turn<Object?>? get live => turns.where((turn) => turn._isUnderWay).firstOrNull;

  /// Cancels the turns that have not ended.
  void cancel() {
    for (final turn in turns.toList()) {
      turn.cancel();
    }
  }

  /// Forgets the conversation, and cancels its turns.
  void forget() {
    final ended = turns.toList();
    turns.clear();
    messages = const [];
    state = const <String, Object?>{};
    compaction = null;
    last = null;
    registry?.remove(key);
    for (final turn in ended) {
      turn.cancel();
    }
    if (registry case final registry?) RegistryEvents.of(registry).changed();
  }
}

/// Where conversations are kept: a store, or the app's memory. Conversations are found again as long as they are in
/// use: nothing of one that was let go of is kept.
final class _Place {
  _Place(this.durable);

  final Durable? durable;
  final _threads = <ThreadKey, WeakReference<_Thread>>{};
  late final _gone = Finalizer<ThreadKey>((key) {
    if (_threads[key]?.target == null) _threads.remove(key);
  });

  /// The conversation of this key, if it is in use.
  _Thread? find(ThreadKey key) => _threads[key]?.target;

  /// The conversation of this key; a new one if it is not in use.
  _Thread thread(ThreadKey key, _Thread Function() make) {
    if (find(key) case final known?) return known;
    final thread = make();
    _threads[key] = WeakReference(thread);
    _gone.attach(thread, key);
    return thread;
  }
}
