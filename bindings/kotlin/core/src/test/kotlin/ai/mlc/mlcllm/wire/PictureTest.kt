package ai.mlc.mlcllm

import java.io.File
import java.util.Base64
import kotlinx.coroutines.runBlocking
import org.junit.Assert.assertEquals
import org.junit.Assert.assertNotEquals
import org.junit.Assert.assertThrows
import org.junit.Rule
import org.junit.Test
import org.junit.rules.TemporaryFolder

/** Pictures on their way to the prompt, with the fake model's tower. */
class PictureTest {
    @get:Rule
    val temporary = TemporaryFolder()

    // PNG files of one pixel, which is black and white.
    private val cat = Base64.getDecoder().decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklE" +
            "QVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==",
    )
    private val dog = Base64.getDecoder().decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklE" +
            "QVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg==",
    )

    /** The fake model with a token for pictures, which makes it see. */
    private fun seeingModel(): File {
        val folder = temporary.newFolder("seeing")
        File(FakeModel.folder).copyRecursively(folder, overwrite = true)
        val config = File(folder, "mlc-chat-config.json")
        config.writeText("""{"image_token_id": 496,""" + config.readText().substringAfter('{'))
        File(folder, "chat_template.jinja").writeText(
            "{% for part in messages[-1].content %}{% if part.type == 'image' %}<|endoftext|>" +
                "{% else %}{{ part.text }}{% endif %}{% endfor %}",
        )
        return folder
    }

    private fun look(picture: ImageURL) = listOf(
        ChatCompletionMessage(
            ChatCompletionRole.user,
            ChatCompletionMessageContentParts(
                listOf(
                    ChatCompletionContentPartText("Hello"),
                    ChatCompletionContentPartImage(picture),
                ),
            ),
        ),
    )

    @Test
    fun `bytes are a picture as a data URL is`() = runBlocking {
        MLCEngine().use { engine ->
            engine.load(seeingModel().path, device = FakeModel.DEVICE)
            suspend fun answer(picture: ImageURL) = engine.chat.completions.complete(
                look(picture),
                max_tokens = 20,
                seed = 1,
                debug_config = DebugConfig(ignore_eos = true),
            ).choices[0].message.content
            val seen = answer(ImageURL(cat))
            val parts = listOf(ChatCompletionContentPartText("Hello"), picture(cat))
            val helped = engine.chat.completions.complete(
                listOf(ChatCompletionMessage(ChatCompletionRole.user, parts)),
                max_tokens = 20,
                seed = 1,
                debug_config = DebugConfig(ignore_eos = true),
            )
            assertEquals(seen, helped.choices[0].message.content)
            val file = temporary.newFile("cat.png").apply { writeBytes(cat) }
            assertEquals(picture(cat, ImageDetail.low), picture(file, ImageDetail.low))
            val url = "data:image/png;base64," + Base64.getEncoder().encodeToString(cat)
            assertEquals(seen, answer(ImageURL(url)))
            assertNotEquals(seen, answer(ImageURL(url = dog, detail = ImageDetail.low)))
            for (bytes in listOf(ByteArray(0), cat.copyOf(40))) {
                val error = assertThrows(InvalidRequestException::class.java) {
                    runBlocking { answer(ImageURL(bytes)) }
                }
                assertEquals("messages[0].content[1]", error.param)
            }
        }
    }
}
