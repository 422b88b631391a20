package android.widget

import android.content.Context
import android.text.Editable
import android.graphics.Typeface
import android.text.InputType
import android.text.Spanned
import android.text.TextWatcher
import android.view.Room
import android.view.View
import java.awt.Color
import java.awt.Graphics2D
import standin.TextBlock
import standin.Theme

open class TextView(context: Context) : View(context) {
    var text: CharSequence = ""
    var hint: CharSequence = ""
    var textSize = 14f
    var minHeight = 0
    var maxLines = Int.MAX_VALUE
    var minLines = 1
    protected var isUpper = false
    var stateListAnimator: Any? = null
    var colour: Color? = null
        private set
    protected var hintColour: Color? = null
    private var typeface: Typeface? = null
    private var isOneLine = false
    protected val theme = Theme(device.isDark)
    protected open val shown: String get() = text.toString()
    protected open val isSingleLine get() = isOneLine
    protected open val isCentred get() = false
    protected open val leading: Int get() = 0 // before the text
    private var isMiddle = false
    private lateinit var block: TextBlock

    fun setText(id: Int) {
        text = context.getString(id)
    }

    @JvmName("setWords")
    fun setText(words: CharSequence) {
        text = words
    }

    fun setHint(id: Int) {
        hint = context.getString(id)
    }

    fun setGravity(gravity: Int) {
        isMiddle = gravity and android.view.Gravity.CENTER_VERTICAL != 0
    }

    fun setTextColor(colour: Int) {
        this.colour = Color(colour, true)
    }

    fun setHintTextColor(colour: Int) {
        hintColour = Color(colour, true)
    }

    fun setTypeface(typeface: Typeface) {
        this.typeface = typeface
    }

    fun setAllCaps(isAllCaps: Boolean) {
        isUpper = isAllCaps
    }

    fun setSingleLine() {
        isOneLine = true
    }

    /** What its words are drawn with. */
    open val inked: Color get() = colour ?: theme.text

    fun setTextIsSelectable(@Suppress("UNUSED_PARAMETER") isSelectable: Boolean) = Unit

    private fun blockOf(width: Int?) = TextBlock(
        (text as? Spanned)?.takeIf { shown == it.toString() } ?: shown, device.sp(textSize), typeface, width,
        device.isRightToLeft && textDirection != TEXT_DIRECTION_LTR,
    )

    override fun measure(across: Room, down: Room) {
        val beside = start + end + leading
        width = across.of(maxOf(leastWidth(), blockOf(null).widest + beside))
        block = blockOf(if (isSingleLine) null else width - beside)
        val lines = block.numLines.coerceIn(minLines, maxOf(minLines, maxLines))
        height = down.of(maxOf(minHeight, leastHeight(), block.lineHeight * lines + above + below))
    }

    protected open fun leastWidth(): Int = 0

    protected open fun leastHeight(): Int = 0

    override fun paint(to: Graphics2D) {
        to.color = if (isEnabled) inked else theme.quiet
        drawText(to)
    }

    protected fun drawText(to: Graphics2D) {
        val middle = (height - minOf(block.height, height)) / 2
        val top = if (isCentred || isMiddle) middle else above
        val beside = start + leading
        val side = when {
            isCentred -> TextBlock.Side.MIDDLE
            textAlignment != TEXT_ALIGNMENT_VIEW_START -> TextBlock.Side.OWN
            else -> if (device.isRightToLeft) TextBlock.Side.RIGHT else TextBlock.Side.LEFT
        }
        val left = if (device.isRightToLeft) end else beside
        val isPushed = isSingleLine && block.runsBack // a field of one line is as wide as its words
        block.draw(to, if (isPushed) width - start - block.widest else left, top, side)
    }

    override fun cut(): String? {
        val room = width - start - end - leading
        val scrolls = block.numLines > maxLines && text.isNotEmpty()
        val lines = if (scrolls) 0 else block.height
        return when {
            block.widest > room + 1 && (text.isEmpty() || !isSingleLine) -> "'$shown' needs ${block.widest} of $room pixels across"
            lines > height -> "'$shown' needs $lines of $height pixels down"
            else -> null
        }
    }
}

open class Button(context: Context) : TextView(context) {
    override val shown get() = if (isUpper) text.toString().uppercase(device.locale) else text.toString()
    override val isCentred get() = true

    init {
        isUpper = true
        setPaddingRelative(device.dp(12f), device.dp(10f), device.dp(12f), device.dp(10f))
    }

    override fun leastWidth() = device.dp(88f)

    /** A button's words are whole. */
    override fun cut(): String? {
        val longest = shown.split(' ').maxOf { TextBlock(it, device.sp(textSize), null, null, false).widest }
        return super.cut() ?: "'$shown' is broken".takeIf { longest > width - start - end }
    }

    override fun paint(to: Graphics2D) {
        val (side, top) = device.dp(4f) to device.dp(6f)
        to.color = theme.button
        if (background == null) to.box(side, top, width - 2 * side, height - 2 * top, device.dp(4f))
        super.paint(to)
    }
}

class EditText(context: Context) : TextView(context) {
    var inputType = 0
    private val watchers = mutableListOf<TextWatcher>()
    override val shown get() = text.ifEmpty { hint }.toString()
    override val isSingleLine get() = inputType and InputType.TYPE_TEXT_FLAG_MULTI_LINE == 0

    init {
        textSize = 18f
        setPaddingRelative(device.dp(4f), device.dp(10f), device.dp(4f), device.dp(10f))
    }

    override val inked get() = if (text.isEmpty()) hintColour ?: theme.quiet else super.inked

    fun addTextChangedListener(watcher: TextWatcher) {
        watchers += watcher
    }

    fun type(words: String) {
        text = words
        watchers.forEach { it.afterTextChanged(Editable(words)) }
    }

    override fun paint(to: Graphics2D) {
        to.color = theme.quiet
        to.fillRect(device.dp(4f), height - device.dp(7f), width - device.dp(8f), maxOf(1, device.dp(1f)))
        to.color = inked
        drawText(to)
    }
}

class CheckBox(context: Context) : TextView(context) {
    var isChecked = false
    override val leading get() = device.dp(32f)

    init {
        textSize = 16f
        setGravity(android.view.Gravity.CENTER_VERTICAL)
    }

    override fun paint(to: Graphics2D) {
        val (size, side) = device.dp(18f) to device.dp(7f)
        val left = if (device.isRightToLeft) width - side - size else side
        to.color = if (isChecked) theme.accent else theme.quiet
        to.box(left, (height - size) / 2, size, size, device.dp(3f))
        to.color = theme.window
        val edge = if (isChecked) device.dp(6f) else device.dp(2f)
        to.box(left + edge, (height - size) / 2 + edge, size - 2 * edge, size - 2 * edge, 0)
        super.paint(to)
    }
}
