package dev.stepwell

// What apps ask of an exception, whatever its kind.

/** What went wrong, in a sentence. */
public val TurnException.reason: String get() = problem.message

/** What to do about it. */
public val TurnException.advice: String get() = problem.advice

/** Whether the same may go well another time. */
public val TurnException.retryable: Boolean get() = problem.retryable
