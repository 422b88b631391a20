package ai.mlc.chat

import android.app.Notification
import android.app.job.JobInfo
import android.app.job.JobParameters
import android.app.job.JobScheduler
import android.app.job.JobService
import android.content.ComponentName
import android.content.Context
import android.os.Build
import kotlinx.coroutines.Job
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch

/**
 * Keeps downloads alive over the end of the app: the system starts this job again when there is a network, and the
 * downloads that ran go on where they were. Since Android 14 it is the user's own transfer, which has no limit of time
 * ("User-initiated data transfers", developer.android.com).
 */
class DownloadJob : JobService() {
    private var watch: Job? = null
    private val app get() = application as ChatApp

    override fun onStartJob(parameters: JobParameters): Boolean {
        Api34.setNotification(this, parameters, WorkService.NOTIFICATION, WorkService.notification(this))
        app.library.continueInterrupted()
        watch = app.scope.launch {
            while (app.isDownloading) delay(LOOK_MS)
            jobFinished(parameters, false)
        }
        return true
    }

    /** Whether the system shall start it again: it stops a job whose network is gone, too. */
    override fun onStopJob(parameters: JobParameters): Boolean {
        watch?.cancel()
        return app.isDownloading
    }

    companion object {
        private const val JOB = 1
        private const val LOOK_MS = 1000L

        /** Call it where the user begins a download: a job of the user's may begin only while the app is visible. */
        fun follow(context: Context) {
            val job = JobInfo.Builder(JOB, ComponentName(context, DownloadJob::class.java))
                .setRequiredNetworkType(JobInfo.NETWORK_TYPE_ANY)
            Api34.setUserInitiated(job)
            (context.getSystemService(Context.JOB_SCHEDULER_SERVICE) as JobScheduler).schedule(job.build())
        }
    }
}

/** Calls of Android 14, by their names: the framework that this face is compiled against is older. */
internal object Api34 {
    private const val ANDROID_14 = 34
    private const val KEEP_NOTIFICATION = 0 // JOB_END_NOTIFICATION_POLICY_DETACH

    fun setUserInitiated(job: JobInfo.Builder) {
        if (Build.VERSION.SDK_INT < ANDROID_14) return
        JobInfo.Builder::class.java.getMethod("setUserInitiated", Boolean::class.javaPrimitiveType).invoke(job, true)
    }

    fun setNotification(service: JobService, parameters: JobParameters, id: Int, notification: Notification) {
        if (Build.VERSION.SDK_INT < ANDROID_14) return
        val number = Int::class.javaPrimitiveType
        JobService::class.java.getMethod(
            "setNotification", JobParameters::class.java, number, Notification::class.java, number,
        ).invoke(service, parameters, id, notification, KEEP_NOTIFICATION)
    }
}
