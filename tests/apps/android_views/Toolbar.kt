package android.widget

import android.app.Activity
import android.content.Context
import android.view.Room
import android.view.View
import java.awt.Graphics2D
import standin.TextBlock
import standin.Theme

/** A bar with the title of its screen and the sign of the menu. */
class Toolbar(context: Context) : View(context) {
    lateinit var owner: Activity
    private var titleColour = Theme(device.isDark).text

    fun setTitleTextColor(colour: Int) {
        titleColour = java.awt.Color(colour, true)
    }

    override fun measure(across: Room, down: Room) {
        width = across.of(0)
        height = down.of(minimumHeight)
    }

    override fun paint(to: Graphics2D) {
        to.color = titleColour
        val side = device.dp(16f)
        val room = width - 3 * side - device.dp(24f)
        val size = minOf(device.sp(20f), device.density * 24f) // the bar's letters grow less
        val block = { words: String -> TextBlock(words, size, android.graphics.Typeface.DEFAULT_BOLD, null, device.isRightToLeft) }
        var shown = owner.title.toString()
        while (block(shown).widest > room) shown = shown.removeSuffix("…").dropLast(1).trimEnd() + "…"
        val words = block(shown)
        val left = if (device.isRightToLeft) width - side - words.widest else side
        words.draw(to, left, (height - words.lineHeight) / 2, TextBlock.Side.OWN)
        if (owner.menu.items.isEmpty()) return
        val dots = if (device.isRightToLeft) side else width - side
        for (step in -1..1) to.fillOval(dots - 3, height / 2 + step * device.dp(6f) - 2, device.dp(4f), device.dp(4f))
    }
}
