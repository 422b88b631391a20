package ai.mlc.chatkit.chat

/** A part of an answer that stands for itself. `spans` are styles of its text. */
data class MarkdownBlock(
    val kind: Kind,
    val text: String,
    val spans: List<Span> = emptyList(),
    /** Of a heading from 1 to 6; of an item and a quote how far it is moved in. */
    val level: Int = 0,
    /** Of code its language, of an item its mark ("•", "2."). */
    val label: String = "",
    /** Of a table, its rows; the first one is the head. */
    val rows: List<List<String>> = emptyList(),
) {
    enum class Kind { PARAGRAPH, HEADING, ITEM, QUOTE, CODE, TABLE, RULE }

    enum class Style { BOLD, ITALIC, STRIKE, CODE, LINK }

    /** From `begin` to before `end`. `address`: of a link. */
    data class Span(val begin: Int, val end: Int, val style: Style, val address: String = "")
}

/**
 * Markdown as models write it, in blocks; the page of the server reads the same
 * (`serve/page/logic/markdown.js`). No text is lost: what is not closed yet stays as it is written.
 */
object Markdown {
    private val FENCE = Regex("^ {0,3}(`{3,}|~{3,})[ \\t]*([^\\s`]*)[^`]*$")
    private val HEADING = Regex("^ {0,3}(#{1,6})(?=\\s|$)[ \\t]*(.*?)[ \\t#]*$")
    private val QUOTE = Regex("^ {0,3}> ?")
    private val ITEM = Regex("^(\\s*)([-+*]|\\d{1,9}[.)])[ \\t]+(.*)$")
    private val DASHES = Regex("^[ \\t|:-]*-[ \\t|:-]*$")
    /** Without a regular expression: Java's use the stack for each repetition. */
    private fun isRule(line: String): Boolean {
        val marks = line.filterNot { it == ' ' || it == '\t' }
        return marks.length > 2 && marks[0] in "-*_" && marks.all { it == marks[0] }
    }

    private const val INDENT = 2
    private const val MOST_LEVELS = 6

    fun blocks(text: String): List<MarkdownBlock> = Reader(text.replace("\r\n", "\n").split('\n')).read()

    private class Reader(private val lines: List<String>) {
        private val found = mutableListOf<MarkdownBlock>()
        private var at = 0

        fun read(): List<MarkdownBlock> {
            while (at < lines.size) block()
            return found
        }

        private fun block() {
            val line = lines[at]
            when {
                line.isBlank() -> at++
                FENCE.matches(line) -> code(FENCE.matchEntire(line)!!)
                HEADING.matches(line) -> HEADING.matchEntire(line)!!.let { add(MarkdownBlock.Kind.HEADING, it.groupValues[2], it.groupValues[1].length) }
                isRule(line) -> {
                    found += MarkdownBlock(MarkdownBlock.Kind.RULE, "")
                    at++
                }
                QUOTE.containsMatchIn(line) -> quote()
                ITEM.matches(line) -> item(ITEM.matchEntire(line)!!)
                isTable() -> table()
                else -> paragraph()
            }
        }

        private fun add(kind: MarkdownBlock.Kind, text: String, level: Int = 0, label: String = "") {
            val (plain, spans) = Inline(text).read()
            found += MarkdownBlock(kind, plain, spans, level, label)
            at++
        }

        private fun code(open: MatchResult) {
            val (mark, language) = open.destructured
            val body = mutableListOf<String>()
            at++
            while (at < lines.size && !isClosing(lines[at], mark)) body += lines[at++]
            at++
            found += MarkdownBlock(MarkdownBlock.Kind.CODE, body.joinToString("\n"), label = language)
        }

        private fun isClosing(line: String, mark: String): Boolean =
            line.trim().let { it.length >= mark.length && it.all { letter -> letter == mark[0] } }

        private fun quote() {
            val body = mutableListOf<String>()
            while (at < lines.size && QUOTE.containsMatchIn(lines[at])) body += lines[at++].replaceFirst(QUOTE, "")
            at--
            add(MarkdownBlock.Kind.QUOTE, body.joinToString("\n").trim(), level = 1)
        }

        private fun item(match: MatchResult) {
            val (indent, mark, first) = match.destructured
            var text = first
            while (at + 1 < lines.size && isContinued(lines[at + 1])) text += "\n" + lines[++at].trim()
            val level = (indent.length / INDENT).coerceAtMost(MOST_LEVELS)
            add(MarkdownBlock.Kind.ITEM, text, level, if (mark[0].isDigit()) mark else "•")
        }

        private fun isContinued(line: String) = line.isNotBlank() && line.startsWith("  ") && !startsBlock(line)

        private fun startsBlock(line: String) = FENCE.matches(line) || HEADING.matches(line) || isRule(line) ||
            QUOTE.containsMatchIn(line) || ITEM.matches(line)

        private fun isTable(): Boolean {
            val next = lines.getOrNull(at + 1) ?: return false
            return '|' in lines[at] && DASHES.matches(next) && cells(next).size == cells(lines[at]).size
        }

        private fun cells(line: String): List<String> = line.trim().removePrefix("|").removeSuffix("|").split('|').map { it.trim() }

