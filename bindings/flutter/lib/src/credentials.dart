import 'dart:async';

import 'json.dart';
import 'threads.dart';

/// For which request credentials are asked for.
final class CredentialRequest {
  const CredentialRequest(this.threadId, this.turn, {required this.rejected});

  /// The conversation.
  final String threadId;

  /// The turn: the run id of its first hop.
  final String turn;

  /// The provider has refused what was given last, with a 401: it is to be got anew, not taken from a cache.
  final bool rejected;
}

/// What one request is sent with. It is in no snapshot and no journal.
final class Authorization {
  const Authorization({this.key, this.headers = const {}});

  /// The key, in the place of the configuration's.
  final String? key;

  /// Headers to send besides, in the place of the configuration's of their names.
  final Map<String, String> headers;
}

/// Gives the key and the headers of each request: for tokens that expire. It is asked before each request, so it keeps what
/// it got as long as that is good. What it throws is what the turn fails with.
typedef CredentialSource = FutureOr<Authorization> Function(CredentialRequest request);

/// The turn that instructions are made for.
final class InstructionsRequest {
  const InstructionsRequest(this.thread, this.turn, this.message, this.messages);

  /// The conversation's key.
  final ThreadKey thread;

  /// The turn: the run id of its first hop.
  final String turn;

  /// What the user says, as an AG-UI message; nothing where the turn goes on from a history.
  final JsonObject? message;

  /// What was said before it: AG-UI messages, oldest first.
  final List<JsonObject> messages;
}

/// Makes the instructions of a turn, before its first request. What it throws is what the turn fails with.
typedef InstructionsSource = FutureOr<String> Function(InstructionsRequest request);

/// The instructions of a turn could not be made.
final class NoInstructions implements Exception {
  const NoInstructions(this.message);

  final String message;
}

/// What the app makes; nothing where the turn is stopped meanwhile.
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
