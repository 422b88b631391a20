package ai.mlc.chatkit.chat

import java.security.SecureRandom
import java.util.Locale
import kotlinx.serialization.EncodeDefault
import kotlinx.serialization.ExperimentalSerializationApi
import kotlinx.serialization.Serializable

/** A call of a tool that the model makes; `arguments` is JSON as the model wrote it. */
@Serializable
data class ToolCall(val id: String, val name: String, val arguments: String)

/**
 * A message of a chat. A user's has [pictures]; the assistant's has [reasoning], [calls] and what is
 * known of the answer; a tool's has the id of its [call].
 */
@OptIn(ExperimentalSerializationApi::class)
@Serializable
data class ChatMessage(
    val id: String,
    val role: String,
    @EncodeDefault val content: String = "",
    val pictures: List<String>? = null,
    val reasoning: String? = null,
    val calls: List<ToolCall>? = null,
    val call: String? = null,
    val name: String? = null,
    val model: String? = null,
    val finish: String? = null,
    val stats: AnswerStats? = null,
) {
    companion object {
        const val USER = "user"
        const val ASSISTANT = "assistant"
        const val TOOL = "tool"

        fun user(content: String, pictures: List<String>? = null) =
            ChatMessage(newId(), USER, content, pictures = pictures)

        fun assistant() = ChatMessage(newId(), ASSISTANT, reasoning = "", calls = emptyList())

        fun tool(call: ToolCall, content: String) =
            ChatMessage(newId(), TOOL, content, call = call.id, name = call.name)
    }
}

/** The settings of a chat. Null: the model's own value. */
@OptIn(ExperimentalSerializationApi::class)
@Serializable
data class ChatSettings(
    @EncodeDefault val system: String = "",
    @EncodeDefault val temperature: Double? = null,
    @EncodeDefault val top_p: Double? = null,
    @EncodeDefault val max_tokens: Long? = null,
    @EncodeDefault val context: Long? = null,
    @EncodeDefault val seed: Long? = null,
    @EncodeDefault val schema: String = "",
    @EncodeDefault val extra: String = "",
    @EncodeDefault val tools: List<String> = emptyList(),
)

/**
 * A chat, in the format of the server's page. [dropped] is the number of oldest messages that the
 * model no longer gets. Times are in milliseconds since 1970.
 */
@OptIn(ExperimentalSerializationApi::class)
@Serializable
data class Chat(
    @EncodeDefault val id: String = newId(),
    @EncodeDefault val version: Int = VERSION,
    @EncodeDefault val created: Long = 0,
    @EncodeDefault val updated: Long = created,
    @EncodeDefault val model: String = "",
    @EncodeDefault val title: String = "",
    @EncodeDefault val messages: List<ChatMessage> = emptyList(),
    @EncodeDefault val dropped: Int = 0,
    @EncodeDefault val settings: ChatSettings = ChatSettings(),
) {
    /** The title that the user gave, or the beginning of the first message. */
    val shownTitle: String
        get() {
            if (title.isNotEmpty()) return title
            val first = messages.firstOrNull { it.role == ChatMessage.USER }?.content.orEmpty()
            val text = first.replace(SPACES, " ").trim()
            return if (text.length > TITLE_LENGTH) text.take(TITLE_LENGTH - 1).trimEnd() + "…" else text
        }

    /** The calls of the last answer that have no result yet. */
    val openCalls: List<ToolCall>
        get() {
            val at = messages.indexOfLast { it.role == ChatMessage.ASSISTANT }
            val done = messages.drop(at + 1).map { it.call }.toSet()
            return messages.getOrNull(at)?.calls.orEmpty().filter { it.id !in done }
        }

    /** Whether every word of the search occurs in the chat. */
    fun matches(search: String): Boolean {
        val words = search.lowercase(Locale.ROOT).split(SPACES).filter { it.isNotEmpty() }
        val text = (listOf(shownTitle) + messages.map { it.content }).joinToString("\n").lowercase(Locale.ROOT)
        return words.all { it in text }
    }

    /** Without the message and everything behind it. */
    fun cutAt(messageId: String): Chat {
        val at = messages.indexOfFirst { it.id == messageId }
        if (at < 0) return this
        return copy(messages = messages.take(at), dropped = if (dropped >= at) 0 else dropped)
    }

    /** Without what came behind the user's message to which this one belongs. */
    fun cutAnswer(messageId: String): Chat {
        val place = messages.indexOfFirst { it.id == messageId }
        val at = messages.take(place + 1).indexOfLast { it.role == ChatMessage.USER }
        val next = if (at < 0) null else messages.getOrNull(at + 1)
        return if (next == null) this else cutAt(next.id)
    }

    /** With a message in place of the one with its id, or behind the others. */
    fun with(message: ChatMessage): Chat {
        val isThere = messages.any { it.id == message.id }
        return copy(
            messages = if (isThere) messages.map { if (it.id == message.id) message else it } else messages + message,
        )
    }

    companion object {
        const val VERSION = 1
    }
}

/** A name that no other chat or message has. */
fun newId(): String {
    val bytes = ByteArray(ID_BYTES).also(random::nextBytes)
    return bytes.joinToString("") { "%02x".format(it) }
}

private val random = SecureRandom()
private val SPACES = Regex("\\s+")
private const val ID_BYTES = 12
private const val TITLE_LENGTH = 48
