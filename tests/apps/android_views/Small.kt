@file:Suppress("UNUSED_PARAMETER")

package android.app

import android.content.Context
import android.content.Intent

class ActivityManager {
    class MemoryInfo {
        var availMem = 0L
        var lowMemory = false
    }

    fun getMemoryInfo(info: MemoryInfo) {
        info.availMem = 1L shl 32
        info.lowMemory = isLow
    }

    companion object {
        @Volatile
        var isLow = false
    }
}

class Notification {
    class Builder(context: Context, channel: String = "") {
        fun setSmallIcon(icon: Int) = this

        fun setContentTitle(title: String) = this

        fun setContentIntent(intent: PendingIntent) = this

        fun setOngoing(isOngoing: Boolean) = this

        fun setChannelId(channel: String) = this

        fun build() = Notification()
    }
}

class NotificationManager {
    fun createNotificationChannel(channel: NotificationChannel) = Unit

    companion object {
        const val IMPORTANCE_LOW = 2
    }
}

class NotificationChannel(val id: String, val name: CharSequence, val importance: Int)

class PendingIntent {
    companion object {
        fun getActivity(context: Context, code: Int, intent: Intent, flags: Int) = PendingIntent()
    }
}

abstract class Service : Context() {
    val application: Application get() = Application.current

    abstract fun onBind(intent: Intent?): android.os.IBinder?

    open fun onStartCommand(intent: Intent?, flags: Int, startId: Int): Int = START_NOT_STICKY

    open fun onDestroy() = Unit

    fun startForeground(id: Int, notification: Notification) = Unit

    var isStopped = false
        private set

    fun stopSelf() {
        isStopped = true
    }

    fun stopSelf(id: Int) = Unit

    companion object {
        const val START_NOT_STICKY = 2
    }
}
