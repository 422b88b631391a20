// An agent with tools: it answers a question about the files of a folder. You approve each call.
//
// AgentKt MODEL_FOLDER MODEL_LIBRARY FOLDER "What does the license say?"
import ai.mlc.mlcllm.*
import java.io.File
import kotlinx.serialization.Serializable

@Serializable
class Nothing

@Serializable
data class FileName(@Description("As list_files gives it.") val name: String)

suspend fun main(arguments: Array<String>) {
    val folder = File(arguments[2])
    val listFiles = Tool("list_files", "Lists the names of all files.") { _: Nothing ->
        folder.walk().filter { it.isFile }.map { it.relativeTo(folder).path }.sorted().take(100).joinToString("\n")
    }
    val readFile = Tool("read_file", "Reads the first lines of a file.") { file: FileName ->
        val path = folder.resolve(file.name)
        if (".." in file.name || !path.isFile) "There is no file ${file.name}."
        else path.readLines().take(40).joinToString("\n")
    }
    MLCEngine().use { engine ->
        engine.load(arguments[0], arguments[1])
        val request = ChatCompletionRequest(
            listOf(ChatCompletionMessage(ChatCompletionRole.user, arguments[3])),
            max_tokens = 400,
            temperature = 0.0,
            tool_choice = ToolChoiceMode.required, // of the first answer: a small model seldom calls by itself
            parallel_tool_calls = false,
        )
        val run = engine.chat.completions.runTools(
            listOf(listFiles, readFile),
            request,
            maxCalls = 6,
            approve = { call ->
                println("Call ${call.function.name}(${call.function.arguments})? [y/n]")
                readlnOrNull() == "y"
            },
        )
        println("${run.content} (${run.numCalls} calls)")
    }
}
