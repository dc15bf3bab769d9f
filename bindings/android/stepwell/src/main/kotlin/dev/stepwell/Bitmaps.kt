package dev.stepwell

import android.graphics.Bitmap
import java.io.ByteArrayOutputStream

/** A picture that is in memory, as PNG; see [image]. */
public fun image(source: Bitmap): ContentPart {
    val made = ByteArrayOutputStream()
    source.compress(Bitmap.CompressFormat.PNG, BEST, made)
    return image(made.toByteArray())
}

/** What PNG, which loses nothing, has no use for. */
private const val BEST = 100
