import 'json.dart';

/// Names one thread among all that an app has, on several servers and in several rooms of each.
final class ThreadKey {
  const ThreadKey(this.thread, {this.room = '', this.server = ''});

  factory ThreadKey.fromJson(JsonObject json) =>
      ThreadKey(json.text('thread'), room: json.text('room'), server: json.text('server'));

  /// The conversation.
  final String thread;

  /// The room on the server; may be empty.
  final String room;

  /// The server; may be empty.
  final String server;

  JsonObject toJson() => {'thread': thread, 'room': room, 'server': server};

  @override
  bool operator ==(Object other) =>
      other is ThreadKey && other.thread == thread && other.room == room && other.server == server;

  @override
  int get hashCode => Object.hash(thread, room, server);

  @override
  String toString() => [server, room, thread].where((part) => part.isNotEmpty).join('/');
}

/// A handle that assigns an input to one hop of one run of one thread. Only a `RunRegistry` creates handles.
final class RunHandle {
  const RunHandle(this.key, this.generation, this.hop);

  factory RunHandle.fromJson(JsonObject json) =>
      RunHandle(ThreadKey.fromJson(json.object('key')), json.number('generation'), json.number('hop'));

  /// The thread of the run.
  final ThreadKey key;

  /// The run: from 1, never used twice by one registry, for any thread.
  final int generation;

  /// How often the run has continued, from 0.
  final int hop;

  JsonObject toJson() => {'key': key.toJson(), 'generation': generation, 'hop': hop};

  @override
  bool operator ==(Object other) =>
      other is RunHandle && other.key == key && other.generation == generation && other.hop == hop;

  @override
  int get hashCode => Object.hash(key, generation, hop);

  @override
  String toString() => '$key $generation:$hop';
}
