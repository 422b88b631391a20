@file:JvmName("Pictures")

package ai.mlc.mlcllm

import java.io.File

/**
 * A picture within a message: the bytes of its file.
 *
 *     val parts = listOf(picture(photo), ChatCompletionContentPartText("What is this?"))
 *     val message = ChatCompletionMessage(ChatCompletionRole.user, parts)
 */
@JvmOverloads
fun picture(bytes: ByteArray, detail: ImageDetail? = null): ChatCompletionContentPartImage =
    ChatCompletionContentPartImage(ImageURL(bytes, detail))

/** The same of a file, which is read at once. Throws [java.io.IOException]. */
@JvmOverloads
fun picture(file: File, detail: ImageDetail? = null): ChatCompletionContentPartImage =
    picture(file.readBytes(), detail)
