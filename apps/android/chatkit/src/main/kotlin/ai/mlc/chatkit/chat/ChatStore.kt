package ai.mlc.chatkit.chat

import ai.mlc.chatkit.lenient
import ai.mlc.chatkit.replaceText
import java.io.File
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

    /** Throws an [java.io.IOException] when the disk is full; the chat's earlier file stays. */
    @Synchronized
    fun save(chat: Chat) {
        replaceText(file(chat.id), lenient.encodeToString(Chat.serializer(), chat))
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
