import 'dart:async';

import 'answers.dart';
import 'json.dart';
import 'machine.dart';
import 'shapes.dart';

/// Thrown by a hook that does not let pass what it looks at. Of a call, or of its result, the model is told the reason, and
/// the turn goes on; a request or an answer ends the turn by it.
final class HookRefusal implements Exception {
  const HookRefusal(this.reason);

  final String reason;

  @override
  String toString() => reason;
}

/// Looks at what an agent's turns are about to do. It is asked about what it has code for.
///
/// Each piece of code lets pass what it looks at by returning `null`; it throws a [HookRefusal] to refuse it, and another
/// exception fails the turn, with the hook's name.
final class Hook {
  const Hook(this.name, {this.beforeRequest, this.afterAnswer, this.beforeTool, this.afterTool});

  /// What refusals call it.
  final String name;

  /// Looks at what is sent to the model, once for each request, not for each try; may return the AG-UI messages that this
  /// request carries in the place of its own. The history stays as it is.
  final FutureOr<List<JsonObject>?> Function(HookedRequest request)? beforeRequest;

  /// Looks at what the model has said, before anything follows from it. The user may have read it by then.
  final FutureOr<void> Function(HookedAnswer answer)? afterAnswer;

  /// Looks at a call, before the user is asked whether it may run; may return other arguments, which fit the tool's schema.
  /// The model is not told.
  final FutureOr<JsonObject?> Function(ToolInvocation call)? beforeTool;

  /// Looks at what came of a call; may return what the model is told in its place, as a tool's own result.
  final FutureOr<Object?> Function(HookedResult result)? afterTool;

  /// What the machine is told of it.
  HookSpec get spec => HookSpec(
        name: name,
        moments: [
          if (beforeRequest != null) HookMoment.beforeRequest,
          if (afterAnswer != null) HookMoment.afterAnswer,
          if (beforeTool != null) HookMoment.beforeTool,
          if (afterTool != null) HookMoment.afterTool,
        ],
      );

  /// What it says.
  Future<HookAnswer> look(HookSubject subject) async {
    switch (subject) {
      case final HookedRequest request:
        final changed = await beforeRequest?.call(request);
        return changed == null ? const GoOn() : ChangeRequest(messages: changed);
      case final HookedAnswer answer:
        await afterAnswer?.call(answer);
        return const GoOn();
      case HookedCall(:final invocation):
        final changed = await beforeTool?.call(invocation);
        return changed == null ? const GoOn() : ChangeArguments(changed);
      case final HookedResult result:
        final changed = await afterTool?.call(result);
        return changed == null ? const GoOn() : ChangeResult(shown(changed));
    }
  }
}

/// What a hook says.
sealed class HookAnswer {
  const HookAnswer();

  JsonObject toJson();
}

/// It may go on as it is.
final class GoOn extends HookAnswer {
  const GoOn();

  @override
  JsonObject toJson() => const {'type': 'goOn'};
}

/// The request goes out with these in the place of its own.
final class ChangeRequest extends HookAnswer {
  const ChangeRequest({this.instructions, this.messages});

  final String? instructions;

  /// AG-UI messages, oldest first.
  final List<JsonObject>? messages;

  @override
  JsonObject toJson() => {'type': 'changeRequest', 'instructions': instructions, 'messages': messages};
}

/// The call is run with these arguments.
final class ChangeArguments extends HookAnswer {
  const ChangeArguments(this.arguments);

  final JsonObject arguments;

  @override
  JsonObject toJson() => {'type': 'changeArguments', 'arguments': arguments};
}

/// The model is told this in the place of the tool's result.
final class ChangeResult extends HookAnswer {
  const ChangeResult(this.content);

  /// Text, or AG-UI content parts.
  final Object content;

  @override
  JsonObject toJson() => {'type': 'changeResult', 'content': content};
}

/// It may not be.
final class HookRefuses extends HookAnswer {
  const HookRefuses(this.reason);

  final String reason;

  @override
  JsonObject toJson() => {'type': 'refused', 'reason': reason};
}

/// The hook's own code failed.
final class HookFails extends HookAnswer {
  const HookFails(this.message);

  final String message;

  @override
  JsonObject toJson() => {'type': 'failed', 'message': message};
}

/// Has a hook look.
Future<Answer> runHook(List<Hook> hooks, RunHook effect) async {
  final RunHook(:id, hook: name, :subject) = effect;
  HookAnswer answer = const HookFails('this app has no code of it');
  try {
    for (final hook in hooks) {
      if (hook.name == name) answer = await hook.look(subject);
    }
  } on HookRefusal catch (refusal) {
    answer = HookRefuses(refusal.reason);
  } catch (error) {
    answer = HookFails('$error');
  }
  final said = answer;
  return (RunMachine machine) => machine.hookAnswered(id, said);
}
