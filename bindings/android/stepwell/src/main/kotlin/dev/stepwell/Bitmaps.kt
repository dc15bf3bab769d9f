package dev.stepwell

import android.graphics.Bitmap
import java.io.ByteArrayOutputStream

/** A picture in memory, as PNG; see [image]. */
public fun image(source: Bitmap): ContentPart {
    val made = ByteArrayOutputStream()
    source.compress(Bitmap.CompressFormat.PNG, BEST, made)
    return image(made.toByteArray())
}

/** The quality, which PNG ignores because it is lossless. */
private const val BEST = 100
