// A conversation in the terminal. An empty line ends it.
//
// ChatKt MODEL_FOLDER MODEL_LIBRARY
import ai.mlc.mlcllm.*

suspend fun main(arguments: Array<String>) {
    MLCEngine().use { engine ->
        engine.load(arguments[0], arguments[1])
        val messages =
            mutableListOf(ChatCompletionMessage(ChatCompletionRole.system, "Answer in one or two sentences."))
        while (true) {
            val question = readlnOrNull()?.ifBlank { null } ?: break
            messages += ChatCompletionMessage(ChatCompletionRole.user, question)
            val answer = StringBuilder()
            engine.chat.completions.stream(messages, max_tokens = 300).collect { chunk ->
                val piece = chunk.choices.firstOrNull()?.delta?.content.orEmpty()
                answer.append(piece)
                print(piece)
            }
            println()
            messages += ChatCompletionMessage(ChatCompletionRole.assistant, answer.toString())
        }
    }
}
