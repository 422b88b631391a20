// ChatKit for the JVM and Android. Never run here: devtools/apk compiles the same sources.
plugins {
    kotlin("jvm") version "2.2.20"
    kotlin("plugin.serialization") version "2.2.20"
    `java-library`
}

kotlin {
    compilerOptions { jvmTarget = org.jetbrains.kotlin.gradle.dsl.JvmTarget.JVM_17 }
}

dependencies {
    // The classes of the engine: the app brings the AAR with the libraries, tests the jar.
    compileOnly("ai.mlc:mlcllm-jvm:0.1.0")
    api("org.jetbrains.kotlinx:kotlinx-coroutines-core:1.10.2")
    api("org.jetbrains.kotlinx:kotlinx-serialization-json:1.9.0")
    testImplementation("ai.mlc:mlcllm-jvm:0.1.0")
    testImplementation("junit:junit:4.13.2")
}

tasks.test { systemProperty("mlc_llm.root", rootDir.resolve("../..").path) }
