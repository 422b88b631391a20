package ai.mlc.chatkit.chat

import ai.mlc.chatkit.FieldException
import ai.mlc.chatkit.lenient
import ai.mlc.chatkit.pretty
import ai.mlc.chatkit.text
import ai.mlc.chatkit.wholeNumber
import kotlinx.serialization.SerializationException
import kotlinx.serialization.builtins.ListSerializer
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject

/** The headings of a chat as Markdown, in the user's language. */
data class ExportWords(
    val user: String = "You",
    val assistant: String = "Model",
    val tool: String = "Tool",
    val system: String = "System prompt",
    val reasoning: String = "Thoughts",
    val picture: String = "Picture",
)

/** Chats as files: JSON with everything, which the server's page reads too, or Markdown to read. */
object Export {
    private const val FORMAT = "mlc_llm.chats"
    private const val NAME_LENGTH = 60

    fun json(chats: List<Chat>): String {
        val list = pretty.encodeToJsonElement(ListSerializer(Chat.serializer()), chats)
        val whole = buildJsonObject {
            put("format", JsonPrimitive(FORMAT))
            put("version", JsonPrimitive(Chat.VERSION))
            put("chats", list)
        }
        return pretty.encodeToString(JsonObject.serializer(), whole) + "\n"
    }

    /** What was read, and how many chats were skipped: they are of a later version, or damaged. */
    data class Imported(val chats: List<Chat>, val skipped: Int)

    /** Throws [FieldException] when the text is no export. */
    fun read(text: String): Imported {
        val whole = try {
            lenient.parseToJsonElement(text) as? JsonObject
        } catch (error: SerializationException) {
            null
        } ?: throw FieldException("", NO_EXPORT)
        if (whole["format"]?.text != FORMAT) throw FieldException("format", NO_EXPORT)
        val stored = whole["chats"] as? JsonArray ?: throw FieldException("chats", NO_EXPORT)
        val chats = stored.mapNotNull(::readChat)
        return Imported(chats, stored.size - chats.size)
    }

    /** A stored chat as this version reads it; null: it is none. */
    fun readChat(stored: JsonElement): Chat? {
        val fields = stored as? JsonObject ?: return null
        if (fields["version"]?.wholeNumber != Chat.VERSION.toLong() || fields["id"]?.text == null) return null
        if (fields["messages"] !is JsonArray) return null
        return try {
            lenient.decodeFromJsonElement(Chat.serializer(), stored)
        } catch (error: SerializationException) {
            null
        }
    }

    fun markdown(chat: Chat, words: ExportWords = ExportWords()): String {
        val parts = mutableListOf("# ${chat.shownTitle}")
        val system = chat.settings.system.trim()
        if (system.isNotEmpty()) parts += listOf("## ${words.system}", system)
        for (message in chat.messages) parts += partsOf(message, words)
        return parts.joinToString("\n\n") + "\n"
    }

    /** A name that every file system takes. */
    fun fileName(chat: Chat, ending: String): String {
        val name = chat.shownTitle.replace(Regex("[^\\p{L}\\p{N}]+"), "-").removePrefix("-").removeSuffix("-")
        return "${name.take(NAME_LENGTH).ifEmpty { "chat" }}.$ending"
    }

    private fun partsOf(message: ChatMessage, words: ExportWords): List<String> {
        val heading = when (message.role) {
            ChatMessage.USER -> words.user
            ChatMessage.TOOL -> words.tool
            else -> words.assistant
        }
        val parts = mutableListOf("## $heading")
        val pictures = message.pictures.orEmpty()
        if (pictures.isNotEmpty()) parts += "(${pictures.size} × ${words.picture})"
        val thoughts = message.reasoning.orEmpty()
        if (thoughts.isNotEmpty()) parts += listOf("### ${words.reasoning}", quoted(thoughts))
        for (call in message.calls.orEmpty()) parts += fenced("${call.name}(${call.arguments})", "text")
        if (message.role == ChatMessage.TOOL) {
            parts += fenced(message.content, "json")
        } else if (message.content.isNotEmpty()) {
            parts += message.content
        }
        return parts
    }

    private fun quoted(text: String) = text.trim().split("\n").joinToString("\n") { "> $it" }

    /** A fence that is longer than every run of backticks in the text. */
    private fun fenced(text: String, language: String): String {
        val longest = Regex("`+").findAll(text).maxOfOrNull { it.value.length } ?: 0
        val fence = "`".repeat(maxOf(longest, 2) + 1)
        return "$fence$language\n$text\n$fence"
    }

    private const val NO_EXPORT = "this is no export of chats"
}
