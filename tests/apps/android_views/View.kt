package android.view

import android.content.Context
import java.awt.AlphaComposite
import java.awt.Graphics2D
import standin.Device

/** How large a view may be: exactly so, at most so, or as it likes (null). */
class Room(val most: Int?, val isExact: Boolean) {
    fun of(wanted: Int): Int = if (most == null) wanted else if (isExact) most else minOf(wanted, most)

    fun less(pixels: Int) = Room(most?.let { maxOf(0, it - pixels) }, isExact)

    /** For a child with this size in its LayoutParams. */
    fun child(wanted: Int): Room = when {
        wanted >= 0 -> Room(wanted, true)
        wanted == ViewGroup.LayoutParams.MATCH_PARENT -> Room(most, isExact)
        else -> Room(most, false)
    }
}

/** What the system's bars cover, in pixels. */
class WindowInsets(
    val systemWindowInsetLeft: Int,
    val systemWindowInsetTop: Int,
    val systemWindowInsetRight: Int,
    val systemWindowInsetBottom: Int,
) {
    fun consumeSystemWindowInsets() = WindowInsets(0, 0, 0, 0)
}

/** A stand-in for Android's class: as much of it as the app uses, measured and drawn by Java2D. */
open class View(val context: Context) {
    val device: Device get() = context.device
    var id = 0
    var alpha = 1f
    var isEnabled = true
    var contentDescription: CharSequence? = null
    var textDirection = 0
    var textAlignment = 0
    var labelFor = 0
    var visibility = VISIBLE
    var background: android.graphics.drawable.Drawable? = null
    val resources get() = context.resources

    fun setBackgroundColor(colour: Int) {
        background = android.graphics.drawable.GradientDrawable().apply { setColor(colour) }
    }

    var accessibilityLiveRegion = 0
    var parent: ViewGroup? = null
    var params: android.widget.LinearLayout.LayoutParams? = null
    var left = 0
    var top = 0
    var width = 0
    var height = 0
    protected var start = 0
    protected var end = 0
    protected var above = 0
    protected var below = 0
    var click: ((View) -> Unit)? = null
        private set

    fun setPaddingRelative(start: Int, top: Int, end: Int, bottom: Int) {
        this.start = start
        this.end = end
        above = top
        below = bottom
    }

    fun setPadding(left: Int, top: Int, right: Int, bottom: Int) =
        if (device.isRightToLeft) setPaddingRelative(right, top, left, bottom) else setPaddingRelative(left, top, right, bottom)

    var minimumHeight = 0
    private var insetsListener: ((View, WindowInsets) -> WindowInsets)? = null

    fun setOnApplyWindowInsetsListener(act: (View, WindowInsets) -> WindowInsets) {
        insetsListener = act
    }

    /** As the system does it before the views are measured. */
    fun apply(insets: WindowInsets) {
        insetsListener?.invoke(this, insets)
    }

    fun setOnClickListener(act: ((View) -> Unit)?) {
        click = act
    }

    fun post(act: () -> Unit) = android.os.Looper.add(act)

    open fun canScrollVertically(direction: Int): Boolean = false

    /** Sets width and height. */
    open fun measure(across: Room, down: Room) {
        width = across.of(0)
        height = down.of(minimumHeight)
    }

    /** Sets the places of the children. */
    open fun place() = Unit

    fun draw(to: Graphics2D) {
        val part = to.create(left, top, width, height) as Graphics2D
        part.setRenderingHints(to.renderingHints)
        if (visibility == GONE) return
        if (alpha < 1f) part.composite = AlphaComposite.getInstance(AlphaComposite.SRC_OVER, alpha)
        background?.draw(part, 0, 0, width, height)
        paint(part)
        part.dispose()
    }

    protected open fun paint(to: Graphics2D) = Unit

    /** What does not fit into this view, in words; null: all fits. */
    open fun cut(): String? = null

    companion object {
        const val ACCESSIBILITY_LIVE_REGION_POLITE = 1
        const val VISIBLE = 0
        const val GONE = 8
        const val LAYOUT_DIRECTION_RTL = 1
        const val TEXT_DIRECTION_FIRST_STRONG = 1
        const val TEXT_DIRECTION_LTR = 3
        const val TEXT_ALIGNMENT_VIEW_START = 5
        const val FOCUS_DOWN = 130
        private var lastId = 0

        fun generateViewId(): Int = ++lastId
    }
}

open class ViewGroup(context: Context) : View(context) {
    val children = mutableListOf<View>()

    fun addView(view: View) = addView(view, defaults())

    fun addView(view: View, params: android.widget.LinearLayout.LayoutParams) {
        check(view.parent == null) { "the view has a parent already" }
        view.parent = this
        view.params = params
        children += view
    }

    fun removeView(view: View?) {
        if (children.remove(view)) view?.parent = null
    }

    val childCount: Int get() = children.size

    fun removeViewAt(at: Int) = removeView(children[at])

    fun removeAllViews() = children.toList().forEach(::removeView)

    protected open fun defaults() = android.widget.LinearLayout.LayoutParams(
        LayoutParams.MATCH_PARENT, LayoutParams.WRAP_CONTENT,
    )

    override fun paint(to: Graphics2D) = children.forEach { it.draw(to) }

    object LayoutParams {
        const val MATCH_PARENT = -1
        const val WRAP_CONTENT = -2
    }
}

object Gravity {
    const val CENTER_VERTICAL = 16
    const val TOP = 48
    const val START = 0x800003
}

class MenuItem(val itemId: Int, val title: Int)

class Menu {
    val items = mutableListOf<MenuItem>()

    fun add(@Suppress("UNUSED_PARAMETER") group: Int, id: Int, @Suppress("UNUSED_PARAMETER") order: Int, title: Int) {
        items += MenuItem(id, title)
    }

    companion object {
        const val NONE = 0
    }
}
