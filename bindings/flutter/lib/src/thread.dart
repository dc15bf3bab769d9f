part of 'agent.dart';

/// What is known of a conversation here, and its turn under way; or the one turn of a run that is no conversation.
final class _Thread {
  _Thread(this.key, this.durable, this.registry, this.messages, this.state);

  final ThreadKey key;

  /// What keeps its turns; null for the app's memory.
  final Durable? durable;
  final RunRegistry? registry;
  List<JsonObject> messages;
  Object? state;

  /// The stored turn with which the conversation ends.
  String? last;
  Turn<Object?>? current;

  /// Forgets the conversation, and cancels its turn.
  void forget() {
    final turn = current;
    current = null;
    messages = const [];
    state = const <String, Object?>{};
    last = null;
    registry?.remove(key);
    turn?.cancel();
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
