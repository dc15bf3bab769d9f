import 'dart:async';
import 'dart:io';

import 'errors.dart';
import 'shapes.dart';

/// The key is missing or wrong.
final class AuthenticationException extends StepwellException {
  const AuthenticationException(super.message, super.advice, [super.details]);

  @override
  ErrorKind get kind => ErrorKind.authentication;
}

/// The key is valid, and not allowed to do this.
final class PermissionException extends StepwellException {
  const PermissionException(super.message, super.advice, [super.details]);

  @override
  ErrorKind get kind => ErrorKind.permission;
}

/// The model or the address does not exist.
final class NotFoundException extends StepwellException {
  const NotFoundException(super.message, super.advice, [super.details]);

  @override
  ErrorKind get kind => ErrorKind.notFound;
}

/// Too many requests.
final class RateLimitException extends StepwellException {
  const RateLimitException(super.message, super.advice, [super.details]);

  @override
  ErrorKind get kind => ErrorKind.rateLimit;
}

/// The account's quota or credit is used up.
final class QuotaException extends StepwellException {
  const QuotaException(super.message, super.advice, [super.details]);

  @override
  ErrorKind get kind => ErrorKind.quota;
}

/// The conversation is longer than the model can read.
final class ContextTooLongException extends StepwellException {
  const ContextTooLongException(super.message, super.advice, [super.details]);

  @override
  ErrorKind get kind => ErrorKind.contextTooLong;
}

/// The request is at fault.
final class InvalidRequestException extends StepwellException {
  const InvalidRequestException(super.message, super.advice, [super.details]);

  @override
  ErrorKind get kind => ErrorKind.invalidRequest;
}

/// The model refused to answer, or a hook of the app refused the request or the answer.
final class RefusedException extends StepwellException {
  const RefusedException(super.message, super.advice, [super.details]);

  @override
  ErrorKind get kind => ErrorKind.refused;
}

/// The provider's filter stopped the request or the answer.
final class ContentFilterException extends StepwellException {
  const ContentFilterException(super.message, super.advice, [super.details]);

  @override
  ErrorKind get kind => ErrorKind.contentFilter;
}

/// The answer is empty, or is not of the type that was asked for.
final class OutputInvalidException extends StepwellException {
  const OutputInvalidException(super.message, super.advice, [super.details]);

  @override
  ErrorKind get kind => ErrorKind.outputInvalid;
}

/// A limit was reached: the turn's, the agent's own, or the model's limit of tokens, which cut the answer off.
final class LimitReachedException extends StepwellException {
  const LimitReachedException(super.message, super.advice, [super.details]);

  @override
  ErrorKind get kind => ErrorKind.limitReached;
}

/// A tool, or other code of the app, failed.
final class ToolFailedException extends StepwellException {
  const ToolFailedException(super.message, super.advice, [super.details]);

  @override
  ErrorKind get kind => ErrorKind.toolFailed;
}

/// The provider or the agent is at fault.
final class ServerException extends StepwellException {
  const ServerException(super.message, super.advice, [super.details]);

  @override
  ErrorKind get kind => ErrorKind.serverError;
}

/// The provider or the model has too much to do.
final class OverloadedException extends StepwellException {
  const OverloadedException(super.message, super.advice, [super.details]);

  @override
  ErrorKind get kind => ErrorKind.overloaded;
}

/// The response is not an answer in the provider's format.
final class InvalidResponseException extends StepwellException {
  const InvalidResponseException(super.message, super.advice, [super.details]);

  @override
  ErrorKind get kind => ErrorKind.invalidResponse;
}

/// The model's server cannot be reached, or the connection broke.
final class ConnectionException extends StepwellException implements IOException {
  const ConnectionException(super.message, super.advice, [super.details]);

  @override
  ErrorKind get kind => ErrorKind.connection;
}

/// The request or the turn took too long.
final class TurnTimeoutException extends StepwellException implements TimeoutException {
  const TurnTimeoutException(super.message, super.advice, [super.details]);

  @override
  ErrorKind get kind => ErrorKind.timeout;

  @override
  Duration? get duration => null;
}

/// Another turn of the conversation is under way.
final class BusyException extends StepwellException {
  const BusyException(super.message, super.advice, [super.details]);

  @override
  ErrorKind get kind => ErrorKind.busy;
}

/// The user or the app stopped the turn.
final class CancelledException extends StepwellException {
  const CancelledException(super.message, super.advice, [super.details]);

  @override
  ErrorKind get kind => ErrorKind.cancelled;
}
