package ai.mlc.mlcllm

import org.junit.Assert.assertEquals
import org.junit.Assert.assertNull
import org.junit.Test

/** Which folder of the jar a system's libraries are in. tests/bindings/test_jvm_jar.py loads them. */
class BundledLibraryTest {
    @Test
    fun everySystemHasOneFolder() {
        val folders = mapOf(
            ("Linux" to "amd64") to "linux-x86_64",
            ("Linux" to "aarch64") to "linux-aarch64",
            ("Mac OS X" to "aarch64") to "macos-aarch64",
            ("Mac OS X" to "x86_64") to "macos-x86_64",
            ("Windows 11" to "amd64") to "windows-x86_64",
            ("FreeBSD" to "riscv64") to "freebsd-riscv64",
        )
        for ((system, folder) in folders) {
            assertEquals(folder, BundledLibrary.folderOf(system.first, system.second))
        }
    }

    @Test
    fun withoutTheJarThereIsNone() {
        assertNull(BundledLibrary.find("Linux", "pdp11"))
    }
}
