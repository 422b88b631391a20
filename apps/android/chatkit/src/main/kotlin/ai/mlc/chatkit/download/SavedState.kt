package ai.mlc.chatkit.download

import ai.mlc.chatkit.ModelFile
import ai.mlc.chatkit.ModelFiles
import ai.mlc.chatkit.isInside
import ai.mlc.chatkit.lenient
import ai.mlc.chatkit.replaceText
import java.io.File
import java.io.IOException
import java.io.InputStream
import java.security.MessageDigest
import kotlinx.serialization.SerializationException
import kotlinx.serialization.Serializable

/** The word of a download's state in a file, which survives the app. */
internal class SavedState(private val file: File) {
    /** Whether the app ended while the download ran. */
    fun wasActive(): Boolean = file.exists() && DownloadState.of(file.readLines().firstOrNull().orEmpty())?.isActive == true

    /** The state with which the app begins. */
    fun relaunched(folder: File): DownloadStatus {
        val lines = if (file.exists()) file.readLines() else emptyList()
        val word = DownloadState.of(lines.firstOrNull().orEmpty()) ?: DownloadState.ABSENT
        if (word == DownloadState.DELETING) {
            folder.deleteRecursively()
            return DownloadStatus(word.after(DownloadEvent.DELETED))
        }
        if (word == DownloadState.READY || word == DownloadState.ABSENT) {
            return Mark.statusOf(Mark.read(folder), folder.exists()) { path ->
                File(folder, path).takeIf { it.isFile }?.length()
            }
        }
        val written = StopReason.values().firstOrNull { it.word == lines.getOrNull(1) }
        val reason = written.takeIf { word == DownloadState.FAILED }
        val detail = if (reason == StopReason.DAMAGED) folder.name else ""
        return DownloadStatus(word.after(DownloadEvent.RELAUNCH), reason = reason, detail = detail)
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

/**
 * The mark in a model's folder: every file was checked, and had this size. Without it the folder is no
 * model. ChatKit for Swift writes the same.
 */
@Serializable
internal data class Mark(val files: List<Entry>) {
    @Serializable
    data class Entry(val path: String, val bytes: Long? = null, val md5: String? = null)

    companion object {
        private const val NAME = ".chatkit.json"

        /** A hub may have a file of the mark's name, so its paths are checked. */
        fun read(folder: File): Mark? = try {
            lenient.decodeFromString(serializer(), File(folder, NAME).readText())
                .takeIf { mark -> mark.files.all { isInside(it.path) } }
        } catch (error: IOException) {
            null
        } catch (error: SerializationException) {
            null
        }

        /** Throws an [IOException] when the disk is full. */
        fun write(folder: File, files: List<ModelFile>) {
            val sized = files.map { Entry(it.path, File(folder, it.path).length(), it.md5) }
            replaceText(File(folder, NAME), lenient.encodeToString(serializer(), Mark(sized)))
        }

        /**
         * Removes the files that are not as the mark says, and the mark. The index does not know the
         * sizes of the others than weights.
         */
        fun removeDamaged(folder: File) {
            for (file in read(folder)?.files.orEmpty()) {
                val place = File(folder, file.path)
                if (place.length() != file.bytes) place.delete()
            }
            File(folder, NAME).delete()
        }

        /** Files with a sum are parts again, which the download checks; the others, which are small, are removed. */
        fun askForCheck(folder: File) {
            for (file in read(folder)?.files.orEmpty()) {
                val place = File(folder, file.path)
                val isKept = file.md5 != null && place.renameTo(File(folder, file.path + ModelFiles.PARTIAL))
                if (!isKept) place.delete()
            }
            File(folder, NAME).delete()
        }

        /** How a download begins: `isBegun`: something of the model is there; `size` is null without a file. */
        fun statusOf(mark: Mark?, isBegun: Boolean, size: (String) -> Long?): DownloadStatus {
            val files = mark?.files.orEmpty()
            val damaged = files.firstOrNull { size(it.path) != it.bytes }
            return when {
                damaged != null -> {
                    val state = DownloadState.READY.after(DownloadEvent.CORRUPT)
                    DownloadStatus(state, reason = StopReason.DAMAGED, detail = damaged.path)
                }
                files.isNotEmpty() -> DownloadStatus(DownloadState.READY)
                isBegun -> DownloadStatus(DownloadState.DOWNLOADING.after(DownloadEvent.RELAUNCH))
                else -> DownloadStatus(DownloadState.ABSENT)
            }
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
