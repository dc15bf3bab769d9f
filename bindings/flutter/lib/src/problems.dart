import 'errors.dart';
import 'result.dart';
import 'shapes.dart';
import 'store.dart';
import 'turn_exceptions.dart';

/// The exception of what kept a turn from a complete answer.
StepwellException exceptionOf(Problem problem, {String? provider, String? model, TurnResult<void>? result}) {
  final Problem(:kind, :message, :advice, :status, :retryable) = problem;
  final ErrorDetails details = (provider: provider, model: model, status: status, retryable: retryable, result: result);
  return switch (kind) {
    ErrorKind.authentication => AuthenticationException(message, advice, details),
    ErrorKind.permission => PermissionException(message, advice, details),
    ErrorKind.notFound => NotFoundException(message, advice, details),
    ErrorKind.rateLimit => RateLimitException(message, advice, details),
    ErrorKind.quota => QuotaException(message, advice, details),
    ErrorKind.contextTooLong => ContextTooLongException(message, advice, details),
    ErrorKind.invalidRequest => InvalidRequestException(message, advice, details),
    ErrorKind.refused => RefusedException(message, advice, details),
    ErrorKind.contentFilter => ContentFilterException(message, advice, details),
    ErrorKind.outputInvalid => OutputInvalidException(message, advice, details),
    ErrorKind.limitReached => LimitReachedException(message, advice, details),
    ErrorKind.toolFailed => ToolFailedException(message, advice, details),
    ErrorKind.serverError => ServerException(message, advice, details),
    ErrorKind.overloaded => OverloadedException(message, advice, details),
    ErrorKind.invalidResponse => InvalidResponseException(message, advice, details),
    ErrorKind.connection => ConnectionException(message, advice, details),
    ErrorKind.timeout => TurnTimeoutException(message, advice, details),
    ErrorKind.busy => BusyException(message, advice, details),
    ErrorKind.cancelled => CancelledException(message, advice, details),
    ErrorKind.store => StoreException(StoreErrorCode.other, message, details),
    ErrorKind.misuse => MisuseException.of(message, advice, details),
  };
}
