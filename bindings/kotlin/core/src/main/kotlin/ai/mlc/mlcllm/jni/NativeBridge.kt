package ai.mlc.mlcllm

/** Takes the events of one request, on the engine's callback thread; must not block. */
internal interface NativeSink {
    /** `kind` as in `mlc_event_kind`; `json` is null when there was no memory for it. */
    fun onEvent(kind: Int, json: ByteArray?)
}

/** Takes the progress of a load, on the thread that loads. False ends the load. */
internal fun interface NativeProgress {
    fun onProgress(fraction: Double, what: ByteArray): Boolean
}

/**
 * The functions of `mlc_llm.h` (see there), implemented in `cpp/mlc_llm_jni.cc`. Text is UTF-8 in
 * byte arrays, because Java's `modified UTF-8` is not UTF-8. Each throws an [MLCException] for a
 * status.
 */
internal object NativeBridge {
    const val CHUNK = 0
    const val RESULT = 1
    const val DONE = 2
    const val ERROR = 3

    /** Loads `libmlc_llm` from a path, or by its name. Returns null, or the error. */
    @JvmStatic external fun open(path: ByteArray): ByteArray?

    /** Null, or what is wrong with the version of `libmlc_llm`. */
    @JvmStatic external fun mismatch(): String?

    @JvmStatic external fun schemaHash(): String

    @JvmStatic external fun version(): String

    @JvmStatic external fun devices(): ByteArray

    @JvmStatic external fun setDirectories(directories: ByteArray)

    @JvmStatic external fun create(config: ByteArray): Long

    @JvmStatic external fun load(engine: Long, model: ByteArray, progress: NativeProgress)

    @JvmStatic external fun plan(engine: Long, model: ByteArray): ByteArray

    @JvmStatic external fun unload(engine: Long)

    @JvmStatic external fun destroy(engine: Long)

    @JvmStatic
    external fun submit(engine: Long, route: ByteArray, body: ByteArray, sink: NativeSink): Long

    @JvmStatic external fun abort(engine: Long, request: Long)

    @JvmStatic external fun reset(engine: Long)

    @JvmStatic external fun metrics(engine: Long): ByteArray

    @JvmStatic external fun pause(engine: Long)

    @JvmStatic external fun resume(engine: Long)

    @JvmStatic external fun trimMemory(engine: Long)

    /** Called by the native code to make the exceptions that it throws. */
    @JvmStatic
    fun failure(errorJson: ByteArray): Throwable = try {
        MLCException.ofJson(errorJson)
    } catch (error: MLCException) {
        error
    }
}
