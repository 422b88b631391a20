package android.graphics

class Typeface private constructor(val isBold: Boolean, val isMono: Boolean) {
    companion object {
        const val BOLD = 1
        const val ITALIC = 2
        val DEFAULT_BOLD = Typeface(isBold = true, isMono = false)
        val MONOSPACE = Typeface(isBold = false, isMono = true)
    }
}
