import 'json.dart';

/// What Stepwell says when a call cannot be done. What goes wrong within a turn is no error of a call: it is the turn's
/// `Outcome`.
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

/// What a call can fail of.
enum StepwellErrorKind {
  /// The configuration does not work.
  configuration,

  /// An argument is not what it should be.
  invalidArgument,

  /// The call does not fit where the run stands: the app's own mistake. The run is as it was.
  misuse,

  /// The snapshot cannot be read.
  snapshot,

  /// Another run has taken the handle's thread: if it is the app's own run, stop it.
  stale,

  /// A call broke off inside Stepwell: make the machine again of its last snapshot.
  broken;

  static StepwellErrorKind named(String name) =>
      values.firstWhere((kind) => kind.name == name, orElse: () => StepwellErrorKind.broken);
}
