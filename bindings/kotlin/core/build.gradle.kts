// The binding for the JVM. `libmlc_llm` and `libmlc_llm_jni` are not part of the jar: give their paths
// to MLCEngine.
plugins {
    kotlin("jvm") version "2.2.20"
    kotlin("plugin.serialization") version "2.2.20"
    `java-library`
}

kotlin {
    jvmToolchain(17)
    compilerOptions { allWarningsAsErrors.set(true) }
}

dependencies {
    api("org.jetbrains.kotlinx:kotlinx-coroutines-core:1.10.2")
    api("org.jetbrains.kotlinx:kotlinx-serialization-json:1.9.0")
    testImplementation("junit:junit:4.13.2")
}

tasks.test {
    for (name in listOf("mlc_llm.jni", "mlc_llm.core")) {
        providers.gradleProperty(name).orNull?.let { systemProperty(name, it) }
    }
    systemProperty("mlc_llm.root", rootDir.resolve("../..").path)
    jvmArgs("-Xcheck:jni")
}
