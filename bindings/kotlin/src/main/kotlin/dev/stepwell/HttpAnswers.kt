@file:JvmName("HttpAnswers")

package dev.stepwell

/** The status and the headers of the answer are there, with a signed status: Java has no other. See [HttpAnswer.opened]. */
public fun HttpAnswer.opened(status: Int, headers: List<HttpHeader>): Unit = opened(status.toUShort(), headers)
