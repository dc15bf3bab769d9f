package dev.stepwell

/** Runs code of the app's that Rust calls: see [AppCode.crossing]. */
internal inline fun <T> guarded(call: () -> T): T =
    try {
        call()
    } catch (broken: Error) {
        throw AppCode.crossing(broken)
    }

/** A number of Java's, where only one that counts makes sense. */
internal fun Int.notNegative(): Int = also { require(it >= 0) { "$it is negative" } }

internal fun Long.notNegative(): Long = also { require(it >= 0) { "$it is negative" } }
