package ai.mlc.chat

import ai.mlc.chatkit.engine.ModelRunner
import android.app.ActivityManager
import android.content.Context
import kotlinx.coroutines.delay

/** The memory of the phone. */
object PhoneMemory {
    private const val LOOK_MS = 5000L

    fun of(context: Context): ActivityManager.MemoryInfo {
        val info = ActivityManager.MemoryInfo()
        (context.getSystemService(Context.ACTIVITY_SERVICE) as ActivityManager).getMemoryInfo(info)
        return info
    }

    /** While the app is visible: Android 14 and later send it no warning then. Ends when it is cancelled. */
    suspend fun watch(context: Context, runner: ModelRunner) {
        while (true) {
            runner.onMemoryLook(of(context).lowMemory)
            delay(LOOK_MS)
        }
    }
}
