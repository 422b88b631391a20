package android.widget

import android.content.Context
import android.view.Gravity
import android.view.Room
import android.view.View
import android.view.ViewGroup
import java.awt.Graphics2D

/** Measures as Android's: sizes first, then what is left by weight; a child gets at most what is left. */
class LinearLayout(context: Context) : ViewGroup(context) {
    class LayoutParams(val width: Int, val height: Int, val weight: Float = 0f)

    var orientation = HORIZONTAL
    private var isCentred = false
    private val isColumn get() = orientation == VERTICAL

    fun setGravity(gravity: Int) {
        isCentred = gravity and Gravity.CENTER_VERTICAL != 0
    }

    override fun defaults() = LayoutParams(
        if (isColumn) ViewGroup.LayoutParams.MATCH_PARENT else ViewGroup.LayoutParams.WRAP_CONTENT,
        ViewGroup.LayoutParams.WRAP_CONTENT,
    )

    private val shown get() = children.filter { it.visibility != View.GONE }

    override fun measure(across: Room, down: Room) {
        val (wide, tall) = across.less(start + end) to down.less(above + below)
        var used = 0
        for (child in shown.filter { it.params!!.weight == 0f }) {
            val params = child.params!!
            if (isColumn) child.measure(wide.child(params.width), tall.less(used).child(params.height))
            else child.measure(wide.less(used).child(params.width), tall.child(params.height))
            used += if (isColumn) child.height else child.width
        }
        val flexible = shown.filter { it.params!!.weight > 0f }
        val most = if (isColumn) tall.most else wide.most
        val sum = flexible.map { it.params!!.weight }.sum()
        for (child in flexible) {
            val share = Room((((most ?: used) - used) * child.params!!.weight / sum).toInt().coerceAtLeast(0), true)
            if (isColumn) child.measure(wide.child(child.params!!.width), share)
            else child.measure(share, tall.child(child.params!!.height))
        }
        val (widths, heights) = shown.map { it.width } to shown.map { it.height }
        width = across.of(start + end + if (isColumn) widths.maxOrNull() ?: 0 else widths.sum())
        height = down.of(above + below + if (isColumn) heights.sum() else heights.maxOrNull() ?: 0)
    }

    override fun place() {
        val isMirrored = device.isRightToLeft
        var at = if (isColumn) above else start
        for (child in shown) {
            if (isColumn) {
                child.left = if (isMirrored) width - start - child.width else start
                child.top = at
                at += child.height
            } else {
                child.left = if (isMirrored) width - at - child.width else at
                child.top = if (isCentred) above + (height - above - below - child.height) / 2 else above
                at += child.width
            }
            child.place()
        }
    }

    companion object {
        const val HORIZONTAL = 0
        const val VERTICAL = 1
    }
}

/** As wide as its place; what is in it may be wider. */
class HorizontalScrollView(context: Context) : ViewGroup(context) {
    var isHorizontalScrollBarEnabled = false

    override fun measure(across: Room, down: Room) {
        children.forEach { it.measure(Room(null, false), down.child(LayoutParams.WRAP_CONTENT)) }
        width = across.of(children.maxOf { it.width })
        height = down.of(children.maxOf { it.height })
    }

    override fun place() {
        for (child in children) {
            child.left = if (device.isRightToLeft) width - child.width else 0
            child.place()
        }
    }
}

class ScrollView(context: Context) : ViewGroup(context) {
    private var offset = 0
    private val content get() = children.first()

    override fun measure(across: Room, down: Room) {
        content.measure(across.child(ViewGroup.LayoutParams.MATCH_PARENT), Room(null, false))
        width = across.of(content.width)
        height = down.of(content.height)
    }

    override fun place() {
        content.left = 0
        content.top = -offset
        content.place()
    }

    override fun canScrollVertically(direction: Int): Boolean = offset < content.height - height

    fun fullScroll(@Suppress("UNUSED_PARAMETER") direction: Int): Boolean {
        offset = maxOf(0, content.height - height)
        return true
    }
}

class Toast private constructor(private val words: String) {
    fun show() {
        shown += words
    }

    companion object {
        const val LENGTH_LONG = 1
        val shown = mutableListOf<String>()

        fun makeText(@Suppress("UNUSED_PARAMETER") context: Context, words: String, @Suppress("UNUSED_PARAMETER") how: Int) =
            Toast(words)
    }
}

/** Every view below this one. */
fun View.all(): List<View> = if (visibility == View.GONE) emptyList() else listOf(this) + ((this as? ViewGroup)?.children?.flatMap { it.all() } ?: emptyList())

/** Measures and places a whole screen. */
fun View.fill(width: Int, height: Int) {
    measure(Room(width, true), Room(height, true))
    place()
}

internal fun Graphics2D.box(left: Int, top: Int, width: Int, height: Int, round: Int) =
    fillRoundRect(left, top, width, height, round, round)
