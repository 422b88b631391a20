package ai.mlc.mlcllm

import java.io.File

/**
 * How the native code comes into the process: `libmlc_llm_jni`, which loads the core `libmlc_llm`.
 * The first engine asks for it, once.
 */
interface NativeLibrary {
    /** Loads `libmlc_llm_jni`, by [System.load] or [System.loadLibrary]. */
    fun load()

    /** The core: a path, or a name that the system's loader finds. */
    val core: String get() = "libmlc_llm.so"

    companion object {
        /** The library in this file; the core in another, or beside it. */
        @JvmStatic
        @JvmOverloads
        fun atPath(jni: String, core: String? = null): NativeLibrary = object : NativeLibrary {
            override val core = core ?: super.core

            override fun load() = System.load(File(jni).absolutePath)
        }

        /** The library of this name, from `java.library.path` or among an app's own. */
        @JvmStatic
        @JvmOverloads
        fun named(name: String = "mlc_llm_jni"): NativeLibrary = object : NativeLibrary {
            override fun load() = System.loadLibrary(name)
        }

        /**
         * Where the system properties `mlc_llm.jni` and `mlc_llm.core` say; without them the
         * libraries inside the jar `mlcllm-jvm`, if it is on the class path; else [named].
         */
        @JvmStatic
        fun default(): NativeLibrary = System.getProperty("mlc_llm.jni")
            ?.let { atPath(it, System.getProperty("mlc_llm.core")) }
            ?: BundledLibrary.find() ?: named()
    }
}

/** The library, once loaded and found to be of this version. */
internal object LoadedLibrary {
    private var isLoaded = false

    @Synchronized
    fun ensure(library: NativeLibrary) {
        if (isLoaded) return
        val problem = try {
            library.load()
            NativeBridge.open(library.core.encodeToByteArray())?.decodeToString()
        } catch (error: UnsatisfiedLinkError) {
            error.message.orEmpty()
        }
        if (problem != null) {
            throw MLCReason.NOT_FOUND.exception(
                "the native library cannot be loaded: $problem; give MLCEngine a NativeLibrary " +
                    "that finds it, or set the system property mlc_llm.jni",
            )
        }
        val mismatch = NativeBridge.mismatch() ?: schemaMismatch(NativeBridge.schemaHash())
        if (mismatch != null) {
            throw MLCReason.VERSION_MISMATCH.exception("libmlc_llm is of another version: $mismatch")
        }
        isLoaded = true
    }

    private fun schemaMismatch(hash: String): String? =
        if (hash == SCHEMA_HASH) null else "its schema is $hash, this binding's $SCHEMA_HASH"
}
