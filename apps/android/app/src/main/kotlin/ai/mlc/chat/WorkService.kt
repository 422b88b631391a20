package ai.mlc.chat

import ai.mlc.chat.app.R
import android.app.Notification
import android.app.NotificationManager
import android.app.PendingIntent
import android.app.Service
import android.content.Context
import android.content.Intent
import android.os.IBinder
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.cancel
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch

/** A notification, and a process that the system lets live, while an answer or a download runs. */
class WorkService : Service() {
    private val scope = CoroutineScope(SupervisorJob() + Views)

    override fun onBind(intent: Intent?): IBinder? = null

    override fun onStartCommand(intent: Intent?, flags: Int, startId: Int): Int {
        startForeground(NOTIFICATION, notification(this))
        if (!isRunning) {
            isRunning = true
            scope.launch {
                do delay(LOOK_MS) while ((application as ChatApp).isWorking)
                stopSelf()
            }
        }
        return START_NOT_STICKY
    }

    override fun onDestroy() {
        isRunning = false
        scope.cancel()
        (application as ChatApp).pauseIfHidden()
        super.onDestroy()
    }

    /**
     * Android 15 and later call it when the service has run for six hours of a day: it must end at
     * once, or the app is ended. It is no `override`: the framework that this face is compiled
     * against is older. Downloads go on in their job, which has no such limit.
     */
    @Suppress("unused", "UNUSED_PARAMETER")
    fun onTimeout(startId: Int, fgsType: Int) = stopSelf()

    companion object {
        @Volatile
        var isRunning = false
            private set

        private const val CHANNEL = "work"
        const val NOTIFICATION = 1
        private const val LOOK_MS = 1000L
        private const val IMMUTABLE = 0x04000000 // PendingIntent.FLAG_IMMUTABLE

        /** Says that work goes on; a touch opens the models. */
        fun notification(context: Context): Notification {
            val manager = context.getSystemService(Context.NOTIFICATION_SERVICE) as NotificationManager
            Api26.makeChannel(manager, CHANNEL, context.getString(R.string.app_name))
            val open = PendingIntent.getActivity(context, 0, Intent(context, ModelsActivity::class.java), IMMUTABLE)
            val builder = Notification.Builder(context)
                .setSmallIcon(R.drawable.notice)
                .setContentTitle(context.getString(R.string.working))
                .setContentIntent(open)
                .setOngoing(true)
            Api26.setChannel(builder, CHANNEL)
            return builder.build()
        }

        /** Call it when work begins; the service ends by itself. */
        fun follow(context: Context) = Api26.startForegroundService(context, Intent(context, WorkService::class.java))
    }
}

/** Calls of Android 8, by their names: the framework that this face is compiled against is older. */
internal object Api26 {
    private const val IMPORTANCE_LOW = 2

    fun makeChannel(manager: NotificationManager, id: String, name: String) {
        val type = Class.forName("android.app.NotificationChannel")
        val make = type.getConstructor(String::class.java, CharSequence::class.java, Int::class.javaPrimitiveType)
        val channel = make.newInstance(id, name, IMPORTANCE_LOW)
        NotificationManager::class.java.getMethod("createNotificationChannel", type).invoke(manager, channel)
    }

    fun setChannel(builder: Notification.Builder, id: String) {
        Notification.Builder::class.java.getMethod("setChannelId", String::class.java).invoke(builder, id)
    }

    fun startForegroundService(context: Context, intent: Intent) {
        Context::class.java.getMethod("startForegroundService", Intent::class.java).invoke(context, intent)
    }
}
