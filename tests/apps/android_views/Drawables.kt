package android.graphics.drawable

import android.content.res.ColorStateList
import java.awt.BasicStroke
import java.awt.Color
import java.awt.Graphics2D

/** Stand-ins for what Android draws behind a view. */
abstract class Drawable {
    /** What is behind a text; null: the drawable leaves it as it was. */
    abstract val fill: Color?

    abstract fun draw(to: Graphics2D, left: Int, top: Int, width: Int, height: Int)
}

class GradientDrawable : Drawable() {
    private var cornerRadius = 0f
    override var fill: Color? = null
        private set
    private var edge: Pair<Int, Color>? = null

    fun setColor(colour: Int) {
        fill = Color(colour, true)
    }

    fun setCornerRadius(radius: Float) {
        cornerRadius = radius
    }

    fun setStroke(width: Int, colour: Int) {
        edge = width to Color(colour, true)
    }

    override fun draw(to: Graphics2D, left: Int, top: Int, width: Int, height: Int) {
        val round = minOf(2 * cornerRadius, minOf(width, height).toFloat()).toInt()
        to.color = fill
        to.fillRoundRect(left, top, width, height, round, round)
        val (wide, colour) = edge ?: return
        to.color = colour
        to.stroke = BasicStroke(wide.toFloat())
        to.drawRoundRect(left, top, width - 1, height - 1, round, round)
    }
}

class InsetDrawable(
    private val inner: Drawable,
    private val left: Int,
    private val top: Int,
    private val right: Int,
    private val bottom: Int,
) : Drawable() {
    override val fill get() = inner.fill

    override fun draw(to: Graphics2D, left: Int, top: Int, width: Int, height: Int) = inner.draw(
        to, left + this.left, top + this.top, width - this.left - right, height - this.top - bottom,
    )
}

class RippleDrawable(
    @Suppress("UNUSED_PARAMETER") touched: ColorStateList,
    private val content: Drawable,
    @Suppress("UNUSED_PARAMETER") mask: Drawable?,
) : Drawable() {
    override val fill get() = content.fill

    override fun draw(to: Graphics2D, left: Int, top: Int, width: Int, height: Int) =
        content.draw(to, left, top, width, height)
}
