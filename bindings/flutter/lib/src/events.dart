import 'json.dart';

/// Something that an AG-UI agent asks.
final class Interrupt {
  const Interrupt(this.id, this.reason, this.message, this.json);

  factory Interrupt.fromJson(JsonObject json) =>
      Interrupt(json.text('id'), json.text('reason'), json.maybeText('message'), json);

  final String id;
  final String reason;
  final String? message;

  /// All of it, as AG-UI has it.
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

/// What came of a tool call, as its event has it.
mixin ToolCallResults {
  /// What came of it, once it is done.
  JsonObject? get result;

  /// What it came to, if it did.
  Object? get content => result?['content'];

  /// Why it failed, if it did.
  String? get failure => result?.maybeText('message');
}
