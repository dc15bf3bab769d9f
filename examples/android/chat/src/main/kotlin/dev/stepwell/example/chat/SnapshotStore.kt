package dev.stepwell.example.chat

import java.io.File
import java.io.IOException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.withContext

/** Keeps the conversation's latest snapshot over the death of the process. */
interface SnapshotStore {
    /** The snapshot that was written last; nothing at first. */
    suspend fun read(): String?

    /** Takes the place of the snapshot before, whole or not at all. Throws [IOException] where that does not work. */
    suspend fun write(snapshot: String)

    /** Puts a snapshot away that cannot be read, so that it is not lost and the next start is a fresh one. */
    suspend fun setAside()
}

/**
 * A snapshot in a file. A conversation is too large for a `Bundle`, and the screen of a chat does not begin before its
 * conversation is there, so there is no more to it than this.
 */
class FileSnapshotStore(private val file: File) : SnapshotStore {
    override suspend fun read(): String? = withContext(Dispatchers.IO) {
        if (file.exists()) file.readText() else null
    }

    override suspend fun write(snapshot: String): Unit = withContext(Dispatchers.IO) {
        val next = File("$file.next")
        next.outputStream().use { out ->
            out.write(snapshot.toByteArray())
            out.fd.sync()
        }
        // A rename is whole: a process that dies here leaves the one or the other.
        if (!next.renameTo(file)) throw IOException("$file could not be replaced")
    }

    override suspend fun setAside(): Unit = withContext(Dispatchers.IO) {
        file.renameTo(File("$file.unreadable"))
    }
}
