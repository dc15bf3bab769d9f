import 'finished.dart';
import 'shapes.dart';

/// A turn whose answer is incomplete: the subclasses give the reason. [Finished.whole] throws it, and so does
/// `Agent.sendAndWait`.
sealed class TurnException implements Exception {
  const TurnException(this.problem, this.finished);

  factory TurnException.of(Problem problem, Finished finished) => switch (problem.kind) {
        ProblemKind.authentication => AuthenticationException(problem, finished),
        ProblemKind.rateLimit => RateLimitException(problem, finished),
        ProblemKind.invalidRequest => InvalidRequestException(problem, finished),
        ProblemKind.notFound => NotFoundException(problem, finished),
        ProblemKind.serverError => ServerException(problem, finished),
        ProblemKind.overloaded => OverloadedException(problem, finished),
        ProblemKind.contextTooLong => ContextTooLongException(problem, finished),
        ProblemKind.contentFiltered => ContentFilteredException(problem, finished),
        ProblemKind.refused => RefusedException(problem, finished),
        ProblemKind.cut => CutException(problem, finished),
        ProblemKind.emptyAnswer => EmptyAnswerException(problem, finished),
        ProblemKind.limitReached => LimitReachedException(problem, finished),
        ProblemKind.connectionFailed => ConnectionFailedException(problem, finished),
        ProblemKind.timedOut => TimedOutException(problem, finished),
        ProblemKind.unreadable => UnreadableException(problem, finished),
        ProblemKind.outputInvalid => OutputInvalidException(problem, finished),
        ProblemKind.agentFailed => AgentFailedException(problem, finished),
        ProblemKind.appFailed => AppFailedException(problem, finished),
        ProblemKind.refusedByHook => RefusedByHookException(problem, finished),
        ProblemKind.notStored => NotStoredException(problem, finished),
        ProblemKind.busy => BusyException(problem, finished),
        ProblemKind.stopped => StoppedException(problem, finished),
      };

  /// What is wrong, what to do, and whether a later attempt may succeed.
  final Problem problem;

  /// The turn as it ended, with what was said so far.
  final Finished finished;

  @override
  String toString() => '${problem.message}; ${problem.advice}';
}

/// The key is missing, wrong, or not allowed to do this.
final class AuthenticationException extends TurnException {
  const AuthenticationException(super.problem, super.finished);
}

/// Too many requests, or the quota is used up.
final class RateLimitException extends TurnException {
  const RateLimitException(super.problem, super.finished);
}

/// The request is at fault.
final class InvalidRequestException extends TurnException {
  const InvalidRequestException(super.problem, super.finished);
}

/// The model or the address does not exist.
final class NotFoundException extends TurnException {
  const NotFoundException(super.problem, super.finished);
}

/// The provider is at fault.
final class ServerException extends TurnException {
  const ServerException(super.problem, super.finished);
}

/// The provider or the model is overloaded.
final class OverloadedException extends TurnException {
  const OverloadedException(super.problem, super.finished);
}

/// The conversation is longer than the model can read.
final class ContextTooLongException extends TurnException {
  const ContextTooLongException(super.problem, super.finished);
}

/// The provider's filter stopped the request or the answer.
final class ContentFilteredException extends TurnException {
  const ContentFilteredException(super.problem, super.finished);
}

/// The model refused to answer.
final class RefusedException extends TurnException {
  const RefusedException(super.problem, super.finished);
}

/// The answer was cut off at the model's limit of tokens.
final class CutException extends TurnException {
  const CutException(super.problem, super.finished);
}

/// The model ended without text, a tool call or media.
final class EmptyAnswerException extends TurnException {
  const EmptyAnswerException(super.problem, super.finished);
}

/// A limit of the turn was reached, or one of the agent's own.
final class LimitReachedException extends TurnException {
  const LimitReachedException(super.problem, super.finished);
}

/// The model's server cannot be reached, or the connection broke.
final class ConnectionFailedException extends TurnException {
  const ConnectionFailedException(super.problem, super.finished);
}

/// The turn took too long.
final class TimedOutException extends TurnException {
  const TimedOutException(super.problem, super.finished);
}

/// The answer is not in the provider's format.
final class UnreadableException extends TurnException {
  const UnreadableException(super.problem, super.finished);
}

/// The model did not give the typed answer that it was asked for.
final class OutputInvalidException extends TurnException {
  const OutputInvalidException(super.problem, super.finished);
}

/// The agent reported that its run failed, without a known reason.
final class AgentFailedException extends TurnException {
  const AgentFailedException(super.problem, super.finished);
}

/// The app's own code for the turn failed.
final class AppFailedException extends TurnException {
  const AppFailedException(super.problem, super.finished);
}

/// A hook of the app's refused the request or the answer, or failed.
final class RefusedByHookException extends TurnException {
  const RefusedByHookException(super.problem, super.finished);
}

/// The turn could not be stored.
final class NotStoredException extends TurnException {
  const NotStoredException(super.problem, super.finished);
}

/// Another turn of the thread is under way.
final class BusyException extends TurnException {
  const BusyException(super.problem, super.finished);
}

/// The user, or the agent, stopped the turn.
final class StoppedException extends TurnException {
  const StoppedException(super.problem, super.finished);
}
