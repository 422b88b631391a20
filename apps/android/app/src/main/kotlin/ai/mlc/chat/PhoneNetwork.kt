package ai.mlc.chat

import android.content.Context
import android.content.pm.PackageManager
import android.net.ConnectivityManager
import android.os.Build

/** The network that a download would use. */
object PhoneNetwork {
    /** Whether the user may pay by volume. */
    fun isMetered(context: Context): Boolean =
        (context.getSystemService(Context.CONNECTIVITY_SERVICE) as ConnectivityManager).isActiveNetworkMetered
}

/** Since Android 13 an app asks before it shows notifications. */
object Notifications {
    const val PERMISSION = "android.permission.POST_NOTIFICATIONS"
    private const val ANDROID_13 = 33

    fun mustAsk(context: Context): Boolean = Build.VERSION.SDK_INT >= ANDROID_13 &&
        context.checkSelfPermission(PERMISSION) != PackageManager.PERMISSION_GRANTED
}
