package android.content

import android.content.res.Resources
import android.net.Uri
import java.io.File
import java.io.InputStream
import java.io.OutputStream
import java.nio.file.Files
import java.nio.file.StandardOpenOption.CREATE
import java.nio.file.StandardOpenOption.WRITE
import standin.Device

/** Stand-ins for Android's classes: what the app calls, with no more behind it than a picture needs. */
open class Context {
    lateinit var device: Device
    lateinit var folder: File
    val cacheDir: File get() = File(folder, "cache").apply { mkdirs() }
    val filesDir: File get() = File(folder, "files").apply { mkdirs() }
    val assets = Assets(this)
    val resources: Resources get() = Resources(device)

    fun getColor(id: Int): Int = device.colour(id)

    val contentResolver = ContentResolver()

    fun getExternalFilesDir(@Suppress("UNUSED_PARAMETER") type: String?): File? = filesDir

    fun getString(id: Int): String = device.text(id)

    fun getString(id: Int, vararg values: Any?): String = String.format(device.locale, device.text(id), *values)

    fun getSystemService(name: String): Any = when (name) {
        ACTIVITY_SERVICE -> android.app.ActivityManager()
        NOTIFICATION_SERVICE -> android.app.NotificationManager()
        JOB_SCHEDULER_SERVICE -> android.app.job.JobScheduler
        CONNECTIVITY_SERVICE -> android.net.ConnectivityManager
        else -> ClipboardManager
    }

    val applicationContext: Context get() = android.app.Application.current

    fun <T> getSystemService(type: Class<T>): T =
        type.cast(
            when (type) {
                ClipboardManager::class.java -> ClipboardManager
                android.app.ActivityManager::class.java -> android.app.ActivityManager()
                else -> android.app.NotificationManager()
            },
        )

    fun startForegroundService(intent: Intent) = startActivity(intent)

    fun startActivity(intent: Intent) {
        started += intent
    }

    val started = mutableListOf<Intent>()

    fun checkSelfPermission(@Suppress("UNUSED_PARAMETER") name: String): Int =
        if (name in granted) android.content.pm.PackageManager.PERMISSION_GRANTED else -1

    val granted = mutableSetOf<String>()

    companion object {
        const val ACTIVITY_SERVICE = "activity"
        const val CONNECTIVITY_SERVICE = "connectivity"
        const val JOB_SCHEDULER_SERVICE = "jobscheduler"
        const val CLIPBOARD_SERVICE = "clipboard"
        const val NOTIFICATION_SERVICE = "notification"
    }
}

class ContentResolver {
    fun openInputStream(place: Uri): InputStream? = File(place.path).inputStream()

    /** As of Android 10, "w" leaves what a longer file had behind the new end. */
    fun openOutputStream(place: Uri, mode: String = "w"): OutputStream? = when (mode) {
        "wt" -> File(place.path).outputStream()
        else -> Files.newOutputStream(File(place.path).toPath(), CREATE, WRITE)
    }
}

class Assets(private val context: Context) {
    fun open(name: String): InputStream = File(context.folder, name).inputStream()
}

class ComponentName(@Suppress("UNUSED_PARAMETER") context: Context, val type: Class<*>)

class Intent(val action: String) {
    private val extras = mutableMapOf<String, String?>()
    var data: Uri? = null
    var type = ""
        private set
    var target: Class<*>? = null
        private set

    constructor(@Suppress("UNUSED_PARAMETER") context: Context, target: Class<*>) : this("") {
        this.target = target
    }

    fun setType(type: String) = apply { this.type = type }

    fun addCategory(@Suppress("UNUSED_PARAMETER") category: String) = this

    fun putExtra(name: String, value: String?) = apply { extras[name] = value }

    fun getStringExtra(name: String): String? = extras[name]

    companion object {
        const val ACTION_CREATE_DOCUMENT = "create"
        const val ACTION_OPEN_DOCUMENT = "open"
        const val CATEGORY_OPENABLE = "openable"
        const val EXTRA_TITLE = "title"
    }
}

class ClipData(val words: String) {
    companion object {
        fun newPlainText(@Suppress("UNUSED_PARAMETER") label: String, words: String) = ClipData(words)
    }
}

object ClipboardManager {
    var copied = ""
        private set

    fun setPrimaryClip(clip: ClipData) {
        copied = clip.words
    }
}
