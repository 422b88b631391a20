@file:JvmName("Texts")

package ai.mlc.mlcllm

/** A message's text: what it says, with its images left out. */
fun ChatCompletionMessageContent.asText(): String = when (this) {
    is ChatCompletionMessageContentText -> value
    is ChatCompletionMessageContentParts ->
        value.filterIsInstance<ChatCompletionContentPartText>().joinToString("") { it.text }
    is ChatCompletionMessageContentUnknown -> ""
}

/** The text itself: in an answer it is one already. */
fun String.asText(): String = this
