package ai.mlc.chatkit.engine

import ai.mlc.chatkit.MemoryDecision
import ai.mlc.chatkit.MemoryNeed
import ai.mlc.chatkit.memoryDecision
import ai.mlc.mlcllm.CorruptFileException
import ai.mlc.mlcllm.EngineConfig
import ai.mlc.mlcllm.EngineMode
import ai.mlc.mlcllm.InputModality
import ai.mlc.mlcllm.MLCEngine
import ai.mlc.mlcllm.MLCException
import ai.mlc.mlcllm.Plan
import java.io.File
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.StateFlow
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock

/** What is known of the loaded model. */
sealed interface RunnerState {
    object Empty : RunnerState

    data class Loading(val modelId: String, val fraction: Double, val stage: String) : RunnerState

    data class Ready(val modelId: String, val plan: Plan) : RunnerState

    /** It was not loaded: too little memory. */
    data class NoMemory(val modelId: String, val decision: MemoryDecision) : RunnerState

    /** `isDamaged`: a file of the model's folder is not as it should be. */
    data class Failed(val modelId: String, val message: String, val isDamaged: Boolean = false) : RunnerState

    /** Memory was short, so the model went. */
    data class Unloaded(val modelId: String) : RunnerState
}

/** A model to load. `library` is a path or the bare name of the app's config. */
data class LoadTarget(
    val modelId: String,
    val folder: File,
    val library: String,
    val device: String = "auto",
    /** A smaller context, such as the one that was offered. */
    val contextTokens: Long? = null,
)

/**
 * One engine with one model: loads it if its plan fits, frees memory, pauses. Any thread may call it.
 * `configure` changes the engine's settings before each load.
 */
class ModelRunner(
    private val nowMs: () -> Long = { System.nanoTime() / 1_000_000 },
    private val configure: (EngineConfig) -> EngineConfig = { it },
) {
    private val lock = Mutex()
    private val state = MutableStateFlow<RunnerState>(RunnerState.Empty)
    private val pressure = MemoryPressure()

    @Volatile
    var engine: MLCEngine? = null
        private set

    val states: StateFlow<RunnerState> get() = state

    /** The model for chats; null while none is ready. */
    val loaded: LoadedModel?
        get() {
            val ready = state.value as? RunnerState.Ready ?: return null
            val contextTokens = minOf(ready.plan.context_window_size, ready.plan.max_total_seq_length)
            val takesPictures = InputModality.image in ready.plan.input_modalities
            return engine?.let { LoadedModel(it, ready.modelId, contextTokens, ready.plan.device, takesPictures) }
        }

    /** Returns whether the model is ready; else [states] says why not. Cancelling ends the load. */
    suspend fun load(target: LoadTarget): Boolean = lock.withLock {
        close()
        val id = target.modelId
        state.value = RunnerState.Loading(id, 0.0, "")
        try {
            loadNew(target)
        } catch (error: MLCException) {
            close()
            val isDamaged = error is CorruptFileException && error.param != "model_lib"
            state.value = RunnerState.Failed(id, error.message, isDamaged)
        } catch (error: CancellationException) {
            close()
            throw error
        }
        state.value is RunnerState.Ready
    }

    suspend fun unload(): Unit = lock.withLock { close() }

    /** The app is in the background: no step is computed. */
    fun pause() {
        engine?.pause()
    }

    fun resume() {
        engine?.resume()
    }

    /** The system wants memory: at first what no running answer uses goes, then the model. Returns what was done. */
    suspend fun onMemoryWarning(): MemoryStep = ofReady { MemorySign.WARNING }

    /** A level of Android's `onTrimMemory`; `isLow`: what `MemoryInfo.lowMemory` says at that moment. */
    suspend fun onTrimMemory(level: Int, isLow: Boolean = false): MemoryStep = ofReady { signOf(level, isLow) }

    /** What `MemoryInfo.lowMemory` says now. An app that looks every few seconds learns when memory becomes short. */
    suspend fun onMemoryLook(isLow: Boolean): MemoryStep = ofReady { signOf(isLow) }

    /** A sign counts only for the model that was ready when it came. */
    private suspend fun ofReady(sign: MemoryPressure.() -> MemorySign): MemoryStep {
        val model = state.value as? RunnerState.Ready ?: return MemoryStep.NOTHING
        return lock.withLock { if (state.value === model) act(pressure.sign()) else MemoryStep.NOTHING }
    }

    private suspend fun act(sign: MemorySign): MemoryStep {
        val step = pressure.next(sign, nowMs())
        val id = loaded?.id.orEmpty()
        try {
            step.level?.let { engine?.trimMemory(it) }
        } catch (error: MLCException) { // of an engine that has failed
            close()
            state.value = RunnerState.Failed(id, error.message)
        }
        if (step == MemoryStep.UNLOAD) {
            close()
            state.value = RunnerState.Unloaded(id)
        }
        return step
    }

    private suspend fun loadNew(target: LoadTarget) {
        val wanted = EngineConfig(mode = EngineMode.interactive, context_window_size = target.contextTokens)
        val config = configure(wanted)
        val made = MLCEngine(config)
        engine = made
        val folder = target.folder.path
        val plan = made.plan(folder, target.library, target.device)
        val decision = memoryDecision(needOf(plan, config.memory_limit_bytes))
        if (decision != MemoryDecision.Load) {
            close()
            state.value = RunnerState.NoMemory(target.modelId, decision)
            return
        }
        made.load(folder, target.library, target.device, target.modelId) { fraction, stage ->
            state.value = RunnerState.Loading(target.modelId, fraction, stage)
        }
        pressure.loaded()
        state.value = RunnerState.Ready(target.modelId, plan)
    }

    private fun close() {
        pressure.unloaded()
        engine?.close()
        engine = null
        state.value = RunnerState.Empty
    }

    private fun needOf(plan: Plan, limitBytes: Long?) = MemoryNeed(
        parameterBytes = plan.parameter_bytes,
        temporaryBytes = plan.temporary_bytes,
        totalBytes = plan.total_bytes,
        availableBytes = minOf(plan.available_bytes, limitBytes ?: Long.MAX_VALUE),
        kvBytesPerToken = plan.kv_bytes_per_token,
        contextTokens = plan.context_window_size,
        fits = plan.fits,
    )
}
