// The app by Gradle. Never built so in this repository: devtools/apk compiles the same sources.
plugins {
    id("com.android.application") version "8.11.0"
    kotlin("android") version "2.2.20"
}

android {
    namespace = "ai.mlc.chat.app"
    compileSdk = 36
    defaultConfig {
        applicationId = "ai.mlc.chat.app"
        minSdk = 26
        targetSdk = 36
        versionCode = 1
        versionName = "0.1.0"
        // An emulator on a computer is of x86_64: -Pmlc.abi=x86_64
        ndk { abiFilters += providers.gradleProperty("mlc.abi").getOrElse("arm64-v8a") }
    }
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_17
        targetCompatibility = JavaVersion.VERSION_17
    }
    kotlinOptions { jvmTarget = "17" }
    // Config and libraries of `mlc_llm package --output dist`: -Pmlc.package=dist
    providers.gradleProperty("mlc.package").orNull?.let { packaged ->
        sourceSets["main"].assets.setSrcDirs(listOf("$packaged/lib/mlc4j/src/main/assets"))
        sourceSets["main"].jniLibs.srcDirs("$packaged/lib/mlc4j/src/main/jniLibs")
    }
}

dependencies {
    implementation(project(":chatkit"))
    implementation("ai.mlc:mlcllm:0.1.0@aar")
}
