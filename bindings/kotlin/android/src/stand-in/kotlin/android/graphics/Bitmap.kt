package android.graphics

import java.io.OutputStream

/**
 * In place of Android's class where no Android is (build.py): what the binding calls of it. It writes its [content],
 * and the format's name.
 */
class Bitmap(private val content: String) {
    enum class CompressFormat { JPEG, PNG }

    fun compress(format: CompressFormat, quality: Int, stream: OutputStream): Boolean {
        stream.write("$content $format $quality".toByteArray())
        return content.isNotEmpty()
    }
}
