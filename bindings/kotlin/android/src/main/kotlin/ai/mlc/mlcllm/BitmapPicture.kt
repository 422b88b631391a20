@file:JvmName("BitmapPictures")

package ai.mlc.mlcllm

import android.graphics.Bitmap
import java.io.ByteArrayOutputStream

/** A picture within a message: what a bitmap shows, as PNG. */
@JvmOverloads
fun picture(bitmap: Bitmap, detail: ImageDetail? = null): ChatCompletionContentPartImage {
    val file = ByteArrayOutputStream()
    check(bitmap.compress(Bitmap.CompressFormat.PNG, 100, file)) { "the bitmap has no pixels" }
    return picture(file.toByteArray(), detail)
}
