package dev.stepwell

/** Runs code of the app that Rust calls: see [AppCode.crossing]. */
internal inline fun <T> guarded(call: () -> T): T =
    try {
        call()
    } catch (broken: Error) {
        throw AppCode.crossing(broken)
    }

/** Returns a number of Java, whose types are signed, if it is not negative. */
internal fun Int.notNegative(): Int = also { require(it >= 0) { "$it is negative" } }

internal fun Long.notNegative(): Long = also { require(it >= 0) { "$it is negative" } }
