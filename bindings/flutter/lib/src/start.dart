import 'errors.dart';
import 'events.dart';
import 'json.dart';
import 'media.dart';
import 'shapes.dart';

/// The start of a turn, with ids and a message that the app makes.
final class Start {
  /// What the user says is `text` and the `parts` after it (what `image` and the like make, and texts), or an AG-UI
  /// message. With neither, the turn continues from a history whose last message the model should answer. Throws if
  /// both are set.
  Start(
    this.runId, {
    String? text,
    JsonObject? message,
    List<Object> parts = const [],
    this.parentRunId,
    this.resume = const [],
    this.options = const TurnOptions(),
  }) : message = _said(runId, text, parts, message);

  /// The turn's id, and its first hop's run id, unless the backend makes that (`RunIds.host`). Unique in the thread.
  final String runId;

  /// What the user says.
  final JsonObject? message;

  /// The run that the first hop's run continues, for backends that need it.
  final String? parentRunId;

  /// The answers to the interrupts that an earlier turn of an AG-UI agent ended with.
  final List<ResumeEntry> resume;

  /// The options of this turn that differ from the configuration.
  final TurnOptions options;

  /// The same start with other options.
  Start withOptions(TurnOptions options) =>
      Start(runId, message: message, parentRunId: parentRunId, resume: resume, options: options);

  static JsonObject? _said(String runId, String? text, List<Object> parts, JsonObject? message) {
    if (text == null && parts.isEmpty) return message;
    if (message == null) return {'id': '$runId-user', 'role': 'user', 'content': contentOf(text ?? '', parts)};
    throw const MisuseException(
      'a turn starts with `text` or with `message`, not with both',
      'leave one of them out',
    );
  }

  JsonObject toJson() => given({
        'runId': runId,
        'parentRunId': parentRunId,
        'message': message,
        'resume': [for (final entry in resume) entry.toJson()],
        'options': options.toJson(),
      });
}
