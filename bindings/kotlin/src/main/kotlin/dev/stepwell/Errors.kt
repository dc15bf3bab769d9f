package dev.stepwell

// Properties that apps need of an exception of any kind.

/** What went wrong, in a sentence. */
public val TurnException.reason: String get() = problem.message

/** What to do about it. */
public val TurnException.advice: String get() = problem.advice

/** Whether a later attempt may succeed. */
public val TurnException.retryable: Boolean get() = problem.retryable
