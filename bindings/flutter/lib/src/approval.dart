import 'json.dart';
import 'shapes.dart';

/// Asks the user whether a tool may run.
typedef Approver = Future<Decision> Function(ToolInvocation invocation);

/// Asks the user what a running tool wants to know: gives the answer, which fits the question's schema, or says that there is
/// none.
typedef Answerer = Future<UserAnswer> Function(ToolInvocation invocation, Question question);

/// What the user says to a tool that asks to run.
sealed class Decision {
  const Decision();
}

/// It may.
final class Granted extends Decision {
  const Granted();
}

/// It may not. The reason is for the model to read.
final class Denied extends Decision {
  const Denied([this.reason]);
  final String? reason;
}

/// It may, with other arguments than the model's. The model is told.
final class Edited extends Decision {
  const Edited(this.arguments);
  final JsonObject arguments;
}
