package ai.mlc.chatkit.download

import ai.mlc.chatkit.replaceText
import java.io.File
import java.io.IOException
import java.io.InputStream
import java.security.MessageDigest

/** The word of a download's state in a file, which survives the app. */
internal class SavedState(private val file: File) {
    /** The state with which the app begins. */
    fun relaunched(folder: File): DownloadStatus {
        val lines = if (file.exists()) file.readLines() else emptyList()
        val word = DownloadState.of(lines.firstOrNull().orEmpty()) ?: DownloadState.ABSENT
        var state = word.after(DownloadEvent.RELAUNCH)
        if (state == DownloadState.READY && !folder.isDirectory) state = state.after(DownloadEvent.CORRUPT)
        if (state == DownloadState.DELETING) {
            folder.deleteRecursively()
            state = state.after(DownloadEvent.DELETED)
        }
        val reason = StopReason.values().firstOrNull { it.word == lines.getOrNull(1) }
        return DownloadStatus(state, reason = reason.takeIf { state == DownloadState.FAILED })
    }

    /** A full disk ends nothing: the file then keeps its earlier word. */
    fun write(status: DownloadStatus) {
        try {
            replaceText(file, "${status.state.word}\n${status.reason?.word.orEmpty()}\n")
        } catch (error: IOException) {
            return
        }
    }
}

/** The MD5 sum of a file in hexadecimal digits. `check` may throw between two blocks. */
internal fun md5Of(file: File, check: () -> Unit): String {
    val digest = MessageDigest.getInstance("MD5")
    val buffer = ByteArray(1 shl 20)
    file.inputStream().use { input: InputStream ->
        while (true) {
            check()
            val count = input.read(buffer)
            if (count < 0) break
            digest.update(buffer, 0, count)
        }
    }
    return digest.digest().joinToString("") { "%02x".format(it) }
}
