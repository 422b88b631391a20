package ai.mlc.chatkit

import ai.mlc.chatkit.download.DownloadRules
import ai.mlc.chatkit.download.DownloadState
import ai.mlc.chatkit.download.ModelDownload
import java.io.File
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.StateFlow
import kotlinx.coroutines.sync.Semaphore
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject

/**
 * The models of the app: those of its config, and those that the user added, which are kept in
 * `root/models.json`. Downloads go to `root/<model_id>`, three files at a time in all.
 */
class ModelLibrary(
    configText: String,
    private val root: File,
    private val bundle: File,
    private val scope: CoroutineScope,
    private val rules: DownloadRules = DownloadRules(),
    private val hub: String = HubAddress.HUB,
) {
    /** `bad`: entries that are shown with what is wrong. `error`: why nothing of the config can be used. */
    data class Models(val models: List<ModelEntry>, val bad: List<BadEntry>, val error: String? = null)

    private val slots = Semaphore(rules.filesAtOnce)
    private val downloads = mutableMapOf<String, ModelDownload>()
    private val added = File(root, "models.json")
    private val builtIn = try {
        AppConfig.read(configText).run { Models(models, bad) }
    } catch (error: FieldException) {
        Models(emptyList(), emptyList(), error.message)
    }
    private val list = MutableStateFlow(withAdded())

    val models: StateFlow<Models> get() = list

    fun model(id: String): ModelEntry? = list.value.models.firstOrNull { it.modelId == id }

    /** The download of a model that has an address. */
    @Synchronized
    fun download(entry: ModelEntry): ModelDownload? {
        val url = entry.url ?: return null
        return downloads.getOrPut(entry.modelId) {
            ModelDownload(url, File(root, entry.modelId), rules, scope, slots)
        }
    }

    /** Goes on with what ran when the app ended. */
    fun continueInterrupted() {
        for (entry in list.value.models) {
            val download = download(entry) ?: continue
            if (download.wasInterrupted && download.states.value.state == DownloadState.PAUSED) download.start()
        }
    }

    /** Where the model's files are; null while it is not ready. */
    fun folder(entry: ModelEntry): File? {
        val path = entry.path ?: return download(entry)?.takeIf { it.states.value.state == DownloadState.READY }?.folder
        val folder = if (File(path).isAbsolute) File(path) else File(bundle, path)
        return folder.takeIf { File(it, ModelFiles.CONFIG).isFile }
    }

    /** Adds a repository as the user types it. Throws [FieldException]. */
    fun addRepository(text: String, modelLib: String): ModelEntry {
        val (url, id) = HubAddress.typed(text, hub)
        return add(ModelEntry(id, modelLib, url = url))
    }

    /** Adds a folder of this device, whose files are checked. Throws [FieldException]. */
    fun addFolder(folder: File, modelLib: String): ModelEntry {
        LocalFolder.require(folder)
        return add(ModelEntry(folder.name, modelLib, path = folder.absolutePath))
    }

    /** Removes a model's files; one that the user added also leaves the list. Its folder stays if it is the user's. */
    @Synchronized
    fun delete(entry: ModelEntry) {
        download(entry)?.delete()
        if (builtIn.models.any { it.modelId == entry.modelId }) return
        downloads.remove(entry.modelId)
        File(root, "${entry.modelId}.state").delete()
        write(list.value.models.filter { it != entry && it !in builtIn.models })
    }

    /** Removes all downloads and all models that the user added, while downloads run or not. */
    @Synchronized
    fun clear() {
        for (entry in list.value.models) delete(entry)
    }

    @Synchronized
    private fun add(entry: ModelEntry): ModelEntry {
        if (model(entry.modelId) != null) throw FieldException("model_id", "${entry.modelId} is in the list already")
        if (!isName(entry.modelId)) throw FieldException("model_id", NO_NAME)
        if (entry.modelLib.isEmpty()) throw FieldException("model_lib", "must be a text that is not empty")
        write(list.value.models.filter { it !in builtIn.models } + entry)
        return entry
    }

    private fun write(entries: List<ModelEntry>) {
        val whole = buildJsonObject { put("model_list", JsonArray(entries.map(::jsonOf))) }
        replaceText(added, pretty.encodeToString(JsonObject.serializer(), whole))
        list.value = withAdded()
    }

    private fun withAdded(): Models {
        if (!added.exists()) return builtIn
        val own = try {
            (lenient.parseToJsonElement(added.readText()) as JsonObject)["model_list"] as JsonArray
        } catch (error: Exception) { // a damaged file is as good as none
            return builtIn
        }
        val known = builtIn.models.map { it.modelId } // a later version of the app may bring a model of the user's
        return builtIn.copy(models = builtIn.models + own.mapNotNull(::entryOf).filter { it.modelId !in known })
    }

    private fun jsonOf(entry: ModelEntry): JsonElement = buildJsonObject {
        put("model_id", JsonPrimitive(entry.modelId))
        put("model_lib", JsonPrimitive(entry.modelLib))
        entry.path?.let { put("model_path", JsonPrimitive(it)) }
        entry.url?.let { put("model_url", JsonPrimitive(it)) }
    }

    private fun entryOf(element: JsonElement): ModelEntry? {
        val fields = element as? JsonObject ?: return null
        val id = fields["model_id"]?.text ?: return null
        val lib = fields["model_lib"]?.text ?: return null
        return ModelEntry(id, lib, fields["model_path"]?.text, fields["model_url"]?.text)
    }
}

/** A model in a folder that the user chose. */
internal object LocalFolder {
    /** Throws [FieldException] when a file is missing or has another size than the index says. */
    fun require(folder: File) {
        val config = read(folder, ModelFiles.CONFIG)
        val statuses = mutableMapOf<String, Int>()
        var search = ModelFiles.index(statuses)
        while (search.index == null) {
            val name = search.next ?: break
            statuses[name] = if (File(folder, name).isFile) 200 else 404
            search = ModelFiles.index(statuses)
        }
        val name = search.index.orEmpty()
        for (file in ModelFiles.list(config, name, read(folder, name))) {
            val found = File(folder, file.path)
            if (!found.isFile) throw FieldException(file.path, "is missing in ${folder.name}")
            if (file.bytes != null && found.length() != file.bytes) {
                throw FieldException(file.path, "has ${found.length()} bytes, the index says ${file.bytes}")
            }
        }
    }

    private fun read(folder: File, name: String): JsonObject = try {
        lenient.decodeFromString(JsonObject.serializer(), File(folder, name).readText())
    } catch (error: Exception) {
        throw FieldException(name, "cannot be read in ${folder.name}: choose a folder with a model in MLC's format")
    }
}
