package ai.mlc.chat

import ai.mlc.chat.app.R
import android.content.Context
import android.content.res.ColorStateList
import android.graphics.drawable.Drawable
import android.graphics.drawable.GradientDrawable
import android.graphics.drawable.InsetDrawable
import android.graphics.drawable.RippleDrawable
import android.view.View
import android.widget.Button

/**
 * Material 3's shapes over the colours that the apps and the page share (`res/values/colors.xml`): cards of 12 dp,
 * bubbles of 20 dp, round buttons of 40 dp within the 48 dp that a finger needs.
 */
class Design(private val context: Context) {
    private fun colour(id: Int) = context.getColor(id)

    private fun dp(size: Int) = (size * context.resources.displayMetrics.density).toInt()

    private fun shape(fill: Int, radius: Int, edge: Int = 0) = GradientDrawable().apply {
        setColor(colour(fill))
        setCornerRadius(dp(radius).toFloat())
        if (edge != 0) setStroke(dp(1), colour(edge))
    }

    /** `isMain`: the button that the screen is for. */
    fun dress(button: Button, isMain: Boolean) = with(button) {
        setAllCaps(false)
        stateListAnimator = null
        setTextColor(colour(if (isMain) R.color.on_accent else R.color.text))
        val face = if (isMain) shape(R.color.accent, BUTTON / 2) else shape(R.color.page, BUTTON / 2, R.color.edge)
        val touched: Drawable = RippleDrawable(ColorStateList.valueOf(colour(R.color.line)), face, null)
        background = InsetDrawable(touched, dp(GAP), dp(TOUCH_GAP), dp(GAP), dp(TOUCH_GAP))
        setPaddingRelative(dp(BUTTON_SIDE), 0, dp(BUTTON_SIDE), 0)
    }

    fun card(view: View) = with(view) {
        background = InsetDrawable(shape(R.color.side, CARD), 0, dp(GAP), 0, dp(GAP))
        setPaddingRelative(dp(CARD_SIDE), dp(CARD_SIDE), dp(CARD_SIDE), dp(CARD_SIDE))
    }

    /** What the user said: on the side where lines end. */
    fun bubble(view: View) = with(view) {
        val isMirrored = resources.configuration.layoutDirection == View.LAYOUT_DIRECTION_RTL
        val (left, right) = if (isMirrored) 0 to dp(BUBBLE_GAP) else dp(BUBBLE_GAP) to 0
        background = InsetDrawable(shape(R.color.bubble, BUBBLE), left, dp(GAP), right, dp(GAP))
        setPaddingRelative(dp(BUBBLE_GAP + CARD_SIDE), dp(CARD_SIDE), dp(CARD_SIDE), dp(CARD_SIDE))
    }

    fun code(view: View) = with(view) {
        background = shape(R.color.code, CODE)
        setPaddingRelative(dp(CARD_SIDE), dp(CODE), dp(CARD_SIDE), dp(CODE))
    }

    private companion object {
        const val BUTTON = 40
        const val BUTTON_SIDE = 20
        const val GAP = 3
        const val TOUCH_GAP = 4
        const val CARD = 12
        const val CARD_SIDE = 12
        const val BUBBLE = 20
        const val BUBBLE_GAP = 48
        const val CODE = 8
    }
}