        private fun table() {
            val rows = mutableListOf(cells(lines[at]))
            at += 2
            while (at < lines.size && '|' in lines[at] && lines[at].isNotBlank()) {
                rows += cells(lines[at++]).let { row -> List(rows[0].size) { row.getOrElse(it) { "" } } }
            }
            val plain = rows.map { row -> row.map { Inline(it).read().first } }
            found += MarkdownBlock(MarkdownBlock.Kind.TABLE, plain.joinToString("\n") { it.joinToString(" | ") }, rows = plain)
        }

        private fun paragraph() {
            val body = mutableListOf(lines[at].trim())
            while (at + 1 < lines.size && lines[at + 1].isNotBlank() && !startsBlock(lines[at + 1])) body += lines[++at].trim()
            add(MarkdownBlock.Kind.PARAGRAPH, body.joinToString("\n"))
        }
    }

    /** Marks inside a line become spans. Each letter is looked at once. */
    private class Inline(private val text: String) {
        private class Open(val mark: String, val begin: Int)

        private val plain = StringBuilder()
        private val spans = mutableListOf<MarkdownBlock.Span>()
        private val open = mutableListOf<Open>()
        private val unclosed = mutableSetOf<Int>()
        private var at = 0

        fun read(): Pair<String, List<MarkdownBlock.Span>> {
            while (at < text.length) step()
            while (open.isNotEmpty()) restoreLast()
            return plain.toString() to spans.sortedBy { it.begin }
        }

        private fun step() {
            when (val next = text[at]) {
                '\\' -> escape()
                '`' -> code()
                '[' -> link()
                '*', '_', '~' -> mark(next)
                else -> push(next.toString(), 1)
            }
        }

        private fun push(words: String, length: Int) {
            plain.append(words)
            at += length
        }

        private fun escape() {
            val next = text.getOrNull(at + 1)
            if (next != null && next in PUNCTUATION) push(next.toString(), 2) else push("\\", 1)
        }

        private fun code() {
            val length = text.drop(at).takeWhile { it == '`' }.length
            val mark = "`".repeat(length)
            val close = if (length in unclosed) -1 else text.indexOf(mark, at + length)
            if (close < 0) {
                unclosed += length
                return push(mark, length)
            }
            val inside = text.substring(at + length, close).trim()
            span(inside, MarkdownBlock.Style.CODE, close + length)
        }

        private fun link() {
            val match = LINK.matchAt(text, at) ?: return push("[", 1)
            val (label, address) = match.destructured
            val isSafe = SAFE.containsMatchIn(address)
            if (isSafe) return span(label.ifEmpty { address }, MarkdownBlock.Style.LINK, match.range.last + 1, address)
            push(label, match.value.length)
        }

        private fun span(words: String, style: MarkdownBlock.Style, end: Int, address: String = "") {
            spans += MarkdownBlock.Span(plain.length, plain.length + words.length, style, address)
            plain.append(words)
            at = end
        }

        private fun mark(letter: Char) {
            val isDouble = text.getOrNull(at + 1) == letter
            val mark = if (isDouble) "$letter$letter" else "$letter"
            val style = STYLES[mark] ?: return push(mark, mark.length)
            val before = text.getOrElse(at - 1) { ' ' }
            val after = text.getOrElse(at + mark.length) { ' ' }
            val isInWord = letter == '_' && before.isLetterOrDigit() && after.isLetterOrDigit()
            val opened = open.indexOfLast { it.mark == mark }
            if (!isInWord && !before.isWhitespace() && opened >= 0 && open[opened].begin < plain.length) {
                return close(opened, style, mark)
            }
            if (!isInWord && !after.isWhitespace()) {
                open += Open(mark, plain.length)
                at += mark.length
                return
            }
            push(mark, mark.length)
        }

        private fun close(index: Int, style: MarkdownBlock.Style, mark: String) {
            while (open.size > index + 1) restoreLast()
            spans += MarkdownBlock.Span(open.removeAt(index).begin, plain.length, style)
            at += mark.length
        }

        /** A mark that nothing closes stays in the text. */
        private fun restoreLast() {
            val last = open.removeAt(open.size - 1)
            plain.insert(last.begin, last.mark)
            val shift = { place: Int -> if (place >= last.begin) place + last.mark.length else place }
            for (at in spans.indices) {
                val span = spans[at]
                if (span.end > last.begin) spans[at] = span.copy(begin = shift(span.begin), end = shift(span.end))
            }
        }

        private companion object {
            const val PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
            val LINK = Regex("\\[([^\\[\\]]*)]\\(\\s*<?([^()\\s<>]*)>?(?:\\s+\"[^\"\\n]*\")?\\s*\\)")
            val SAFE = Regex("^(?:https?://|mailto:)", RegexOption.IGNORE_CASE)
            val STYLES = mapOf(
                "**" to MarkdownBlock.Style.BOLD, "__" to MarkdownBlock.Style.BOLD,
                "*" to MarkdownBlock.Style.ITALIC, "_" to MarkdownBlock.Style.ITALIC,
                "~~" to MarkdownBlock.Style.STRIKE,
            )
        }
    }
}
