import 'effects.dart';
import 'json.dart';
import 'outcomes.dart';

/// What the user is shown of a turn: AG-UI's events, and those of the turn itself.
sealed class Event {
  const Event();

  factory Event.fromJson(Json json) {
    final type = json.text('type');
    return switch (type) {
      'TEXT_MESSAGE_START' => TextMessageStart(json.text('messageId')),
      'TEXT_MESSAGE_CONTENT' => TextMessageContent(json.text('messageId'), json.text('delta')),
      'TEXT_MESSAGE_END' => TextMessageEnd(json.text('messageId')),
      'REASONING_MESSAGE_START' => ReasoningMessageStart(json.text('messageId')),
      'REASONING_MESSAGE_CONTENT' => ReasoningMessageContent(json.text('messageId'), json.text('delta')),
      'REASONING_MESSAGE_END' => ReasoningMessageEnd(json.text('messageId')),
      'TOOL_CALL_START' => ToolCallStart(json.text('toolCallId'), json.text('toolCallName')),
      'TOOL_CALL_ARGS' => ToolCallArgs(json.text('toolCallId'), json.text('delta')),
      'TOOL_CALL_END' => ToolCallEnd(json.text('toolCallId')),
      'TOOL_CALL_RESULT' => ToolCallResult(json.text('toolCallId'), json['content']),
      'STATE_SNAPSHOT' => StateSnapshot(json['snapshot']),
      'STATE_DELTA' => StateDelta(json.objects('delta')),
      'CUSTOM' => CustomEvent(json.text('name'), json['value']),
      'started' => TurnStarted(json.text('threadId'), json.text('runId')),
      'hopStarted' => HopStarted(json.number('hop'), json.text('runId')),
      'toolCall' => ToolCallUpdate.fromJson(json),
      'partialArguments' => PartialArguments(json.text('toolCallId'), json.objects('changes')),
      'retrying' => Retrying(json.number('attempt'), Duration(milliseconds: json.number('delayMs')), json.text('reason')),
      'interrupted' => Interrupted([for (final asked in json.objects('interrupts')) Interrupt.fromJson(asked)]),
      'answerDropped' => AnswerDropped(json.text('effect')),
      'warning' => Warning(json.text('message')),
      'completed' => TurnCompleted(Outcome.fromJson(json.object('outcome'))),
      'steeringTaken' => SteeringTaken(json.text('messageId'), json.number('hop')),
      'steeringRefused' => SteeringRefused(json.object('message'), json.text('explanation')),
      'waitingForNetwork' => WaitingForNetwork(Duration(milliseconds: json.number('upToMs'))),
      'streamResumed' => StreamResumed(json.number('hop'), json.number('attempt')),
      'contextNearlyFull' => ContextNearlyFull(json.number('tokens'), json.number('window')),
      'contextTrimmed' => ContextTrimmed(json.texts('leftOut'), json.number('tokens')),
      _ when type == type.toUpperCase() => AgUiEvent(type, json),
      _ => UnknownEvent(json),
    };
  }
}

/// A message of the model begins.
final class TextMessageStart extends Event {
  const TextMessageStart(this.messageId);
  final String messageId;
}

/// A piece of it; neighbouring pieces come as one.
final class TextMessageContent extends Event {
  const TextMessageContent(this.messageId, this.delta);
  final String messageId;
  final String delta;
}

/// It is whole.
final class TextMessageEnd extends Event {
  const TextMessageEnd(this.messageId);
  final String messageId;
}

/// The model thinks.
final class ReasoningMessageStart extends Event {
  const ReasoningMessageStart(this.messageId);
  final String messageId;
}

/// A piece of what it thinks.
final class ReasoningMessageContent extends Event {
  const ReasoningMessageContent(this.messageId, this.delta);
  final String messageId;
  final String delta;
}

/// It has thought.
final class ReasoningMessageEnd extends Event {
  const ReasoningMessageEnd(this.messageId);
  final String messageId;
}

/// The model asks for a tool.
final class ToolCallStart extends Event {
  const ToolCallStart(this.toolCallId, this.name);
  final String toolCallId;
  final String name;
}

/// A piece of the arguments, as the model writes them.
final class ToolCallArgs extends Event {
  const ToolCallArgs(this.toolCallId, this.delta);
  final String toolCallId;
  final String delta;
}

/// The arguments are whole.
final class ToolCallEnd extends Event {
  const ToolCallEnd(this.toolCallId);
  final String toolCallId;
}

/// The result of a tool of the backend.
final class ToolCallResult extends Event {
  const ToolCallResult(this.toolCallId, this.content);
  final String toolCallId;
  final Object? content;
}

