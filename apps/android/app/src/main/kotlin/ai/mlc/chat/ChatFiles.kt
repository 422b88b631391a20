package ai.mlc.chat

import ai.mlc.chat.app.R
import ai.mlc.chatkit.chat.Chat
import ai.mlc.chatkit.chat.Export
import ai.mlc.chatkit.chat.bytesText
import ai.mlc.chatkit.engine.pictureUrl
import android.content.Context
import android.net.Uri
import java.io.ByteArrayOutputStream
import java.io.IOException
import java.io.InputStream
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.withContext

/** Files that the user chooses: where an export goes, and the picture of a question. */
object ChatFiles {
    enum class Format(val ending: String, val type: String) {
        JSON("json", "application/json"),
        MARKDOWN("md", "text/markdown"),
    }

    const val PICTURES = "image/*"
    const val MOST_PICTURE_BYTES = 16L shl 20

    fun name(chat: Chat, format: Format): String = Export.fileName(chat, format.ending)

    /** Throws an [IOException] when the file cannot be written. */
    suspend fun save(context: Context, chat: Chat, format: Format, place: Uri): Unit = withContext(Dispatchers.IO) {
        val content = when (format) {
            Format.JSON -> Export.json(listOf(chat))
            Format.MARKDOWN -> Export.markdown(chat, Words.export(context))
        }
        // "t": the end of a longer file that was there goes.
        val file = context.contentResolver.openOutputStream(place, "wt") ?: throw IOException("$place")
        file.use { it.write(content.encodeToByteArray()) }
    }

    /** The picture as a message keeps it. Throws an [IOException] when it cannot be read or is too large. */
    suspend fun picture(context: Context, place: Uri): String = withContext(Dispatchers.IO) {
        val file = context.contentResolver.openInputStream(place) ?: throw IOException("$place")
        val bytes = file.use(::readPicture)
            ?: throw IOException(context.getString(R.string.picture_too_large, bytesText(MOST_PICTURE_BYTES)))
        pictureUrl(bytes)
    }

    private fun readPicture(file: InputStream): ByteArray? {
        val found = ByteArrayOutputStream()
        val block = ByteArray(1 shl 16)
        while (true) {
            val count = file.read(block)
            if (count < 0) return found.toByteArray()
            found.write(block, 0, count)
            if (found.size() > MOST_PICTURE_BYTES) return null
        }
    }
}
