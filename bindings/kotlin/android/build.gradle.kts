// mlc_llm.aar: the sources of `core`, its JNI library built by the NDK, and `libmlc_llm.so` of
// src/main/jniLibs/<abi>, as `mlc_llm package` lays it there.
plugins {
    id("com.android.library") version "8.7.3"
    kotlin("android") version "2.2.20"
    kotlin("plugin.serialization") version "2.2.20"
}

android {
    namespace = "ai.mlc.mlcllm"
    compileSdk = 35
    defaultConfig {
        minSdk = 26
        consumerProguardFiles("consumer-rules.pro")
        ndk { abiFilters += listOf("arm64-v8a", "x86_64") }
    }
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_17
        targetCompatibility = JavaVersion.VERSION_17
    }
    kotlinOptions { jvmTarget = "17" }
    sourceSets["main"].java.srcDirs("../core/src/main/kotlin")
    externalNativeBuild { cmake { path = file("../core/src/main/cpp/CMakeLists.txt") } }
}

dependencies {
    api("org.jetbrains.kotlinx:kotlinx-coroutines-android:1.10.2")
    api("org.jetbrains.kotlinx:kotlinx-serialization-json:1.9.0")
}
