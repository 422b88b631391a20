package android.app

import android.content.Context
import android.content.Intent
import android.os.Bundle
import android.view.Menu
import android.view.MenuItem
import android.view.View
import android.view.WindowInsets
import android.widget.LinearLayout
import android.widget.TextView
import android.widget.Toolbar
import android.widget.fill
import java.awt.Color
import java.awt.Graphics2D
import java.awt.RenderingHints
import java.awt.image.BufferedImage
import standin.Theme

open class Application : Context() {
    init {
        current = this
    }

    open fun onCreate() = Unit

    open fun onTrimMemory(level: Int) = Unit

    fun registerActivityLifecycleCallbacks(@Suppress("UNUSED_PARAMETER") callbacks: ActivityLifecycleCallbacks) = Unit

    interface ActivityLifecycleCallbacks {
        fun onActivityCreated(activity: Activity, state: Bundle?)
        fun onActivityStarted(activity: Activity)
        fun onActivityResumed(activity: Activity)
        fun onActivityPaused(activity: Activity)
        fun onActivityStopped(activity: Activity)
        fun onActivitySaveInstanceState(activity: Activity, state: Bundle)
        fun onActivityDestroyed(activity: Activity)
    }

    companion object {
        lateinit var current: Application
    }
}

/** A screen: its views, as tall as the device, and a dialog above them. */
abstract class Activity : Context() {
    val application: Application get() = Application.current
    var intent = Intent("")
    var title: CharSequence = ""
    var dialog: AlertDialog.Builder? = null
    lateinit var content: View
        private set
    var asked: Pair<Intent, Int>? = null
        private set
    val menu = Menu()

    /** As the system does it. */
    fun begin(intent: Intent, title: String) {
        device = application.device
        folder = application.folder
        this.intent = intent
        this.title = title
        onCreate(null)
        onResume()
        onCreateOptionsMenu(menu)
    }

    protected open fun onCreate(state: Bundle?) = Unit

    protected open fun onResume() = Unit

    protected open fun onStart() = Unit

    protected open fun onStop() = Unit

    protected open fun onDestroy() = Unit

    fun end() = onDestroy()

    fun startActivityForResult(intent: Intent, code: Int) {
        asked = intent to code
    }

    protected open fun onActivityResult(code: Int, result: Int, data: Intent?) = Unit

    fun requestPermissions(names: Array<String>, code: Int) {
        wanted += names
        requestCode = code
    }

    open fun onRequestPermissionsResult(code: Int, permissions: Array<String>, results: IntArray) = Unit

    val wanted = mutableListOf<String>()
    private var requestCode = -1

    /** The user allows what was asked for. */
    fun grant() {
        granted += wanted
        onRequestPermissionsResult(requestCode, wanted.toTypedArray(), IntArray(wanted.size))
    }

    /** The user chooses a file for the last request; null: none. */
    fun answer(data: Intent?) = onActivityResult(asked!!.second, if (data == null) 0 else RESULT_OK, data)

    /** As a user does in the menu. */
    fun choose(id: Int) = onOptionsItemSelected(menu.items.first { it.itemId == id })

    open fun onSaveInstanceState(state: Bundle) = Unit

    open fun onCreateOptionsMenu(menu: Menu): Boolean = menu.items.isNotEmpty()

    open fun onOptionsItemSelected(item: MenuItem): Boolean = item.itemId < 0

    open fun setContentView(view: View) {
        content = view
    }

    fun setActionBar(bar: Toolbar) {
        bar.owner = this
    }

    fun finish() = Unit

    fun layOut() {
        content.apply(WindowInsets(0, device.statusBar, 0, device.navigationBar))
        content.fill(device.width, device.height)
        dialog?.layOut(device.width)
    }

    companion object {
        const val RESULT_OK = -1
    }

    /** `android:windowBackground` of the app's theme. */
    val windowColour get() = Color(getColor(ai.mlc.chat.app.R.color.page), true)

    fun picture(): BufferedImage {
        layOut()
        val image = BufferedImage(device.width, device.height, BufferedImage.TYPE_INT_RGB)
        val to = image.createGraphics()
        to.setRenderingHint(RenderingHints.KEY_ANTIALIASING, RenderingHints.VALUE_ANTIALIAS_ON)
        to.setRenderingHint(RenderingHints.KEY_TEXT_ANTIALIASING, RenderingHints.VALUE_TEXT_ANTIALIAS_ON)
        val theme = Theme(device.isDark)
        to.color = windowColour
        to.fillRect(0, 0, image.width, image.height)
        content.draw(to)
        dialog?.let {
            to.color = Color(0, 0, 0, 120)
            to.fillRect(0, 0, image.width, image.height)
            it.draw(to, theme, device.height)
        }
        to.dispose()
        return image
    }
}

class AlertDialog {
    class Builder(private val activity: Activity) {
        private val box = LinearLayout(activity).apply { orientation = LinearLayout.VERTICAL }
        private val buttons = mutableListOf<Int>()
        private var accepted: ((Any?, Int) -> Unit)? = null
        private val device get() = activity.device

        init {
            val space = device.dp(20f)
            box.setPaddingRelative(space, space, space, device.dp(12f))
        }

        fun setTitle(id: Int) = apply { addText(activity.getString(id), 20f) }

        fun setMessage(words: String) = apply { addText(words, 16f) }

        fun setView(view: View) = apply { box.addView(view) }

        fun setItems(words: Array<String>, act: (Any?, Int) -> Unit) = apply {
            words.forEach { addText(it, 16f) }
            items = words.toList()
            chosen = act
        }

        fun setPositiveButton(words: Int, act: ((Any?, Int) -> Unit)?) = button(words).also { accepted = act }

        fun setNegativeButton(words: Int, @Suppress("UNUSED_PARAMETER") act: ((Any?, Int) -> Unit)?) = button(words)

        private fun button(words: Int) = apply { buttons += words }

        private fun addText(words: String, size: Float) {
            val view = TextView(activity)
            view.text = words
            view.textSize = size
            view.setPaddingRelative(0, device.dp(6f), 0, device.dp(6f))
            box.addView(view)
        }

        val content: View get() = box
        var items = emptyList<String>()
            private set
        private var chosen: ((Any?, Int) -> Unit)? = null

        /** The user touches this line. */
        fun pick(words: String) = chosen!!(null, items.indexOf(words))

        /** The user touches the button that does what the dialog is for. */
        fun accept() = accepted!!(null, 0)

        fun show() {
            addText(buttons.joinToString("      ") { activity.getString(it).uppercase(device.locale) }, 14f)
            activity.dialog = this
        }

        internal fun layOut(width: Int) {
            val side = device.dp(24f)
            box.measure(android.view.Room(width - 2 * side, true), android.view.Room(null, false))
            box.left = side
            box.place()
        }

        internal fun draw(to: Graphics2D, theme: Theme, height: Int) {
            box.top = maxOf(device.dp(24f), (height - box.height) / 2) // Android's own scrolls
            to.color = theme.card
            to.fillRoundRect(box.left, box.top, box.width, box.height, device.dp(6f), device.dp(6f))
            box.draw(to)
        }
    }
}
