import 'dart:async';

import 'errors.dart';
import 'json.dart';
import 'media.dart';
import 'shapes.dart';

/// A tool of an `Agent`, with its code.
///
/// ```dart
/// final secretNumber = Tool(
///   'get_secret_number',
///   'The secret number of a person.',
///   properties: {'name': Schema.text('Whose number.')},
///   run: (call) async => numbers[call.arguments['name']] ?? (throw ToolException('nobody knows')),
/// );
/// ```
///
/// The model is shown the result of [run]: text unchanged, a [ContentPart] or [Parts] as media, anything else as JSON.
/// An exception is this tool's own: the model is informed, and the turn continues. The arguments fit the schema before
/// [run] is called.
final class Tool {
  Tool(
    String name,
    String description, {
    Map<String, JsonObject> properties = const {},
    List<String> optional = const [],
    JsonObject? parameters,
    bool requiresApproval = false,
    bool idempotent = false,
    bool repeatable = false,
    Duration? timeout,
    required this.run,
  }) : definition = ToolDefinition(
          name,
          description,
          parameters: parameters ?? Schema.object(properties, optional: optional),
          requiresApproval: requiresApproval,
          idempotent: idempotent,
          repeatable: repeatable,
          timeout: timeout,
        );

  final ToolDefinition definition;
  final FutureOr<Object?> Function(ToolCall call) run;
}

/// What happens if the code of a tool throws anything but a [ToolException].
enum OnToolError {
  /// The model is told that the tool failed, and nothing of what was thrown; the turn continues.
  tellModel,

  /// The model is shown what was thrown, which may hold addresses, queries and secrets; the turn continues.
  showModel,

  /// The turn fails with a `ToolFailedException`, and the model is not told: for tests.
  fail,
}

/// A call of a tool.
final class ToolCall {
  ToolCall(this.invocation, this.cancelled, this._asking, [this._deps]);

  final Asking _asking;
  final Object? _deps;
  int _questions = 0;

  final ToolInvocation invocation;

  /// Completes when the result is no longer wanted: the turn was cancelled, or the tool took too long.
  final Future<void> cancelled;

  /// What the run was given for its tools by `RunOptions.deps`: the user, a database. Throws a [MisuseException] if that
  /// is of another type.
  D deps<D>() {
    if (_deps case final D deps) return deps;
    throw MisuseException('the run has no `deps` of the type $D', 'give the run its `RunOptions.deps`');
  }

  /// The arguments, which fit the tool's schema.
  JsonObject get arguments => invocation.arguments;

  /// Reports the call's progress, from 0 to 1 if that is known, and what the call is doing: the event [ToolProgress].
  void report(double? fraction, [String? message]) => _asking.report(invocation, fraction, message);

  /// Shows a partial result, text, [Parts] or JSON, which replaces the previous one: the event [ToolPartialResult]. The
  /// model gets only the final result. 256 KiB at most.
  void partial(Object? result) => _asking.partial(invocation, result);

  /// Asks the user, by the agent's `answerer`, and waits for the answer, which fits the question's schema. The tool's
  /// own clock is paused meanwhile. An idempotent tool that is run again after a crash and asks the same question gets
  /// the earlier answer.
  Future<UserAnswer> ask(Question question) => _asking.ask(invocation, _questions++, question);
}

/// The receiver of a tool's reports and questions.
abstract interface class Asking {
  void report(ToolInvocation invocation, double? fraction, String? message);
  void partial(ToolInvocation invocation, Object? result);

  /// Ends the turn: the app's code of the tool is broken.
  void fail(ToolInvocation invocation, Object error);
  Future<UserAnswer> ask(ToolInvocation invocation, int number, Question question);
}

/// Thrown by a tool to inform the model why it could not do its work.
final class ToolException implements Exception {
  const ToolException(this.message);

  /// For the model to read.
  final String message;

  @override
  String toString() => message;
}

/// Thrown by a tool that has begun something whose result comes later, in minutes or days, by `Turn.resolveCall`.
final class Deferred implements Exception {
  const Deferred();
}

/// A tool's result that is more than text: texts, [ContentPart]s and AG-UI's parts in JSON, in order.
final class Parts {
  const Parts(this.parts);

  final List<Object> parts;
}

/// The JSON Schemas of arguments.
abstract final class Schema {
  static JsonObject text(String description, {List<String>? oneOf}) =>
      given({'type': 'string', 'description': description, 'enum': oneOf});

  static JsonObject integer(String description) => {'type': 'integer', 'description': description};

  static JsonObject number(String description) => {'type': 'number', 'description': description};

  static JsonObject boolean(String description) => {'type': 'boolean', 'description': description};

  static JsonObject listOf(JsonObject items, String description) => {'type': 'array', 'items': items, 'description': description};

  /// An object with these properties, all but those of [optional] required.
  static JsonObject object(Map<String, JsonObject> properties, {List<String> optional = const []}) => {
        'type': 'object',
        'properties': properties,
        'required': [
          for (final name in properties.keys)
            if (!optional.contains(name)) name,
        ],
      };
}
