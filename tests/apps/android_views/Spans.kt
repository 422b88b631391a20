@file:Suppress("UNUSED_PARAMETER")

package android.text

import android.graphics.Typeface
import java.awt.font.TextAttribute

/** Stand-ins for a text with styles: `attributes` are Java2D's. */
interface Spanned : CharSequence {
    class Span(val what: Any, val begin: Int, val end: Int)

    val spans: List<Span>

    companion object {
        const val SPAN_EXCLUSIVE_EXCLUSIVE = 33
    }
}

class SpannableString(private val text: CharSequence) : Spanned, CharSequence by text.toString() {
    override val spans = mutableListOf<Spanned.Span>()

    fun setSpan(what: Any, begin: Int, end: Int, flags: Int) {
        require(begin in 0..end && end <= text.length) { "a span of $begin to $end in ${text.length} letters" }
        spans += Spanned.Span(what, begin, end)
    }

    override fun toString() = text.toString()
}

/** Java2D's attributes for a style. */
fun attributesOf(style: Any): Map<TextAttribute, Any> = when (style) {
    is android.text.style.StyleSpan ->
        if (style.style == Typeface.BOLD) mapOf(TextAttribute.WEIGHT to TextAttribute.WEIGHT_BOLD)
        else mapOf(TextAttribute.POSTURE to TextAttribute.POSTURE_OBLIQUE)
    is android.text.style.TypefaceSpan -> mapOf(TextAttribute.FAMILY to "Monospaced")
    is android.text.style.URLSpan -> mapOf(TextAttribute.UNDERLINE to TextAttribute.UNDERLINE_ON)
    is android.text.style.StrikethroughSpan -> mapOf(TextAttribute.STRIKETHROUGH to TextAttribute.STRIKETHROUGH_ON)
    is android.text.style.BackgroundColorSpan -> mapOf(TextAttribute.BACKGROUND to java.awt.Color(style.colour, true))
    else -> emptyMap()
}
