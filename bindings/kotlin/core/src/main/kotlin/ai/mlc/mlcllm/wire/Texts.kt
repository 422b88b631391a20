@file:JvmName("Texts")

package ai.mlc.mlcllm

/** A message's text, without its images. */
fun ChatCompletionMessageContent.asText(): String = when (this) {
    is ChatCompletionMessageContentText -> value
    is ChatCompletionMessageContentParts ->
        value.filterIsInstance<ChatCompletionContentPartText>().joinToString("") { it.text }
    is ChatCompletionMessageContentUnknown -> ""
}

/** The text itself: in an answer the content is already a text. */
fun String.asText(): String = this
