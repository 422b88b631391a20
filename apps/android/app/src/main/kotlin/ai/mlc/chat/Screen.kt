package ai.mlc.chat

import ai.mlc.chat.app.R
import android.app.Activity
import android.app.AlertDialog
import android.content.ClipData
import android.content.ClipboardManager
import android.content.Context
import android.os.Bundle
import android.os.Handler
import android.os.Looper
import android.text.InputType
import android.view.Gravity
import android.view.View
import android.view.ViewGroup.LayoutParams.MATCH_PARENT
import android.view.ViewGroup.LayoutParams.WRAP_CONTENT
import android.widget.Button
import android.widget.EditText
import android.widget.LinearLayout
import android.widget.TextView
import android.widget.Toast
import android.widget.Toolbar
import java.io.IOException
import kotlin.coroutines.CoroutineContext
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.cancel
import kotlinx.coroutines.launch

/** The thread of the views. (kotlinx-coroutines-android has the same as Dispatchers.Main.) */
object Views : CoroutineDispatcher() {
    private val handler = Handler(Looper.getMainLooper())

    override fun isDispatchNeeded(context: CoroutineContext) = Looper.myLooper() != Looper.getMainLooper()

    override fun dispatch(context: CoroutineContext, block: Runnable) {
        handler.post(block)
    }
}

/** A screen with a column of views. What it starts ends with it. */
abstract class Screen : Activity() {
    val scope = CoroutineScope(SupervisorJob() + Views)
    val app: ChatApp get() = application as ChatApp
    val design by lazy { Design(this) }

    override fun onCreate(state: Bundle?) {
        super.onCreate(state)
        build()
    }

    protected abstract fun build()

    /**
     * A bar with the title, and the view below it. Since Android 15 an app also draws behind the
     * system's bars and the keyboard, so both keep clear of them; before, the system does that, and
     * the insets are zero.
     */
    override fun setContentView(view: View) {
        val bar = Toolbar(this).apply {
            minimumHeight = dp(BAR)
            setTitleTextColor(getColor(R.color.text))
            setBackgroundColor(getColor(R.color.side))
        }
        val whole = LinearLayout(this).apply { orientation = LinearLayout.VERTICAL }
        whole.addView(bar, WIDE)
        val beside = ((resources.configuration.screenWidthDp - MOST_WIDTH) / 2).coerceAtLeast(0)
        val content = LinearLayout(this).apply { setPaddingRelative(dp(beside), 0, dp(beside), 0) }
        content.addView(view, LinearLayout.LayoutParams(0, MATCH_PARENT, 1f))
        whole.addView(content, REST)
        whole.setOnApplyWindowInsetsListener { box, insets ->
            box.setPadding(
                insets.systemWindowInsetLeft, insets.systemWindowInsetTop,
                insets.systemWindowInsetRight, insets.systemWindowInsetBottom,
            )
            insets.consumeSystemWindowInsets()
        }
        super.setContentView(whole)
        setActionBar(bar)
    }

    override fun onDestroy() {
        scope.cancel()
        super.onDestroy()
    }

    /** A full disk, where a chat is kept, is said and ends nothing. */
    fun launch(act: suspend () -> Unit) {
        scope.launch {
            try {
                act()
            } catch (error: IOException) {
                say(error.message.orEmpty())
            }
        }
    }

    fun dp(size: Int): Int = (size * resources.displayMetrics.density).toInt()

    fun column(): LinearLayout = LinearLayout(this).apply {
        orientation = LinearLayout.VERTICAL
        setPaddingRelative(dp(SPACE), dp(SPACE), dp(SPACE), dp(SPACE))
    }

    fun row(): LinearLayout = LinearLayout(this).apply {
        orientation = LinearLayout.HORIZONTAL
        setGravity(Gravity.CENTER_VERTICAL)
    }

    fun text(words: CharSequence, size: Float = TEXT_SIZE): TextView = TextView(this).apply {
        text = words
        textSize = size
        setTextColor(getColor(R.color.text))
        textDirection = View.TEXT_DIRECTION_FIRST_STRONG
    }

    /** Where the lines of this language begin, also when its words are of another one. */
    fun TextView.atStart(): TextView = apply { textAlignment = View.TEXT_ALIGNMENT_VIEW_START }

    /** The field below its label, which a screen reader says with it. */
    fun LinearLayout.with(field: EditText): EditText {
        addView(text(field.hint, SMALL).atStart().apply { labelFor = field.id })
        addView(field, WIDE)
        return field
    }

    /**
     * A button, as tall as a finger needs. `label` is what a screen reader says of it; `isMain`: the one that
     * the screen is for.
     */
    fun button(words: Int, label: CharSequence? = null, isMain: Boolean = false, act: () -> Unit): Button =
        Button(this).apply {
            setText(words)
            contentDescription = label ?: text
            minHeight = dp(TOUCH)
            design.dress(this, isMain)
            setOnClickListener { act() }
        }

    fun field(label: Int, content: String = "", type: Int = InputType.TYPE_CLASS_TEXT, lines: Int = 1): EditText =
        EditText(this).apply {
            id = View.generateViewId()
            setHint(label)
            setTextColor(getColor(R.color.text))
            setHintTextColor(getColor(R.color.quiet))
            contentDescription = getString(label)
            inputType = if (lines > 1) type or InputType.TYPE_TEXT_FLAG_MULTI_LINE else type
            maxLines = lines
            setText(content)
            textDirection = View.TEXT_DIRECTION_FIRST_STRONG
        }

    fun say(words: String): Unit = Toast.makeText(this, words, Toast.LENGTH_LONG).show()

    fun ask(words: String, yes: Int, act: () -> Unit) {
        AlertDialog.Builder(this).setMessage(words)
            .setPositiveButton(yes) { _, _ -> act() }
            .setNegativeButton(R.string.cancel, null)
            .show()
    }

    fun askText(title: Int, content: View, act: () -> Unit) {
        AlertDialog.Builder(this).setTitle(title).setView(content)
            .setPositiveButton(R.string.ok) { _, _ -> act() }
            .setNegativeButton(R.string.cancel, null)
            .show()
    }

    fun copy(words: String) {
        val board = getSystemService(Context.CLIPBOARD_SERVICE) as ClipboardManager
        board.setPrimaryClip(ClipData.newPlainText(getString(R.string.app_name), words))
    }

    companion object {
        const val SPACE = 12
        const val BAR = 56
        const val MOST_WIDTH = 720 // of a line that is easy to read, on tablets too
        const val TOUCH = 48
        const val TEXT_SIZE = 16f
        const val SMALL = 13f
        val WIDE = LinearLayout.LayoutParams(MATCH_PARENT, WRAP_CONTENT)
        val REST = LinearLayout.LayoutParams(MATCH_PARENT, 0, 1f)
        val REST_OF_ROW = LinearLayout.LayoutParams(0, WRAP_CONTENT, 1f)
    }
}
