@file:Suppress("UNUSED_PARAMETER")

package android.app.job

import android.app.Application
import android.app.Notification
import android.content.ComponentName
import android.content.Context

class JobInfo private constructor(val id: Int, val service: Class<*>, val isUserInitiated: Boolean) {
    class Builder(private val id: Int, private val service: ComponentName) {
        private var isUserInitiated = false

        fun setRequiredNetworkType(type: Int) = this

        fun setUserInitiated(isUserInitiated: Boolean) = apply { this.isUserInitiated = isUserInitiated }

        fun build() = JobInfo(id, service.type, isUserInitiated)
    }

    companion object {
        const val NETWORK_TYPE_ANY = 1
    }
}

class JobParameters

object JobScheduler {
    val scheduled = mutableListOf<JobInfo>()

    fun schedule(job: JobInfo): Int {
        scheduled += job
        return 1
    }
}

abstract class JobService : Context() {
    val application: Application get() = Application.current
    val notified = mutableListOf<Int>()

    @Volatile
    var wantsMore: Boolean? = null // what the job said when it ended
        private set

    abstract fun onStartJob(parameters: JobParameters): Boolean

    abstract fun onStopJob(parameters: JobParameters): Boolean

    fun jobFinished(parameters: JobParameters, wantsReschedule: Boolean) {
        wantsMore = wantsReschedule
    }

    /** Since Android 14; the app calls it by its name. */
    fun setNotification(parameters: JobParameters, id: Int, notification: Notification, policy: Int) {
        notified += id
    }
}
