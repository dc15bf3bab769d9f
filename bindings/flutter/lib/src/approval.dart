import 'json.dart';
import 'shapes.dart';

/// Asks the user whether a tool may run.
typedef Approver = Future<Decision> Function(ToolInvocation invocation);

/// Asks the user a running tool's question: returns the answer, which fits the question's schema, or that there is
/// none.
typedef Answerer = Future<UserAnswer> Function(ToolInvocation invocation, Question question);

/// The user's decision on a tool call.
sealed class Decision {
  const Decision();
}

/// The call may run.
final class Granted extends Decision {
  const Granted();
}

/// The call may not run. The reason is for the model to read.
final class Denied extends Decision {
  const Denied([this.reason]);
  final String? reason;
}

/// The call may run with other arguments than the model's, and the model is informed.
final class Edited extends Decision {
  const Edited(this.arguments);
  final JsonObject arguments;
}
