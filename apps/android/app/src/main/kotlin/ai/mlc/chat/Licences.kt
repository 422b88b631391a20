package ai.mlc.chat

/** What is inside the app, and under which licence. docs/apps-android.md has the same list. */
object Licences {
    private val PARTS = listOf(
        "mlc_llm, Apache TVM, xgrammar, DLPack" to "Apache 2.0",
        "nlohmann/json" to "MIT",
        "picojson (inside xgrammar)" to "BSD with two clauses",
        "Kotlin's standard library, kotlinx.coroutines, kotlinx.serialization" to "Apache 2.0",
        "libc++ and libunwind of LLVM (inside the engine)" to "Apache 2.0 with LLVM exceptions",
    )

    /** A line for each part. */
    val text = PARTS.joinToString("\n\n") { (part, licence) -> "$part: $licence" }
}
