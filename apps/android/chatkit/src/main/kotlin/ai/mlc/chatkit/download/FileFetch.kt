package ai.mlc.chatkit.download

import ai.mlc.chatkit.ModelFile
import ai.mlc.chatkit.ModelFiles
import java.io.File
import java.io.FileOutputStream
import java.io.IOException
import java.io.InputStream
import java.io.OutputStream
import java.net.HttpURLConnection
import java.net.SocketTimeoutException
import java.net.URL
import java.time.Instant
import kotlinx.coroutines.delay

/** A fetch that did not succeed; [retryOf] says what to do. */
class FetchException(val path: String, val failure: FetchFailure) : IOException("$path: $failure")

/** What a download needs of the world; tests give another one. */
open class DownloadRules {
    open val filesAtOnce: Int get() = 3

    /** So long without a byte, and the connection counts as lost. */
    open val stallMs: Int get() = 30_000

    open fun now(): Instant = Instant.now()

    open fun monotonicMs(): Long = System.nanoTime() / NANOS_PER_MS

    open suspend fun pause(ms: Long) = delay(ms)

    open fun freeBytes(folder: File): Long = folder.usableSpace

    open fun open(file: File, append: Boolean): OutputStream = FileOutputStream(file, append)

    private companion object {
        const val NANOS_PER_MS = 1_000_000L
    }
}

/**
 * Fetches one file into `<name>.partial`, from where an earlier fetch ended. It blocks its thread.
 * Every write happens inside [write], which the owner may refuse.
 */
internal class FileFetch(
    private val url: String,
    private val file: ModelFile,
    folder: File,
    private val rules: DownloadRules,
    private val write: (() -> Unit) -> Unit,
    private val onBytes: (Long) -> Unit,
) {
    private val partial = File(folder, file.path + ModelFiles.PARTIAL)

    @Volatile
    private var connection: HttpURLConnection? = null

    /** Throws [FetchException]. */
    fun run() {
        if (!fetch()) fetch() // the part was of another file
    }

    /** Ends a read that waits, as soon as the platform lets it. */
    fun abort() {
        connection?.disconnect()
    }

    /** Returns whether the answer was taken; if not, the part was dropped. */
    private fun fetch(): Boolean {
        val request = FileRequest.of(partial.length(), file.bytes)
        if (request.action == FileRequest.Action.VERIFY) return true
        if (request.action == FileRequest.Action.RESTART) drop()
        val answer = guarded { open(request.range) }
        connection = answer
        try {
            return take(answer)
        } finally {
            answer.disconnect()
        }
    }

    private fun open(range: String?): HttpURLConnection {
        val opened = URL(url).openConnection() as HttpURLConnection
        opened.connectTimeout = rules.stallMs
        opened.readTimeout = rules.stallMs
        opened.setRequestProperty("Accept-Encoding", "identity") // sizes are those of the file
        if (range != null) opened.setRequestProperty("Range", range)
        opened.responseCode
        return opened
    }

    private fun take(answer: HttpURLConnection): Boolean {
        val length = answer.contentLengthLong.takeIf { it >= 0 }
        val range = answer.getHeaderField("Content-Range")
        when (val action = answerAction(partial.length(), file.bytes, answer.responseCode, range, length)) {
            AnswerAction.Write, AnswerAction.Restart -> copy(answer, append = false)
            AnswerAction.Append -> copy(answer, append = true)
            AnswerAction.Discard -> return false.also { drop() }
            is AnswerAction.Refuse -> fail(FetchFailure.OtherFile(action.why))
            AnswerAction.Status ->
                fail(FetchFailure.Status(answer.responseCode, answer.getHeaderField("Retry-After")))
        }
        return true
    }

    private fun copy(answer: HttpURLConnection, append: Boolean) {
        val begin = if (append) partial.length() else 0
        val input = guarded { answer.inputStream }
        val target = onDisk { openPartial(append) }
        val got = target.use { begin + copyAll(input, it, begin) }
        val expected = file.bytes ?: answer.contentLengthLong.takeIf { it >= 0 }?.plus(begin)
        if (expected != null && got < expected) fail(FetchFailure.Network) // it was cut
    }

    private fun openPartial(append: Boolean): OutputStream {
        var opened: OutputStream? = null
        write {
            partial.parentFile?.mkdirs()
            opened = rules.open(partial, append)
        }
        return opened ?: throw IOException("the file was not opened")
    }

    /** A hub that sends more than it should does not fill the disk. */
    private fun copyAll(input: InputStream, target: OutputStream, begin: Long): Long {
        val most = file.bytes?.let { it - begin + 1 } ?: Long.MAX_VALUE
        val buffer = ByteArray(BUFFER)
        var copied = 0L
        while (copied < most) {
            val count = guarded { input.read(buffer, 0, minOf(buffer.size.toLong(), most - copied).toInt()) }
            if (count < 0) break
            onDisk { write { target.write(buffer, 0, count) } }
            copied += count
            onBytes(count.toLong())
        }
        return copied
    }

    private fun drop() {
        write { partial.delete() }
    }

    private fun fail(failure: FetchFailure): Nothing = throw FetchException(file.path, failure)

    private fun <T> guarded(act: () -> T): T = try {
        act()
    } catch (error: SocketTimeoutException) {
        fail(FetchFailure.Stalled)
    } catch (error: IOException) {
        fail(FetchFailure.Network)
    }

    private fun <T> onDisk(act: () -> T): T = try {
        act()
    } catch (error: IOException) {
        val free = partial.parentFile?.let(rules::freeBytes) ?: 0
        fail(if (free < BUFFER) FetchFailure.DiskFull else FetchFailure.Disk)
    }

    private companion object {
        const val BUFFER = 1 shl 16
    }
}
