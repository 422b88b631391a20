package ai.mlc.mlcllm

import java.util.concurrent.CompletableFuture
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.future.future
import kotlinx.coroutines.isActive
import kotlinx.coroutines.withContext
import kotlinx.serialization.KSerializer
import kotlinx.serialization.builtins.ListSerializer
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject

/** Gets the progress of a load: from 0.0 to 1.0, and the current stage. */
fun interface LoadProgress {
    fun onProgress(fraction: Double, what: String)
}

/**
 * An engine with one model at a time. Any thread may call it. Call [close] at the end.
 *
 *     val engine = MLCEngine()
 *     engine.load("/data/SmolLM2-135M-Instruct-MLC", "/data/SmolLM2.so")
 *     engine.chat.completions.stream(listOf(ChatCompletionMessage(ChatCompletionRole.user, "Hi")))
 *         .collect { print(it.choices.firstOrNull()?.delta?.content.orEmpty()) }
 *
 * All errors are [MLCException].
 */
class MLCEngine @JvmOverloads constructor(
    config: EngineConfig = EngineConfig(),
    library: NativeLibrary = NativeLibrary.default(),
) : Calls(),
    AutoCloseable {
    private val engine: NativeEngine
    internal val requests: Requests

    /** `engine.chat.completions`. */
    @get:JvmName("chat")
    val chat: Chat

    /** `engine.completions`: continues a raw text, without a chat template. */
    @get:JvmName("completions")
    val completions: Completions

    /** `engine.embeddings`: a vector for each text. */
    @get:JvmName("embeddings")
    val embeddings: Embeddings

    /** `engine.rerank`: how well each of some documents answers a query. */
    @get:JvmName("rerank")
    val rerank: Rerank

    init {
        LoadedLibrary.ensure(library)
        engine = NativeEngine(encode(EngineConfig.serializer(), config))
        requests = Requests(engine)
        chat = Chat(requests)
        completions = Completions(requests)
        embeddings = Embeddings(requests)
        rerank = Rerank(requests)
    }

    /**
     * Loads a model folder (with `mlc-chat-config.json`) and its compiled library; replaces a loaded
     * model. `device` is such as `cuda:0`, or `auto`; `name` is the model's name in answers.
     * Cancelling the coroutine ends the load.
     */
    suspend fun load(
        model: String,
        modelLib: String? = null,
        device: String = "auto",
        name: String? = null,
        progress: LoadProgress? = null,
    ): Unit = withContext(Dispatchers.IO) {
        try {
            load(ModelLoadRequest(model, modelLib, device, name)) { fraction, what ->
                progress?.onProgress(fraction, what.decodeToString())
                isActive
            }
        } catch (error: MLCException) {
            ensureActive() // a load that was cancelled throws the cancellation
            throw error
        }
    }

    /** [load] for Java. Cancelling the future ends the load. */
    @JvmOverloads
    fun loadAsync(
        model: String,
        modelLib: String? = null,
        device: String = "auto",
        progress: LoadProgress? = null,
    ): CompletableFuture<Void?> = CoroutineScope(Dispatchers.Default).future {
        load(model, modelLib, device, progress = progress)
        null
    }

    /** The memory that loading would need, and whether it fits; loads nothing. */
    suspend fun plan(model: String, modelLib: String? = null, device: String = "auto"): Plan {
        val json = encode(ModelLoadRequest.serializer(), ModelLoadRequest(model, modelLib, device))
        val plan = withContext(Dispatchers.IO) { engine.call { NativeBridge.plan(it, json) } }
        return decode(Plan.serializer(), plan)
    }

    /** [load] as MLC-LLM has it: the calling thread waits. */
    fun reload(modelPath: String, modelLib: String): Unit =
        load(ModelLoadRequest(modelPath, modelLib, "auto", null)) { _, _ -> true }

    /** Ends every request with an error and frees the model's memory; waits until that is done. */
    fun unload(): Unit = requests.quiet.endedBy { engine.call(NativeBridge::unload) }

    /** Ends every request with an error and clears metrics and caches; the model stays loaded. */
    fun reset(): Unit = requests.quiet.endedBy { engine.call(NativeBridge::reset) }

    /** Counters, under the names of MLC-LLM's `/metrics`. */
    fun metrics(): EngineMetrics =
        decode(EngineMetrics.serializer(), engine.call(NativeBridge::metrics))

    /** Starts no step until [resume]; requests wait. For an app that goes to the background. */
    fun pause(): Unit = engine.call(NativeBridge::pause)

    fun resume(): Unit = engine.call(NativeBridge::resume)

    /** Frees memory that can be filled again: caches, spare buffers. */
    fun trimMemory(): Unit = engine.call(NativeBridge::trimMemory)

    /** Gives memory back; see [TrimLevel]. Running answers continue with the same tokens. */
    suspend fun trimMemory(level: TrimLevel): TrimResponse = memoryTrim(TrimRequest(level))

    /**
     * Reads the weights into memory and computes one step, so that the first request does not wait
     * for them.
     */
    suspend fun prewarm(): PrewarmResponse = prewarm(PrewarmRequest())

    /**
     * Lets requests choose a LoRA adapter by its name in `lora`, from a file of `mlc_llm
     * convert_adapter`. One of the same name is replaced; its requests go on with it. The model must
     * be loaded with room for it (`lora_ranks`).
     */
    suspend fun loadAdapter(name: String, path: String): AdapterList =
        adaptersLoad(AdapterLoadRequest(name, path))

    /** Takes an adapter from new requests; its running requests go on with it. */
    suspend fun unloadAdapter(name: String): AdapterList =
        adaptersUnload(AdapterUnloadRequest(name))

    /** The adapters that requests may choose, and how much room is left. */
    suspend fun adapters(): AdapterList = adaptersList(AdapterListRequest())

    /**
     * Lowers the threads and the requests at a time on a hot device, or sets them back. Answers
     * stay the same. Returns the limits that hold now.
     */
    suspend fun setThermalState(state: ThermalState): ThermalLimits = thermalSet(ThermalHint(state))

    /** Calls any route of the core by its name, such as `tokenize`; JSON in, JSON out. */
    suspend fun call(route: String, body: JsonObject): JsonElement =
        call(route, body, JsonObject.serializer(), JsonElement.serializer())

    internal override suspend fun <Q, A> call(
        route: String,
        request: Q,
        requestSerializer: KSerializer<Q>,
        answerSerializer: KSerializer<A>,
    ): A = decode(answerSerializer, requests.result(route, encode(requestSerializer, request)))

    /** Ends every request with an error and frees everything. Closing again has no effect. */
    override fun close(): Unit = engine.close()

    private fun load(model: ModelLoadRequest, progress: NativeProgress) {
        val json = encode(ModelLoadRequest.serializer(), model)
        requests.quiet.endedBy {
            engine.call { handle ->
                NativeBridge.load(handle, json) { fraction, what ->
                    progress.onProgress(fraction, what) && !engine.isClosed
                }
            }
        }
    }

    companion object {
        /**
         * Sets the folders that the engines of this process may use, before the first load.
         * `cache` is for files that are kept; an app gives `context.cacheDir.path`. `temporary` is
         * for files that are removed again; null is `cache`. `libraries` is where model libraries
         * and device backends also are.
         */
        @JvmStatic
        @JvmOverloads
        fun setDirectories(
            cache: String? = null,
            temporary: String? = null,
            libraries: List<String>? = null,
            library: NativeLibrary = NativeLibrary.default(),
        ) {
            LoadedLibrary.ensure(library)
            val folders = Directories(cache, temporary, libraries)
            NativeBridge.setDirectories(encode(Directories.serializer(), folders))
        }

        /** The devices that this build supports, and which of them this machine has. */
        @JvmStatic
        @JvmOverloads
        fun devices(library: NativeLibrary = NativeLibrary.default()): List<DeviceProbe> {
            LoadedLibrary.ensure(library)
            return decode(ListSerializer(DeviceProbe.serializer()), NativeBridge.devices())
        }
    }
}

/** `engine.chat`. */
class Chat internal constructor(requests: Requests) {
    @get:JvmName("completions")
    val completions: ChatCompletions = ChatCompletions(requests)
}
