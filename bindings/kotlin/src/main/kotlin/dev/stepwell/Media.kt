package dev.stepwell

import java.nio.file.Path

// Parts of a message or of a tool's result that are more than text: pictures, sound, video, documents.

/**
 * A picture, for [send] or as a tool's result: a file, or an address (`https://…`, `data:…`), which the provider fetches.
 *
 * A file is read at once. Its media type is [mediaType], or is detected from the first bytes, and failing that from the
 * name.
 *
 * @throws StepwellException.Misuse if it is missing, empty, of no known type or no picture, or the address
 * cannot be fetched
 */
@Throws(StepwellException::class)
public fun image(source: String, mediaType: String? = null): ContentPart =
    mediaPart(MediaKind.IMAGE, MediaSource.Text(source), mediaType)

/** Makes a picture from a file. */
@Throws(StepwellException::class)
public fun image(source: Path, mediaType: String? = null): ContentPart =
    mediaPart(MediaKind.IMAGE, MediaSource.Path(source.toString()), mediaType)

/** Makes a picture from bytes, which may have a [name]. */
@Throws(StepwellException::class)
public fun image(source: ByteArray, mediaType: String? = null, name: String? = null): ContentPart =
    mediaPart(MediaKind.IMAGE, MediaSource.Bytes(source), mediaType, name)

/** Sound; see [image]. */
@Throws(StepwellException::class)
public fun audio(source: String, mediaType: String? = null): ContentPart =
    mediaPart(MediaKind.AUDIO, MediaSource.Text(source), mediaType)

/** Makes sound from a file. */
@Throws(StepwellException::class)
public fun audio(source: Path, mediaType: String? = null): ContentPart =
    mediaPart(MediaKind.AUDIO, MediaSource.Path(source.toString()), mediaType)

/** Makes sound from bytes, which may have a [name]. */
@Throws(StepwellException::class)
public fun audio(source: ByteArray, mediaType: String? = null, name: String? = null): ContentPart =
    mediaPart(MediaKind.AUDIO, MediaSource.Bytes(source), mediaType, name)

/** A video; see [image]. */
@Throws(StepwellException::class)
public fun video(source: String, mediaType: String? = null): ContentPart =
    mediaPart(MediaKind.VIDEO, MediaSource.Text(source), mediaType)

/** Makes a video from a file. */
@Throws(StepwellException::class)
public fun video(source: Path, mediaType: String? = null): ContentPart =
    mediaPart(MediaKind.VIDEO, MediaSource.Path(source.toString()), mediaType)

/** Makes a video from bytes, which may have a [name]. */
@Throws(StepwellException::class)
public fun video(source: ByteArray, mediaType: String? = null, name: String? = null): ContentPart =
    mediaPart(MediaKind.VIDEO, MediaSource.Bytes(source), mediaType, name)

/** A document: a PDF file, a text, or any other type that the provider reads; see [image]. */
@Throws(StepwellException::class)
public fun document(source: String, mediaType: String? = null): ContentPart =
    mediaPart(MediaKind.DOCUMENT, MediaSource.Text(source), mediaType)

/** Makes a document from a file. */
@Throws(StepwellException::class)
public fun document(source: Path, mediaType: String? = null): ContentPart =
    mediaPart(MediaKind.DOCUMENT, MediaSource.Path(source.toString()), mediaType)

/** Makes a document from bytes, which may have a [name]. */
@Throws(StepwellException::class)
public fun document(source: ByteArray, mediaType: String? = null, name: String? = null): ContentPart =
    mediaPart(MediaKind.DOCUMENT, MediaSource.Bytes(source), mediaType, name)

/** The result of a tool, as the model is shown it. */
internal fun outputOf(value: Any?): ToolOutput = when (value) {
    is ToolOutput -> value
    is ContentPart -> ToolOutput("", listOf(value))
    is List<*> -> value.filterIsInstance<ContentPart>().let { parts ->
        if (parts.isNotEmpty() && parts.size == value.size) ToolOutput("", parts) else ToolOutput(shown(value))
    }
    else -> ToolOutput(shown(value))
}
