package ai.mlc.mlcllm

import android.graphics.Bitmap
import org.junit.Assert.assertEquals
import org.junit.Assert.assertThrows
import org.junit.Test

/** Bitmaps as parts of messages, over a stand-in for Android's class. */
class BitmapPictureTest {
    @Test
    fun `a bitmap is a PNG`() {
        val low = picture(Bitmap("cat"), ImageDetail.low)
        assertEquals(picture("cat PNG 100".toByteArray(), ImageDetail.low), low)
        assertThrows(IllegalStateException::class.java) { picture(Bitmap("")) }
    }
}
