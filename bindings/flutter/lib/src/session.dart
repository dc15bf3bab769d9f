import 'dart:convert';

import 'context.dart';
import 'json.dart';
import 'native.dart';
import 'shapes.dart';

/// Calls of an app without a run.
Object? _ask(String name, JsonObject fields) {
  final json = utf8.encode(jsonEncode({'call': name, ...given(fields)}));
  return Native.instance.answered(Native.lent(json, Native.instance.callSession))['answer'];
}

/// What a run begins with: AG-UI messages, oldest first, the state shared with an AG-UI agent, and what requests no longer
/// carry of the messages: null if they carry all.
typedef Transcript = ({List<JsonObject> messages, Object? sharedState, JsonObject? compaction});

/// The conversation of stored turns, for the next run to begin with: of all turns of a thread, or of a path of it.
/// `turn` is the end of the path; without it, the turn that ends last.
Transcript conversationOf(List<TurnRecord> turns, [String? turn]) {
  final records = [for (final turn in turns) turn.toJson()];
  final found = _ask('transcript', {'turns': records, 'turn': turn})! as JsonObject;
  return (
    messages: found.objects('messages'),
    sharedState: found['sharedState'],
    compaction: found['compaction'] as JsonObject?,
  );
}

/// What a stored turn waits for, in the order of its calls; nothing if it is over.
List<Pending> pendingOf(TurnRecord turn) {
  final waits = _ask('pending', {'turn': turn.toJson()})! as List<Object?>;
  return [for (final each in waits.cast<JsonObject>()) Pending.fromJson(each)];
}

/// The title of a thread; null if the user's first message has no text for one.
String? titleOf(List<JsonObject> messages) {
  final title = _ask('title', {'messages': messages})! as String;
  return title.isEmpty ? null : title;
}

/// The outcome of a turn that its store did not take.
JsonObject notStored(String message) => _ask('notStored', {'message': message})! as JsonObject;

/// The outcome of a turn whose instructions could not be made.
JsonObject noInstructions(String message) => _ask('noInstructions', {'message': message})! as JsonObject;

/// The outcome of a turn that ended because a tool is broken.
JsonObject toolFailed(String tool, String message) =>
    _ask('toolFailed', {'tool': tool, 'message': message})! as JsonObject;

/// The outcome of a turn that began while another turn of its thread was under way.
JsonObject busy() => _ask('busy', {})! as JsonObject;

/// An AG-UI content part of media.
JsonObject mediaPart(JsonObject of) => _ask('part', {'of': given(of)})! as JsonObject;

/// The ids of the newest messages that fill no more than this part of the room.
List<String> newestMessages(ContextOverflow overflow, double part) =>
    (_ask('newest', {'overflow': overflow.toJson(), 'part': part})! as List<Object?>).cast<String>();
