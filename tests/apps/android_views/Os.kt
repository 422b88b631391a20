package android.os

import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.TimeUnit

class Bundle {
    private val texts = mutableMapOf<String, String>()

    fun getString(name: String): String? = texts[name]

    fun putString(name: String, value: String) {
        texts[name] = value
    }
}

interface IBinder

/** The thread of the test is the thread of the views. */
class Looper private constructor(private val thread: Thread) {
    companion object {
        private val main = Looper(Thread.currentThread())
        private val work = LinkedBlockingQueue<() -> Unit>()

        fun getMainLooper(): Looper = main

        fun myLooper(): Looper? = main.takeIf { it.thread == Thread.currentThread() }

        fun add(act: () -> Unit) {
            work += act
        }

        /** Does what was posted, until this holds. */
        fun runUntil(holds: () -> Boolean) {
            val end = System.nanoTime() + TimeUnit.MINUTES.toNanos(1)
            while (true) {
                val act = work.poll(10, TimeUnit.MILLISECONDS)
                if (act != null) act() else if (holds()) return
                check(System.nanoTime() < end) { "it did not come to this within a minute" }
            }
        }
    }
}

class Handler(@Suppress("UNUSED_PARAMETER") looper: Looper) {
    fun post(act: Runnable) = Looper.add(act::run)
}

object Build {
    object VERSION {
        var SDK_INT = 36
    }
}
