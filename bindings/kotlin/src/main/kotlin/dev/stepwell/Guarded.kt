package dev.stepwell

/** Only exceptions cross to Rust: an error left alone would never answer, and the turn would wait. */
internal inline fun <T> guarded(call: () -> T): T =
    try {
        call()
    } catch (broken: Error) {
        throw IllegalStateException("${broken::class.simpleName}: ${broken.message}", broken)
    }
