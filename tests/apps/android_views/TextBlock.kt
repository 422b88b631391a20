package standin

import android.graphics.Typeface
import android.text.Spanned
import android.text.attributesOf
import java.awt.Font
import java.awt.Graphics2D
import java.awt.font.FontRenderContext
import java.awt.font.LineBreakMeasurer
import java.awt.font.TextAttribute
import java.awt.font.TextLayout
import java.text.AttributedString
import java.text.Bidi
import kotlin.math.ceil

/** Text in lines. Each paragraph runs as its first letter does. */
class TextBlock(
    text: CharSequence,
    size: Float,
    face: Typeface?,
    private val width: Int?,
    private val isRightToLeft: Boolean,
) {
    private class Line(val layout: TextLayout, val isRightToLeft: Boolean)

    private val family = if (face?.isMono == true) Font.MONOSPACED else Font.SANS_SERIF
    private val font = Font(family, if (face?.isBold == true) Font.BOLD else Font.PLAIN, 1).deriveFont(size)
    private val spans = (text as? Spanned)?.spans.orEmpty()
    private val plain = TextLayout("Ag", font, CONTEXT)
    private val lines = paragraphs(text.toString())
    val lineHeight: Int = ceil(plain.ascent + plain.descent + plain.leading).toInt()
    val height: Int get() = lineHeight * lines.size
    val runsBack: Boolean get() = lines.first().isRightToLeft
    val numLines: Int get() = lines.size
    val widest: Int get() = lines.maxOf { ceil(it.layout.visibleAdvance).toInt() }

    private fun paragraphs(text: String): List<Line> {
        var begin = 0
        return text.split('\n').flatMap { one -> broken(one, begin).also { begin += one.length + 1 } }
    }

    private fun broken(paragraph: String, begin: Int): List<Line> {
        val direction = if (isRightToLeft) Bidi.DIRECTION_DEFAULT_RIGHT_TO_LEFT else Bidi.DIRECTION_DEFAULT_LEFT_TO_RIGHT
        val runsBack = !Bidi(paragraph, direction).baseIsLeftToRight()
        val text = AttributedString(paragraph.ifEmpty { " " })
        for ((name, value) in font.attributes) if (value != null) text.addAttribute(name, value)
        for (span in spans) {
            val (from, to) = (span.begin - begin).coerceAtLeast(0) to (span.end - begin).coerceAtMost(paragraph.length)
            if (from < to) attributesOf(span.what).forEach { (name, value) -> text.addAttribute(name, value, from, to) }
        }
        val run = if (runsBack) TextAttribute.RUN_DIRECTION_RTL else TextAttribute.RUN_DIRECTION_LTR
        text.addAttribute(TextAttribute.RUN_DIRECTION, run)
        val measurer = LineBreakMeasurer(text.iterator, CONTEXT)
        val found = mutableListOf<Line>()
        val most = (width ?: UNLIMITED).coerceAtLeast(1).toFloat()
        while (measurer.position < paragraph.length.coerceAtLeast(1)) found += Line(measurer.nextLayout(most), runsBack)
        return found
    }

    /** Where a line is; OWN: where its paragraph begins. */
    enum class Side { OWN, LEFT, MIDDLE, RIGHT }

    fun draw(to: Graphics2D, left: Int, top: Int, side: Side) {
        lines.forEachIndexed { at, line ->
            // The space at the end of a line that runs to the left is on its left.
            val advance = if (line.isRightToLeft) line.layout.advance else line.layout.visibleAdvance
            val room = (width ?: widest) - advance
            val shift = when (side) {
                Side.OWN -> if (line.isRightToLeft) room else 0f
                Side.LEFT -> 0f
                Side.MIDDLE -> room / 2
                Side.RIGHT -> room
            }
            line.layout.draw(to, left + shift, top + at * lineHeight + plain.ascent + plain.leading / 2)
        }
    }

    private companion object {
        val CONTEXT = FontRenderContext(null, true, true)
        const val UNLIMITED = 1_000_000
    }
}
