import 'json.dart';

/// An error of a call to Stepwell. What goes wrong within a turn is not an error of a call, but the turn's `Outcome`.
final class StepwellException implements Exception {
  const StepwellException(this.kind, this.reason, this.advice);

  factory StepwellException.fromJson(JsonObject json) => StepwellException(
        StepwellErrorKind.named(json.text('kind')),
        json.text('reason'),
        json.text('advice'),
      );

  final StepwellErrorKind kind;

  /// What went wrong.
  final String reason;

  /// What to do about it.
  final String advice;

  @override
  String toString() => '$reason; $advice';
}

/// The kinds of error of a call.
enum StepwellErrorKind {
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

  static StepwellErrorKind named(String name) =>
      values.firstWhere((kind) => kind.name == name, orElse: () => StepwellErrorKind.broken);
}
