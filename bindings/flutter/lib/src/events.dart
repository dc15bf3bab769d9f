import 'json.dart';

/// A question of an AG-UI agent.
final class Interrupt {
  const Interrupt(this.id, this.reason, this.message, this.json);

  factory Interrupt.fromJson(JsonObject json) =>
      Interrupt(json.text('id'), json.text('reason'), json.maybeText('message'), json);

  final String id;
  final String reason;
  final String? message;

  /// The complete interrupt, in AG-UI's form.
  final JsonObject json;
}

/// The user's answer to an interrupt.
final class ResumeEntry {
  const ResumeEntry.resolved(this.interruptId, this.payload) : status = 'resolved';
  const ResumeEntry.cancelled(this.interruptId)
      : status = 'cancelled',
        payload = null;

  final String interruptId;
  final String status;
  final Object? payload;

  JsonObject toJson() =>
      {'interruptId': interruptId, 'status': status, if (status == 'resolved') 'payload': payload};
}

/// The result of a tool call, as its event has it.
mixin ToolCallResults {
  /// The result, once the call is done.
  JsonObject? get result;

  /// The content, if the call succeeded.
  Object? get content => result?['content'];

  /// The reason, if the call failed.
  String? get failure => result?.maybeText('message');
}
