import 'dart:async';

import 'json.dart';
import 'shapes.dart';
import 'threads.dart';

/// The request that credentials are asked for.
final class CredentialRequest {
  const CredentialRequest(this.threadId, this.turn, this.model, {required this.rejected});

  /// The conversation.
  final String threadId;

  /// The turn: the run id of its first hop.
  final String turn;

  /// The model that is asked: the agent's own, or one of its `fallback`.
  final ModelName model;

  /// Whether the provider refused the last credentials with a 401: get new ones, not those of a cache.
  final bool rejected;
}

/// The key and the headers of one request. They are in no snapshot and no journal.
final class Authorization {
  const Authorization({this.key, this.headers = const {}});

  /// The key, instead of the configuration's.
  final String? key;

  /// Additional headers, which replace the configuration's of the same names.
  final Map<String, String> headers;
}

/// Returns the key and the headers of each request, for tokens that expire. It is called before each request, so it
/// should cache what is still valid. An exception fails the turn.
typedef CredentialSource = FutureOr<Authorization> Function(CredentialRequest request);

/// The turn that instructions are made for.
final class InstructionsRequest {
  const InstructionsRequest(this.thread, this.turn, this.message, this.messages);

  /// The conversation's key.
  final ThreadKey thread;

  /// The turn: the run id of its first hop.
  final String turn;

  /// What the user says, as an AG-UI message; null where the turn continues from a history.
  final JsonObject? message;

  /// The conversation before that message: AG-UI messages, oldest first.
  final List<JsonObject> messages;
}

/// Makes the instructions of a turn, before its first request. An exception fails the turn.
typedef InstructionsSource = FutureOr<String> Function(InstructionsRequest request);

/// The instructions of a turn could not be made.
final class NoInstructions implements Exception {
  const NoInstructions(this.message);

  final String message;
}

/// The result of the app; null if the turn is stopped meanwhile.
Future<String?> instructions(
  InstructionsSource source,
  InstructionsRequest request,
  Duration? longest,
  Future<void> stopped,
) async {
  try {
    final made = Future<String?>.sync(() => source(request));
    final first = Future.any([made, stopped.then((_) => null)]);
    return await (longest == null ? first : first.timeout(longest));
  } on TimeoutException {
    throw const NoInstructions('the app took too long');
  } catch (error) {
    throw NoInstructions('$error');
  }
}
