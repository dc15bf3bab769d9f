import 'events.dart';
import 'json.dart';
import 'outcomes.dart';
import 'shapes.dart';

/// The contents of a chat screen: the same state in every language. A reload from the store gives the state that was
/// shown live.
final class ChatState {
  const ChatState({
    this.revision = 0,
    this.status = ChatStatus.ready,
    this.connection = const ChatConnection('idle', {}),
    this.problem,
    this.pending = const [],
    this.interrupts = const [],
    this.usage = const TokenUsage(),
    this.omittedMessages = 0,
    this.compaction,
    this.messages = const [],
  });

  factory ChatState.fromJson(JsonObject json, List<ChatMessage> messages) => ChatState(
        revision: json.number('revision'),
        status: ChatStatus.values.byName(json.text('status')),
        connection: ChatConnection(json.object('connection').text('state'), json.object('connection')),
        problem: json['problem'] == null ? null : ChatProblem.fromJson(json.object('problem')),
        pending: [for (final each in json.objects('pending')) Pending.fromJson(each)],
        interrupts: [for (final each in json.objects('interrupts')) Interrupt.fromJson(each)],
        usage: TokenUsage.fromJson(json.object('usage')),
        omittedMessages: json.number('omittedMessages'),
        compaction: json['compaction'] == null ? null : ChatCompaction.fromJson(json.object('compaction')),
        messages: messages,
      );

  /// Grows with each change of the state.
  final int revision;
  final ChatStatus status;
  final ChatConnection connection;

  /// Why the last turn failed. A new turn clears the problem, and a cancelled turn has none.
  final ChatProblem? problem;

  /// What waits for the user or for a deferred result, in the order of the calls.
  final List<Pending> pending;

  /// The questions of an AG-UI agent, which gets all answers at once.
  final List<Interrupt> interrupts;

  /// The usage of the last turn so far.
  final TokenUsage usage;

  /// How many earlier messages [messages] leaves out.
  final int omittedMessages;

  /// The part of the conversation that the model is no longer sent as it is. Absent if it is sent all messages.
  final ChatCompaction? compaction;

  /// The messages, the oldest first. A message that has not changed is the same object as before.
  final List<ChatMessage> messages;
}

/// The part of a conversation that the model is no longer sent as it is. The screen still has all of it.
final class ChatCompaction {
  const ChatCompaction({this.through, this.summary, this.byProvider});

  factory ChatCompaction.fromJson(JsonObject json) => ChatCompaction(
        through: json['through'] as String?,
        summary: json['summary'] as String?,
        byProvider: json['byProvider'] as String?,
      );

  /// The last message of the conversation that is left out. Absent if only results of tools are.
  final String? through;

  /// The summary that the model is sent instead.
  final String? summary;

  /// The answer with which the provider compacted the conversation itself: the provider is sent nothing from before it.
  final String? byProvider;
}

/// The status of a chat.
enum ChatStatus {
  /// No turn is under way, and the last one did not fail.
  ready,

  /// The message was sent, and nothing of the answer has arrived.
  submitted,

  /// The answer streams, or its tools run.
  streaming,

  /// The turn needs the user: an approval, or the answer to a question.
  waitingForUser,

  /// No turn is under way, and the last one failed: see [ChatState.problem].
  error;

  /// Whether a turn is under way.
  bool get isBusy => this != ready && this != error;
}

/// The connection to the model or the agent.
final class ChatConnection {
  const ChatConnection(this.state, this.json);

  /// `idle`, `connecting`, `streaming`, `waitingToRetry`, `offline` or `resuming`.
  final String state;

  /// The complete form, with the `attempt`, the time `at` and the `reason` of a request that is sent again.
  final JsonObject json;
}

/// Why the last turn failed.
final class ChatProblem {
  const ChatProblem(this.kind, this.message, this.advice, {this.retryable = false, this.status});

  factory ChatProblem.fromJson(JsonObject json) => ChatProblem(
        ErrorKind.values.byName(json.text('kind')),
        json.text('message'),
        json.text('advice'),
        retryable: json['retryable'] == true,
        status: json.maybeNumber('status'),
      );

  final ErrorKind kind;
  final String message;
  final String advice;

  /// Whether the same message may succeed another time.
  final bool retryable;

  /// The HTTP status of the provider's answer, if it answered with an error.
  final int? status;

  JsonObject toJson() => given({
        'kind': kind.name,
        'message': message,
        'advice': advice,
        'retryable': retryable,
        'status': status,
      });
}

/// A message. What the model and its tools do between two messages of the user is one message.
final class ChatMessage {
  const ChatMessage(this.id, this.parts, {required this.isUser, this.streaming = false, this.cut = false});

  factory ChatMessage.fromJson(JsonObject json) => ChatMessage(
        json.text('id'),
        [for (final part in json.objects('parts')) ChatPart.fromJson(part)],
        isUser: json['role'] == 'user',
        streaming: json['streaming'] == true,
        cut: json['cut'] == true,
      );

  /// Unique in the state: a key for lists.
  final String id;

  /// The parts, in order.
  final List<ChatPart> parts;

  /// Whether the user said it, not the model.
  final bool isUser;

  /// Whether the turn under way may still change the message.
  final bool streaming;

  /// Whether the answer was cut because its process died. The next message begins the answer again.
  final bool cut;
}

/// A part of a message.
sealed class ChatPart {
  const ChatPart();

  factory ChatPart.fromJson(JsonObject json) => switch (json.text('type')) {
        'text' => TextPart(json.text('text')),
        'reasoning' => ReasoningPart(json.text('text')),
        'tool' => ToolPart(ToolCard.fromJson(json.object('card'))),
        'media' => MediaPart(json.object('media')),
        _ => ActivityPart(json.text('activityType'), json.object('content')),
      };
}

/// Text.
final class TextPart extends ChatPart {
  const TextPart(this.text);

  final String text;
}

/// The model's reasoning, as far as its provider shows it.
final class ReasoningPart extends ChatPart {
  const ReasoningPart(this.text);

  final String text;
}

/// A tool call.
final class ToolPart extends ChatPart {
  const ToolPart(this.card);

  final ToolCard card;
}

/// An image, audio, a video or a document, as an AG-UI content part.
final class MediaPart extends ChatPart {
  const MediaPart(this.media);

  final JsonObject media;
}

/// An agent's view of its work.
final class ActivityPart extends ChatPart {
  const ActivityPart(this.activityType, this.content);

  final String activityType;
  final JsonObject content;
}

/// A tool call, as a screen shows it.
final class ToolCard {
  const ToolCard(this.toolCallId, this.name, this.label, this.status, this.json);

  factory ToolCard.fromJson(JsonObject json) => ToolCard(
        json.text('toolCallId'),
        json.text('name'),
        json.text('label'),
        ToolCallStatus.values.byName(json.text('status')),
        json,
      );

  final String toolCallId;
  final String name;
  final String label;
  final ToolCallStatus status;

  /// The complete card.
  final JsonObject json;

  /// The arguments: while they stream, the part that is certain.
  Object? get arguments => json['arguments'];

  /// What the running tool said of its progress last.
  String? get progress => json.object('progress').maybeText('message');

  /// The result, text or AG-UI content parts, once the call is completed.
  Object? get result => json['result'];

  /// Why there is no result, once the call failed, was denied or was cancelled.
  String? get failure => json.maybeText('failure');
}
