package ai.mlc.chatkit

import ai.mlc.chatkit.chat.Markdown
import ai.mlc.chatkit.chat.MarkdownBlock
import org.junit.Assert.assertEquals
import org.junit.Test

/** The styles inside of blocks, in brackets behind the text; `apps/vectors/markdown.json` has the blocks. */
class MarkdownTest {
    private fun short(text: String) = Markdown.blocks(text).joinToString(" / ", transform = ::short)

    private fun short(block: MarkdownBlock): String {
        val styles = block.spans.map { "[${it.style.name.take(2)}${block.text.substring(it.begin, it.end)}${it.address}]" }
        return block.text + styles.joinToString("")
    }

    @Test
    fun spans() {
        val cases = mapOf(
            "a **b** c" to "a b c[BOb]",
            "*a **b***" to "a b[ITa b][BOb]",
            "__a__ _b_ ~~c~~" to "a b c[BOa][ITb][STc]",
            "snake_case_name" to "snake_case_name",
            "2 * 3 * 4" to "2 * 3 * 4",
            "a **open" to "a **open",
            "`a*b*` and `open" to "a*b* and `open[COa*b*]",
            "\\*a\\*" to "*a*",
            "[a](https://x.org/y)" to "a[LIahttps://x.org/y]",
            "[a](javascript:x) [b]" to "a [b]",
        )
        for ((text, wanted) in cases) assertEquals(text, wanted, short(text))
    }

    /** A time that grows with the square of the length would take minutes. */
    @Test(timeout = 60_000)
    fun `long runs of marks end soon, and no text is lost`() {
        for (mark in listOf("*", "**a ", "_", "`", "` ", "[", "[a](", "~~", "\\", "> ", "- ", "|", "#")) {
            Markdown.blocks(mark.repeat(20_000))
            Markdown.blocks((mark + "\n").repeat(5_000))
        }
        val words = "Every word of this *stays* where it **is**"
        assertEquals(words.replace("*", ""), Markdown.blocks(words).single().text)
    }
}
