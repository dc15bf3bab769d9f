import 'dart:async';

import 'json.dart';
import 'session.dart';
import 'shapes.dart';

/// A run that a backend should create.
final class NewRun {
  const NewRun(this.threadId, {this.parentRunId});

  /// The thread of the run.
  final String threadId;

  /// The run that the new run continues; null for the first of a thread.
  final String? parentRunId;
}

/// Creates a run, and returns its id. An exception fails the turn.
typedef RunSource = FutureOr<String> Function(NewRun run);

/// Chooses the model of a hop, and returns its number: 0 is the agent's own, 1 the first of its `fallback`. After an
/// exception, and for a number that no model has, the turn continues with the model that it has.
typedef ModelChooser = FutureOr<int> Function(HopContext context);

/// A conversation that does not fit the model's context window.
final class ContextOverflow {
  const ContextOverflow(this.tokens, this.window, this.messages);

  /// How many tokens the next request would take, the instructions and the tools included.
  final int tokens;

  /// The number of tokens that the request may take: the model's window, without what is reserved for the answer.
  final int window;

  /// The messages of the request, oldest first.
  final List<ContextMessage> messages;

  /// The ids of the newest messages that fill no more than this part of the room, for [Trimmed]: half of it (0.5)
  /// leaves room to continue for a while. Return them unchanged: what belongs to them is kept with them.
  List<String> newest(double part) => newestMessages(this, part);

  JsonObject toJson() => {
        'tokens': tokens,
        'window': window,
        'messages': [
          for (final ContextMessage(:messageId, :tokens) in messages) {'messageId': messageId, 'tokens': tokens},
        ],
      };
}

/// What is kept of a conversation, and the summary of the rest.
final class Trimmed {
  const Trimmed(this.keep, {this.summary});

  /// The ids of the messages that are kept. Messages that belong to them are kept with them: a call with its results,
  /// and the reasoning before them; so are the last question and the last message.
  final List<String> keep;

  /// The text for the model instead of the other messages.
  final String? summary;
}

/// Shortens a conversation: from the overflow, and its messages, it returns what is kept. The turn fails if that is
/// null, or after an exception.
typedef Trimmer = FutureOr<Trimmed?> Function(ContextOverflow overflow, List<JsonObject> messages);
