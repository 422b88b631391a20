package ai.mlc.mlcllm

import java.util.TreeMap

/** Joins the chunks of an answer to the same value as an answer without streaming. */
internal class AnswerFold {
    private var last: ChatCompletionChunk? = null
    private var usage: CompletionUsage? = null
    private val answers = TreeMap<Long, Answer>()

    fun add(chunk: ChatCompletionChunk) {
        last = chunk
        usage = chunk.usage ?: usage
        for (choice in chunk.choices) answers.getOrPut(choice.index, ::Answer).add(choice)
    }

    fun completion(): ChatCompletion {
        val found = answers.ifEmpty { mapOf(0L to Answer()) }
        return ChatCompletion(
            id = last?.id.orEmpty(),
            created = last?.created ?: 0,
            model = last?.model.orEmpty(),
            choices = found.map { (index, answer) -> answer.whole(index) },
            usage = usage,
            system_fingerprint = last?.system_fingerprint,
        )
    }

    private class Answer {
        private val content = StringBuilder()
        private val reasoning = StringBuilder()
        private val refusal = StringBuilder()
        private var finishReason = FinishReason.error.word
        private val calls = TreeMap<Long, Call>()
        private val tokens = ArrayList<ChatCompletionTokenLogprob>()
        private val refusalTokens = ArrayList<ChatCompletionTokenLogprob>()

        fun add(choice: ChatCompletionChunkChoice) {
            val delta = choice.delta
            content.append(delta.content.orEmpty())
            reasoning.append(delta.reasoning_content.orEmpty())
            refusal.append(delta.refusal.orEmpty())
            choice.finish_reason?.let { finishReason = it }
            for (piece in delta.tool_calls.orEmpty()) calls.getOrPut(piece.index, ::Call).add(piece)
            tokens += choice.logprobs?.content.orEmpty()
            refusalTokens += choice.logprobs?.refusal.orEmpty()
        }

        fun whole(index: Long): ChatCompletionChoice {
            val message = ChatCompletionResponseMessage(
                content = content.toString().takeUnless { it.isEmpty() && calls.isNotEmpty() },
                refusal = refusal.toString().ifEmpty { null },
                reasoning_content = reasoning.toString().ifEmpty { null },
                tool_calls = calls.values.map { it.whole() }.ifEmpty { null },
            )
            return ChatCompletionChoice(index, message, logprobs(), finishReason)
        }

        private fun logprobs(): ChoiceLogprobs? = if (tokens.isEmpty() && refusalTokens.isEmpty()) {
            null
        } else {
            ChoiceLogprobs(tokens.ifEmpty { null }, refusalTokens.ifEmpty { null })
        }
    }

    private class Call {
        private var id = ""
        private var name = ""
        private val arguments = StringBuilder()

        fun add(piece: ChoiceDeltaToolCall) {
            id += piece.id.orEmpty()
            name += piece.function?.name.orEmpty()
            arguments.append(piece.function?.arguments.orEmpty())
        }

        fun whole() = ChatCompletionMessageToolCall(id, FunctionCall(name, arguments.toString()))
    }
}
