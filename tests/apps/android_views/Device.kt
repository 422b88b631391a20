package standin

import java.awt.Color
import java.io.File
import java.util.Locale
import kotlin.math.pow

/** The phone that a screen is drawn for. Sizes are in dp. */
class Device(
    val language: String = "en",
    val isDark: Boolean = false,
    val fontScale: Float = 1f,
    val widthDp: Int = 360,
    val heightDp: Int = 640,
    val density: Float = 1.5f,
) {
    val locale: Locale = Locale.forLanguageTag(language)
    val isRightToLeft: Boolean get() = language == "ar"
    val width: Int get() = (widthDp * density).toInt()
    val height: Int get() = (heightDp * density).toInt()

    val statusBar: Int get() = dp(24f)
    val navigationBar: Int get() = dp(48f) // with three buttons

    private val names = read("").keys.toList()
    private val texts = read("").values + if (language == "en") emptyMap() else read("-$language").values

    fun dp(size: Float): Int = (size * density).toInt()

    fun sp(size: Float): Float = size * density * fontScale

    private val colours = colours("").let { light -> if (isDark) light + colours("-night-v29") else light }

    /** The colour of a number in `R.color`. */
    fun colour(id: Int): Int = colours.values.elementAt(id - 1)

    private fun colours(ending: String): Map<String, Int> {
        val text = File(System.getProperty("app.main"), "res/values$ending/colors.xml").readText()
        return COLOUR.findAll(text).associate { it.groupValues[1] to (OPAQUE or it.groupValues[2].toInt(16)) }
    }

    /** The text of a number in `R.string`. */
    fun text(id: Int): String = texts.getValue(names[id - 1])

    private fun read(ending: String): Texts {
        val file = File(System.getProperty("app.main"), "res/values$ending/strings.xml")
        val found = LINE.findAll(file.readText()).map { it.groupValues[1] to plain(it.groupValues[2]) }.toList()
        return Texts(found.map { it.first }, found.toMap())
    }

    private fun plain(text: String): String =
        text.replace("\\'", "'").replace("\\n", "\n").replace("&lt;", "<").replace("&amp;", "&")

    private class Texts(val keys: List<String>, val values: Map<String, String>)

    private companion object {
        const val OPAQUE = 0xff shl 24
        val COLOUR = Regex("""<color name="(\w+)">#(\w{6})</color>""")
        val LINE = Regex("""<string name="(\w+)">(.*?)</string>""")
    }
}

/** How well a colour of this opacity can be told from what is behind it: 1 to 21, as WCAG computes it. */
fun contrast(colour: Color, behind: Color, opacity: Float): Double {
    fun mixed(part: (Color) -> Int) = (part(colour) * opacity + part(behind) * (1 - opacity)).toInt()
    val seen = Color(mixed(Color::getRed), mixed(Color::getGreen), mixed(Color::getBlue))
    val (low, high) = listOf(luminance(seen), luminance(behind)).sorted()
    return (high + 0.05) / (low + 0.05)
}

private fun luminance(colour: Color): Double {
    val parts = colour.getRGBColorComponents(null).map { if (it <= 0.04045f) it / 12.92 else ((it + 0.055) / 1.055).pow(2.4) }
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
}

/** About the colours of Android's own theme. */
class Theme(isDark: Boolean) {
    val window = if (isDark) Color(0x12, 0x12, 0x12) else Color(0xfa, 0xfa, 0xfa)
    val card = if (isDark) Color(0x2c, 0x2c, 0x2c) else Color.WHITE
    val bar = if (isDark) Color(0x1f, 0x1f, 0x1f) else Color(0xf0, 0xf0, 0xf0)
    val text = if (isDark) Color(0xff, 0xff, 0xff) else Color(0x1c, 0x1c, 0x1c)
    val quiet = if (isDark) Color(0xb0, 0xb0, 0xb0) else Color(0x6b, 0x6b, 0x6b)
    val button = if (isDark) Color(0x4a, 0x4a, 0x4a) else Color(0xd8, 0xd8, 0xd8)
    val accent = if (isDark) Color(0x8a, 0xb4, 0xf8) else Color(0x1a, 0x66, 0xc8)
}
