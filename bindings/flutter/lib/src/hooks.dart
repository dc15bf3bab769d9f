import 'dart:async';

import 'answers.dart';
import 'json.dart';
import 'machine.dart';
import 'shapes.dart';

/// Thrown by a hook that refuses its subject. A refused call, or its result, goes back to the model with the reason,
/// and the turn continues; a refused request or answer ends the turn.
final class HookRefusal implements Exception {
  const HookRefusal(this.reason);

  final String reason;

  @override
  String toString() => reason;
}

/// Inspects what an agent's turns are about to do. A hook is asked about the subjects that it has code for.
///
/// Each function accepts its subject by returning `null`; it throws a [HookRefusal] to refuse it, and another exception
/// fails the turn, with the hook's name.
final class Hook {
  const Hook(this.name, {this.beforeRequest, this.afterAnswer, this.beforeTool, this.afterTool});

  /// The name in refusals.
  final String name;

  /// Inspects a request to the model, once for each request, not for each try; may return AG-UI messages to send
  /// instead of the request's own. The history is not changed.
  final FutureOr<List<JsonObject>?> Function(HookedRequest request)? beforeRequest;

  /// Inspects the model's answer, before anything follows from it. The user may have read it by then.
  final FutureOr<void> Function(HookedAnswer answer)? afterAnswer;

  /// Inspects a call, before the user is asked whether it may run; may return other arguments, which must fit the
  /// tool's schema. The model is not informed.
  final FutureOr<JsonObject?> Function(ToolInvocation call)? beforeTool;

  /// Inspects the result of a call; may return another result for the model, as a tool's own result.
  final FutureOr<Object?> Function(HookedResult result)? afterTool;

  /// The hook in the machine's configuration.
  HookSpec get spec => HookSpec(
        name: name,
        moments: [
          if (beforeRequest != null) HookMoment.beforeRequest,
          if (afterAnswer != null) HookMoment.afterAnswer,
          if (beforeTool != null) HookMoment.beforeTool,
          if (afterTool != null) HookMoment.afterTool,
        ],
      );

  /// The hook's answer.
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

/// The answer of a hook.
sealed class HookAnswer {
  const HookAnswer();

  JsonObject toJson();
}

/// The subject is accepted.
final class GoOn extends HookAnswer {
  const GoOn();

  @override
  JsonObject toJson() => const {'type': 'goOn'};
}

/// The request is sent with these messages instead of its own.
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

/// The model gets this instead of the tool's result.
final class ChangeResult extends HookAnswer {
  const ChangeResult(this.content);

  /// Text, or AG-UI content parts.
  final Object content;

  @override
  JsonObject toJson() => {'type': 'changeResult', 'content': content};
}

/// The subject is refused.
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

/// Calls a hook.
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
