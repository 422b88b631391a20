package ai.mlc.chatkit

import ai.mlc.chatkit.chat.Markdown
import ai.mlc.chatkit.chat.MarkdownBlock
import org.junit.Assert.assertEquals
import org.junit.Test

/** Answers of models as blocks; the short form is `kind+level:text`, spans in brackets. */
class MarkdownTest {
    private fun short(text: String) = Markdown.blocks(text).joinToString(" / ", transform = ::short)

    private fun short(block: MarkdownBlock): String {
        val level = if (block.level > 0) "${block.level}" else ""
        val kind = block.kind.name.take(1).lowercase() + level + block.label.ifEmpty { "" }.let { if (it.isEmpty()) "" else "<$it>" }
        if (block.rows.isNotEmpty()) return "$kind:${block.rows}"
        val spans = block.spans.joinToString("") { "[${it.style.name.take(2)}${block.text.substring(it.begin, it.end)}${it.address}]" }
        return "$kind:${block.text}$spans"
    }

    @Test
    fun blocks() {
        val cases = mapOf(
            "a\nb\n\nc" to "p:a\nb / p:c",
            "# a\n### b ##\nc" to "h1:a / h3:b / p:c",
            "#a" to "p:#a",
            "- a\n- b\n  - c\n1. d" to "i<•>:a / i<•>:b / i1<•>:c / i<1.>:d",
            "- a\n  more" to "i<•>:a\nmore",
            "```kt\nval a\n\nb\n```\nc" to "c<kt>:val a\n\nb / p:c",
            "```\nopen" to "c:open",
            "> a\n> b" to "q1:a\nb",
            "---" to "r:",
            "| a | b |\n|---|--:|\n| 1 | *2* |\n| 3 |" to "t:[[a, b], [1, 2], [3, ]]",
            "a | b\nc" to "p:a | b\nc",
            "" to "",
        )
        for ((text, wanted) in cases) assertEquals(text, wanted, short(text))
    }

    @Test
    fun spans() {
        val cases = mapOf(
            "a **b** c" to "p:a b c[BOb]",
            "*a **b***" to "p:a b[ITa b][BOb]",
            "__a__ _b_ ~~c~~" to "p:a b c[BOa][ITb][STc]",
            "snake_case_name" to "p:snake_case_name",
            "2 * 3 * 4" to "p:2 * 3 * 4",
            "a **open" to "p:a **open",
            "`a*b*` and `open" to "p:a*b* and `open[COa*b*]",
            "\\*a\\*" to "p:*a*",
            "[a](https://x.org/y)" to "p:a[LIahttps://x.org/y]",
            "[a](javascript:x) [b]" to "p:a [b]",
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
