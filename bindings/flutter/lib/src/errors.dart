import 'json.dart';
import 'result.dart';
import 'shapes.dart';

/// What an exception knows in addition to its message and advice.
typedef ErrorDetails = ({String? provider, String? model, int? status, bool retryable, TurnResult<void>? result});

/// What went wrong, and what to do about it: the base of all exceptions of Stepwell, one class for each [kind]. A turn
/// whose answer is incomplete throws one, also if it was cancelled; so does a call that cannot work, and a store.
abstract class StepwellException implements Exception {
  const StepwellException(this.message, this.advice, [this._details = none]);

  /// Nothing in addition to a message and advice.
  static const ErrorDetails none = (provider: null, model: null, status: null, retryable: false, result: null);

  final ErrorDetails _details;

  /// The kind, for the app to act on: the same names in every language.
  ErrorKind get kind;

  /// What went wrong. It never holds what was said.
  final String message;

  /// What to do about it.
  final String advice;

  /// The provider that the turn asked last; null if the turn had not begun.
  String? get provider => _details.provider;

  /// The name of the model that the turn asked last; null if the turn had not begun.
  String? get model => _details.model;

  /// The HTTP status of the provider's answer, if it answered with an error.
  int? get status => _details.status;

  /// Whether the same call may succeed another time.
  bool get retryable => _details.retryable;

  /// What there is of the turn, without an output; null if the turn had not begun. It holds the conversation, which
  /// [toString] does not.
  TurnResult<void>? get result => _details.result;

  @override
  String toString() => '$message; $advice';
}

/// The program uses the library in a way that cannot work. A refused call changes nothing.
final class MisuseException extends StepwellException {
  const MisuseException(super.message, super.advice, {this.code = MisuseCode.misuse});

  /// The misuse that ended a turn.
  const MisuseException.of(super.message, super.advice, super.details) : code = MisuseCode.misuse;

  factory MisuseException.fromJson(JsonObject json) => MisuseException(
        json.text('reason'),
        json.text('advice'),
        code: MisuseCode.named(json.text('kind')),
      );

  /// Why the library refused the call.
  final MisuseCode code;

  @override
  ErrorKind get kind => ErrorKind.misuse;
}

/// A reply that nothing waits for.
const nothingWaits = MisuseException(
  'nothing that takes this reply waits under the id',
  'take the `id` of an entry of `pending`, of the kind that the method answers',
);

/// Why the library refuses a call.
enum MisuseCode {
  /// The configuration does not work.
  configuration,

  /// An argument is invalid.
  invalidArgument,

  /// The call does not fit the state of the run: the app's own mistake. The run is unchanged.
  misuse,

  /// The snapshot cannot be read.
  snapshot,

  /// Another run has taken the handle's thread: if it is the app's own run, stop it.
  stale,

  /// A call broke off inside Stepwell: restore the machine from its last snapshot.
  broken;

  static MisuseCode named(String name) =>
      values.firstWhere((code) => code.name == name, orElse: () => MisuseCode.broken);
}
