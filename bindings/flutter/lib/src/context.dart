import 'dart:async';

import 'json.dart';
import 'session.dart';
import 'shapes.dart';

/// A run that a backend is to create.
final class NewRun {
  const NewRun(this.threadId, {this.parentRunId});

  /// The thread that it is of.
  final String threadId;

  /// The run that it continues; a thread's first has none.
  final String? parentRunId;
}

/// Creates a run, and gives its id. What it throws is what the turn fails with.
typedef RunSource = FutureOr<String> Function(NewRun run);

/// A conversation that does not fit the model's context window.
final class ContextOverflow {
  const ContextOverflow(this.tokens, this.window, this.messages);

  /// How many tokens the next request would take, the instructions and the tools included.
  final int tokens;

  /// How many it may take: the model's window, without what is kept for the answer.
  final int window;

  /// The messages of the request, oldest first.
  final List<ContextMessage> messages;

  /// The ids of the newest messages that fill no more than this part of the room, for [Trimmed]: half of it (0.5) leaves room
  /// to go on for a while. To be given back as they are: what belongs to them is kept with them.
  List<String> newest(double part) => newestMessages(this, part);

  JsonObject toJson() => {
        'tokens': tokens,
        'window': window,
        'messages': [
          for (final ContextMessage(:messageId, :tokens) in messages) {'messageId': messageId, 'tokens': tokens},
        ],
      };
}

/// What is kept of a conversation, and what stands for the rest.
final class Trimmed {
  const Trimmed(this.keep, {this.summary});

  /// The ids of the messages that are kept. What belongs to them is kept with them: a call with its results, and the
  /// reasoning before them; so are the last question and the last message.
  final List<String> keep;

  /// What the model is told in the place of the others.
  final String? summary;
}

/// Shortens a conversation: from what does not fit, and its messages, it gives what is kept. The turn fails where that is
/// nothing, or it throws.
typedef Trimmer = FutureOr<Trimmed?> Function(ContextOverflow overflow, List<JsonObject> messages);

/// Decodes a typed answer, which fits its schema, into the app's own type. What it throws is what the model is told that does
/// not fit: the answer is asked for again.
typedef OutputDecoder = FutureOr<void> Function(Object? value);
