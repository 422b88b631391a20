package ai.mlc.chat

import ai.mlc.chat.app.R
import ai.mlc.chatkit.chat.ChatMessage
import ai.mlc.chatkit.chat.Markdown
import ai.mlc.chatkit.chat.MarkdownBlock
import ai.mlc.chatkit.chat.line
import android.graphics.Typeface
import android.text.SpannableString
import android.text.Spanned
import android.text.style.BackgroundColorSpan
import android.text.style.StrikethroughSpan
import android.text.style.StyleSpan
import android.text.style.TypefaceSpan
import android.text.style.URLSpan
import android.view.View
import android.widget.HorizontalScrollView
import android.widget.LinearLayout
import android.widget.TextView

/** One message: who speaks, thoughts, the Markdown of an answer as views, calls, statistics. */
class MessageView(private val screen: Screen, message: ChatMessage, onTouch: () -> Unit) {
    val view = screen.column()
    private val isUser = message.role == ChatMessage.USER
    private val speaker = small(
        screen.getString(
            when (message.role) {
                ChatMessage.USER -> R.string.you
                ChatMessage.TOOL -> R.string.tool
                else -> R.string.model
            },
        ),
    )
    private val before = small("") // thoughts, pictures
    private val body = LinearLayout(screen).apply { orientation = LinearLayout.VERTICAL }
    private val after = small("") // calls, statistics
    private var shown: List<MarkdownBlock> = emptyList()

    init {
        for (part in listOf(speaker, before, body, after)) view.addView(part, Screen.WIDE)
        view.setOnClickListener { onTouch() }
        if (isUser) screen.design.bubble(view)
        show(message)
    }

    /** Changes only the views of blocks that changed: of an answer that grows it is the last one. */
    fun show(message: ChatMessage) {
        before.set(
            listOfNotNull(
                message.reasoning?.ifEmpty { null }?.let { "${screen.getString(R.string.thoughts)}: $it" },
                message.pictures?.ifEmpty { null }?.let { "${screen.getString(R.string.picture)}: ${it.size}" },
            ),
        )
        val calls = message.calls.orEmpty().map { "${it.name}(${it.arguments})" }
        after.set(calls + listOfNotNull(message.stats?.line(message.finish, "", Words.stats(screen))))
        val blocks = if (message.role == ChatMessage.ASSISTANT) Markdown.blocks(message.content) else plain(message.content)
        val same = shown.zip(blocks).takeWhile { (old, new) -> old == new }.size
        while (body.childCount > same) body.removeViewAt(body.childCount - 1)
        for (block in blocks.drop(same)) body.addView(viewOf(block), Screen.WIDE)
        shown = blocks
    }

    private fun plain(text: String) =
        if (text.isEmpty()) emptyList() else listOf(MarkdownBlock(MarkdownBlock.Kind.PARAGRAPH, text))

    private fun small(words: String) = screen.text(words, Screen.SMALL).apply { setTextColor(screen.getColor(R.color.quiet)) }

    private fun TextView.set(lines: List<String>) {
        val words = lines.joinToString("\n")
        if (text.toString() != words) text = words
        visibility = if (words.isEmpty()) View.GONE else View.VISIBLE
    }

    private fun viewOf(block: MarkdownBlock): View = when (block.kind) {
        MarkdownBlock.Kind.CODE -> wide(code(block.text))
        MarkdownBlock.Kind.TABLE -> wide(table(block.rows))
        MarkdownBlock.Kind.RULE -> View(screen).apply {
            setBackgroundColor(screen.getColor(R.color.line))
            minimumHeight = screen.dp(1)
        }
        MarkdownBlock.Kind.ITEM -> item(block)
        MarkdownBlock.Kind.QUOTE -> styled(block).apply { setTextColor(screen.getColor(R.color.quiet)) }.also { moved(it, 1) }
        MarkdownBlock.Kind.HEADING -> styled(block).apply {
            textSize = if (block.level == 1) LARGE else MEDIUM
            setTypeface(Typeface.DEFAULT_BOLD)
        }
        MarkdownBlock.Kind.PARAGRAPH -> styled(block)
    }

    private fun styled(block: MarkdownBlock): TextView = screen.text(spanned(block)).also { moved(it, 0) }

    private fun moved(view: TextView, levels: Int) =
        view.setPaddingRelative(screen.dp(INDENT * levels), screen.dp(LINE_GAP), 0, screen.dp(LINE_GAP))

    private fun item(block: MarkdownBlock): View = screen.row().apply {
        setPaddingRelative(screen.dp(INDENT * block.level), 0, 0, 0)
        setGravity(android.view.Gravity.TOP)
        addView(screen.text("${block.label} ").also { moved(it, 0) })
        addView(styled(block), Screen.REST_OF_ROW)
    }

    private fun code(text: String): TextView = screen.text(text, CODE_SIZE).apply {
        setTypeface(Typeface.MONOSPACE)
        textDirection = View.TEXT_DIRECTION_LTR
        screen.design.code(this)
    }

    /** Each column is as wide as its widest cell: a table of texts side by side. */
    private fun table(rows: List<List<String>>): View = screen.row().apply {
        setGravity(android.view.Gravity.TOP)
        screen.design.code(this)
        for (column in rows[0].indices) {
            val cells = LinearLayout(screen).apply { orientation = LinearLayout.VERTICAL }
            rows.forEachIndexed { at, row ->
                val cell = screen.text(row[column]).apply { setSingleLine() }
                if (at == 0) cell.setTypeface(Typeface.DEFAULT_BOLD)
                cell.setPaddingRelative(0, screen.dp(LINE_GAP), screen.dp(INDENT), screen.dp(LINE_GAP))
                cells.addView(cell)
            }
            addView(cells)
        }
    }

    private fun wide(content: View): View = HorizontalScrollView(screen).apply {
        isHorizontalScrollBarEnabled = true
        addView(content)
    }

    private fun spanned(block: MarkdownBlock): CharSequence {
        if (block.spans.isEmpty()) return block.text
        val text = SpannableString(block.text)
        for (span in block.spans) {
            for (style in styles(span)) text.setSpan(style, span.begin, span.end, Spanned.SPAN_EXCLUSIVE_EXCLUSIVE)
        }
        return text
    }

    private fun styles(span: MarkdownBlock.Span): List<Any> = when (span.style) {
        MarkdownBlock.Style.BOLD -> listOf(StyleSpan(Typeface.BOLD))
        MarkdownBlock.Style.ITALIC -> listOf(StyleSpan(Typeface.ITALIC))
        MarkdownBlock.Style.STRIKE -> listOf(StrikethroughSpan())
        MarkdownBlock.Style.CODE -> listOf(TypefaceSpan("monospace"), BackgroundColorSpan(screen.getColor(R.color.code)))
        MarkdownBlock.Style.LINK -> listOf(URLSpan(span.address))
    }

    private companion object {
        const val INDENT = 16
        const val LINE_GAP = 4
        const val LARGE = 22f
        const val MEDIUM = 18f
        const val CODE_SIZE = 14f
    }
}