/// The state shared with an AG-UI agent, whole.
final class StateSnapshot extends Event {
  const StateSnapshot(this.snapshot);
  final Object? snapshot;
}

/// A change of it, as a JSON Patch.
final class StateDelta extends Event {
  const StateDelta(this.delta);
  final List<Json> delta;
}

/// An event of the backend's own.
final class CustomEvent extends Event {
  const CustomEvent(this.name, this.value);
  final String name;
  final Object? value;
}

/// Any other event of the protocol, as it is.
final class AgUiEvent extends Event {
  const AgUiEvent(this.type, this.json);
  final String type;
  final Json json;
}

/// The turn has begun. Until [TurnCompleted] it is one unbroken turn, however many hops it takes.
final class TurnStarted extends Event {
  const TurnStarted(this.threadId, this.runId);
  final String threadId;
  final String runId;
}

/// A stream of the turn, from 0.
final class HopStarted extends Event {
  const HopStarted(this.hop, this.runId);
  final int hop;
  final String runId;
}

/// Where a tool call stands.
final class ToolCallUpdate extends Event {
  const ToolCallUpdate(this.call, this.toolCallId, this.name, this.status, {this.content, this.failure});

  factory ToolCallUpdate.fromJson(Json json) {
    final result = json.object('result');
    return ToolCallUpdate(
      CallKey.fromJson(json.object('call')),
      json.text('toolCallId'),
      json.text('name'),
      named(ToolCallStatus.values, json.text('status'), ToolCallStatus.pending),
      content: result['content'],
      failure: result.maybeText('message'),
    );
  }

  final CallKey call;
  final String toolCallId;
  final String name;
  final ToolCallStatus status;

  /// What it came to, once it has.
  final Object? content;

  /// Why it failed, if it did.
  final String? failure;
}

/// Where a tool call stands.
enum ToolCallStatus {
  streaming,
  pending,
  awaitingApproval,
  executing,
  deferred,
  completed,
  failed,
  denied,
  cancelled,
}

/// Changes of arguments that stream. Only with `RunConfig.partialArguments`.
final class PartialArguments extends Event {
  const PartialArguments(this.toolCallId, this.changes);
  final String toolCallId;
  final List<Json> changes;
}

/// A request failed, and is tried again.
final class Retrying extends Event {
  const Retrying(this.attempt, this.delay, this.reason);
  final int attempt;
  final Duration delay;
  final String reason;
}

/// An AG-UI agent asks the user; answer with `resume`.
final class Interrupted extends Event {
  const Interrupted(this.interrupts);
  final List<Interrupt> interrupts;
}

/// Something that an AG-UI agent asks.
final class Interrupt {
  const Interrupt(this.id, this.reason, this.message, this.json);

  factory Interrupt.fromJson(Json json) =>
      Interrupt(json.text('id'), json.text('reason'), json.maybeText('message'), json);

  final String id;
  final String reason;
  final String? message;

  /// All of it, as AG-UI has it.
  final Json json;
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

  Json toJson() =>
      {'interruptId': interruptId, 'status': status, if (status == 'resolved') 'payload': payload};
}

/// An answer came for what is not waited for any more.
final class AnswerDropped extends Event {
  const AnswerDropped(this.effect);
  final String effect;
}

/// Something is odd, and the turn goes on.
final class Warning extends Event {
  const Warning(this.message);
  final String message;
}

/// The turn is over: the last event.
final class TurnCompleted extends Event {
  const TurnCompleted(this.outcome);
  final Outcome outcome;
}

/// What the user typed during the turn is in the conversation.
final class SteeringTaken extends Event {
  const SteeringTaken(this.messageId, this.hop);
  final String messageId;
  final int hop;
}

/// What the user typed during the turn could not be taken in, and comes back.
final class SteeringRefused extends Event {
  const SteeringRefused(this.message, this.explanation);
  final Json message;
  final String explanation;
}

/// There is no network.
final class WaitingForNetwork extends Event {
  const WaitingForNetwork(this.upTo);
  final Duration upTo;
}

/// A stream that broke off goes on.
final class StreamResumed extends Event {
  const StreamResumed(this.hop, this.attempt);
  final int hop;
  final int attempt;
}

/// The conversation nearly fills the model's context.
final class ContextNearlyFull extends Event {
  const ContextNearlyFull(this.tokens, this.window);
  final int tokens;
  final int window;
}

/// Messages are left out of this turn's requests.
final class ContextTrimmed extends Event {
  const ContextTrimmed(this.leftOut, this.tokens);
  final List<String> leftOut;
  final int tokens;
}

/// One that this version of the plugin does not know.
final class UnknownEvent extends Event {
  const UnknownEvent(this.json);
  final Json json;
}
