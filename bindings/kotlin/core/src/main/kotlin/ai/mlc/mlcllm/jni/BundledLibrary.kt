package ai.mlc.mlcllm

import java.io.InputStream
import java.nio.file.Files
import java.nio.file.Path
import java.nio.file.StandardCopyOption
import java.util.Locale

/**
 * The native libraries inside the jar on the class path, as `mlcllm-jvm` has them: one folder for
 * each system, such as `ai/mlc/mlcllm/native/linux-x86_64`. A library is opened by its path, so they
 * are copied into a new temporary folder, which only this user can write and which goes when the
 * virtual machine ends.
 */
internal class BundledLibrary private constructor(private val folder: String) : NativeLibrary {
    private val copies: Path by lazy {
        val target = Files.createTempDirectory("mlc_llm")
        target.toFile().deleteOnExit()
        for (name in listed()) copy(name, target.resolve(name))
        target
    }

    override val core: String get() = copies.resolve(CORE).toString()

    override fun load() = System.load(copies.resolve(JNI).toString())

    /** The names in `libraries.txt`: the two libraries, and what they need. */
    private fun listed(): List<String> = open(LIST).use { it.reader().readLines() }

    private fun copy(name: String, target: Path) {
        open(name).use { Files.copy(it, target, StandardCopyOption.REPLACE_EXISTING) }
        target.toFile().deleteOnExit()
    }

    private fun open(name: String): InputStream = resource("$folder/$name")
        ?: throw UnsatisfiedLinkError("the jar has $folder but no $name in it")

    companion object {
        private const val LIST = "libraries.txt"
        private const val ROOT = "/ai/mlc/mlcllm/native"
        private val JNI = System.mapLibraryName("mlc_llm_jni")
        private val CORE = System.mapLibraryName("mlc_llm")

        /** Null when no jar on the class path has libraries for this system. */
        fun find(
            system: String = System.getProperty("os.name"),
            machine: String = System.getProperty("os.arch"),
        ): BundledLibrary? {
            val folder = "$ROOT/${folderOf(system, machine)}"
            return resource("$folder/$LIST")?.use { BundledLibrary(folder) }
        }

        /** `linux-x86_64`, `macos-aarch64`, `windows-x86_64`, ... */
        fun folderOf(system: String, machine: String): String {
            val name = system.lowercase(Locale.ROOT)
            val kind = when {
                name.startsWith("mac") -> "macos"
                name.startsWith("windows") -> "windows"
                else -> name.replace(' ', '_')
            }
            val processor = when (val word = machine.lowercase(Locale.ROOT)) {
                "amd64", "x86-64", "x64" -> "x86_64"
                "arm64" -> "aarch64"
                else -> word
            }
            return "$kind-$processor"
        }

        private fun resource(name: String): InputStream? =
            BundledLibrary::class.java.getResourceAsStream(name)
    }
}
