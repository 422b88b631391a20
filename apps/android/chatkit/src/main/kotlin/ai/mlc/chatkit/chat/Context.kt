package ai.mlc.chatkit.chat

/** Gives the number of tokens of a text. */
fun interface TokenCount {
    fun of(text: String): Int
}

/** How much of the model's context a chat needs, about; and which turns the user may drop. */
class Context(private val chat: Chat, modelContext: Long?, private val count: TokenCount) {
    /** The smaller one of the chat's own limit and the model's; null: none. */
    val limit: Long? = listOfNotNull(chat.settings.context, modelContext).filter { it > 0 }.minOrNull()

    val promptTokens: Long get() = promptTokens(chat.dropped)

    /** Whether the prompt and the beginning of an answer are too long. */
    val overflows: Boolean
        get() {
            val limit = limit ?: return false
            val reserve = minOf(chat.settings.max_tokens ?: ANSWER_TOKENS, limit / 4)
            return promptTokens + reserve > limit
        }

    /** How many of the oldest messages must go: whole turns, never the last. Null: there is one turn. */
    val oldestToDrop: Int?
        get() {
            val starts = chat.messages.indices.filter { chat.messages[it].role == ChatMessage.USER }
            val candidates = starts.filter { it > chat.dropped }
            val limit = limit ?: return null
            return candidates.firstOrNull { promptTokens(it) * 4 <= limit * 3 } ?: candidates.lastOrNull()
        }

    private fun promptTokens(dropped: Int): Long {
        val system = chat.settings.system.trim()
        val texts = chat.messages.drop(dropped).map(::countedText)
        return (if (system.isEmpty()) texts else texts + system).sumOf { (TOKENS_PER_MESSAGE + count.of(it)).toLong() }
    }

    companion object {
        /** The texts of a message that cost tokens. */
        fun countedText(message: ChatMessage): String {
            val calls = message.calls.orEmpty().map { it.name + it.arguments }
            return (listOf(message.content) + calls).filter { it.isNotEmpty() }.joinToString("\n")
        }

        private const val TOKENS_PER_MESSAGE = 8 // about: what a chat template writes around a message
        private const val ANSWER_TOKENS = 64L
    }
}
