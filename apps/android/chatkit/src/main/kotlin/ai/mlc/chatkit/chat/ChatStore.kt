package ai.mlc.chatkit.chat

import ai.mlc.chatkit.lenient
import java.io.File
import java.io.IOException
import java.nio.file.Files
import java.nio.file.StandardCopyOption
import kotlinx.serialization.SerializationException

/** The chats on the disk: a JSON file for each. Any thread may call it. */
class ChatStore(private val folder: File) {
    /** All chats, the newest first; with those that cannot be read left where they are. */
    @Synchronized
    fun all(): List<Chat> = folder.listFiles().orEmpty()
        .filter { it.name.endsWith(ENDING) }
        .mapNotNull(::read)
        .sortedByDescending { it.updated }

    fun search(words: String): List<Chat> = all().filter { it.matches(words) }

    /** Replaces the chat's file as a whole: after a crash there is the old one or the new one. */
    @Synchronized
    fun save(chat: Chat) {
        if (!folder.isDirectory && !folder.mkdirs()) throw IOException("$folder cannot be made")
        val partial = File(folder, "${chat.id}.partial")
        partial.writeText(lenient.encodeToString(Chat.serializer(), chat))
        Files.move(partial.toPath(), file(chat.id).toPath(), StandardCopyOption.REPLACE_EXISTING)
    }

    @Synchronized
    fun delete(id: String) {
        file(id).delete()
    }

    @Synchronized
    fun clear() {
        folder.listFiles().orEmpty().forEach { it.delete() }
    }

    private fun file(id: String): File {
        require(ID.matches(id)) { "an id is of letters and digits: $id" }
        return File(folder, id + ENDING)
    }

    private fun read(file: File): Chat? = try {
        Export.readChat(lenient.parseToJsonElement(file.readText()))
    } catch (error: SerializationException) {
        null
    }

    private companion object {
        const val ENDING = ".json"
        val ID = Regex("[A-Za-z0-9_-]+")
    }
}
