import 'dart:convert';

import 'approval.dart';
import 'context.dart';
import 'credentials.dart';
import 'errors.dart';
import 'json.dart';
import 'machine.dart';
import 'media.dart';
import 'shapes.dart';
import 'tools.dart';

/// The machine's input for the result of the app's code.
typedef Answer = Outputs Function(RunMachine machine);

/// The form in which the model is shown a result: text, or AG-UI content parts.
Object shown(Object? result) => switch (result) {
      Parts(:final parts) => partsOf(parts),
      final ContentPart part => partsOf([part]),
      final String text => text,
      _ => jsonEncode(result),
    };

/// Runs a tool.
Future<Answer> runTool(
  Map<String, Tool> tools,
  RunTool effect,
  Future<void> cancelled,
  Asking asking, {
  required OnToolError onToolError,
  Object? deps,
}) async {
  final RunTool(:id, :invocation) = effect;
  try {
    final tool = tools[invocation.name];
    if (tool == null) throw ToolException('there is no tool `${invocation.name}`');
    final content = shown(await tool.run(ToolCall(invocation, cancelled, asking, deps)));
    return (RunMachine machine) => machine.toolFinished(id, content);
  } on Deferred {
    return (RunMachine machine) => machine.toolDeferred(id);
  } on ToolException catch (error) {
    return (RunMachine machine) => machine.toolFailed(id, error.message);
  } catch (error) {
    if (onToolError == OnToolError.fail) asking.fail(invocation, error);
    // Without a message the model is told only that the tool failed.
    final told = onToolError == OnToolError.showModel ? '$error' : '';
    return (RunMachine machine) => machine.toolFailed(id, told, kind: ToolFailureKind.panicked);
  }
}

const _noWay = 'this app has no way to ask the user';

/// Asks the user a tool's question. Null if the question waits for a reply: nobody could reply to a turn that `isAlone`.
Future<Answer?> askUser(Answerer? answerer, AskUser effect, {required bool isAlone}) async {
  final AskUser(:id, :invocation, :question) = effect;
  if (answerer == null) return isAlone ? (RunMachine machine) => machine.decline(id, reason: _noWay) : null;
  UserAnswer answer;
  try {
    answer = await answerer(invocation, question);
  } catch (_) {
    answer = const Declined(reason: 'the user could not be asked');
  }
  return switch (answer) {
    Declined(:final reason) => (RunMachine machine) => machine.decline(id, reason: reason),
    Given(:final value) => (RunMachine machine) => _answered(machine, id, value),
  };
}

Outputs _answered(RunMachine machine, String id, Object? value) {
  try {
    return machine.answer(id, value);
  } on StepwellException catch (error) {
    return machine.decline(id, reason: error.message);
  }
}

/// Asks the user whether a tool may run. Null if the call waits for a reply, as in [askUser].
Future<Answer?> askApproval(Approver? approver, AskApproval effect, {required bool isAlone}) async {
  final AskApproval(:id, :invocation) = effect;
  if (approver == null) return isAlone ? (RunMachine machine) => machine.deny(id, reason: _noWay) : null;
  Decision decision;
  try {
    decision = await approver(invocation);
  } catch (_) {
    decision = const Denied('the user could not be asked');
  }
  return switch (decision) {
    Granted() => (RunMachine machine) => machine.approve(id),
    Denied(:final reason) => (RunMachine machine) => machine.deny(id, reason: reason),
    Edited(:final arguments) => (RunMachine machine) => _edited(machine, id, arguments),
  };
}

Outputs _edited(RunMachine machine, String id, JsonObject arguments) {
  try {
    return machine.approve(id, arguments: arguments);
  } on StepwellException catch (error) {
    return machine.deny(id, reason: error.message);
  }
}

/// Creates a run.
Future<Answer> createRun(RunSource? source, CreateRun effect) async {
  final CreateRun(:id, :threadId, :parentRunId) = effect;
  if (source == null) return (RunMachine machine) => machine.runNotCreated(id, 'the agent has no `runSource`');
  try {
    final runId = await source(NewRun(threadId, parentRunId: parentRunId));
    return (RunMachine machine) => machine.runCreated(id, runId);
  } catch (error) {
    return (RunMachine machine) => machine.runNotCreated(id, '$error');
  }
}

/// Gets credentials for the next request of this turn.
Future<Answer> authorize(
  CredentialSource? source,
  Authorize effect,
  String threadId,
  String turn,
  ModelName model,
) async {
  final Authorize(:id, :rejected) = effect;
  if (source == null) return (RunMachine machine) => machine.notAuthorized(id, 'the model has no `credentials`');
  try {
    final Authorization(:key, :headers) = await source(CredentialRequest(threadId, turn, model, rejected: rejected));
    return (RunMachine machine) => machine.authorized(id, key: key, headers: headers);
  } catch (error) {
    return (RunMachine machine) => machine.notAuthorized(id, '$error');
  }
}

/// Shortens a conversation of these messages.
Future<Answer> trim(Trimmer? trimmer, TrimContext effect, List<JsonObject> messages) async {
  final TrimContext(:id, :tokens, :window, messages: sized) = effect;
  try {
    final kept = await trimmer?.call(ContextOverflow(tokens, window, sized), messages);
    if (kept == null) return (RunMachine machine) => machine.contextNotTrimmed(id, 'the app left nothing out');
    return (RunMachine machine) => machine.contextTrimmed(id, kept.keep, summary: kept.summary);
  } catch (error) {
    return (RunMachine machine) => machine.contextNotTrimmed(id, "the app's code for it broke off: $error");
  }
}

/// Chooses the model of a hop.
Future<Answer> chooseModel(ModelChooser? chooser, ChooseModel effect) async {
  final ChooseModel(:id, :context) = effect;
  if (chooser == null) return (RunMachine machine) => machine.modelNotChosen(id, 'this app has no code for it');
  try {
    final model = await chooser(context);
    if (model >= 0 && model < context.models.length) return (RunMachine machine) => machine.modelChosen(id, model);
    return (RunMachine machine) => machine.modelNotChosen(id, 'the app chose a number that no model has');
  } catch (error) {
    return (RunMachine machine) => machine.modelNotChosen(id, "the app's code for it broke off: $error");
  }
}

/// Decodes a typed answer.
Future<Answer> decode(Object? Function(Object? value)? read, DecodeOutput effect) async {
  final DecodeOutput(:id, :value) = effect;
  if (read == null) return (RunMachine machine) => machine.outputRefused(id, 'this app has no code that reads the answer');
  try {
    read(value);
    return (RunMachine machine) => machine.outputDecoded(id);
  } catch (error) {
    return (RunMachine machine) => machine.outputRefused(id, '$error');
  }
}
