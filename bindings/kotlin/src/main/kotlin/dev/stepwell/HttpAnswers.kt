@file:JvmName("HttpAnswers")

package dev.stepwell

/** Reports the status and the headers of the answer, with a signed status for Java. See [HttpAnswer.opened]. */
public fun HttpAnswer.opened(status: Int, headers: List<HttpHeader>): Unit = opened(status.toUShort(), headers)
