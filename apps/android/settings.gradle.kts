// The app for users with Gradle and Android Studio. Never run in this repository, which has no Android
// SDK: `./dev app android` builds the same sources.
//
//     ./dev build android && ./dev build jvm
//     cd apps/android && gradle :app:assembleDebug
pluginManagement {
    repositories {
        google()
        mavenCentral()
        gradlePluginPortal()
    }
}
dependencyResolutionManagement {
    repositories {
        google()
        mavenCentral()
        // The engine: what `./dev build android` and `./dev build jvm` made.
        maven { url = uri("../../build/runtimes/android/maven") }
        maven { url = uri("../../build/runtimes/jvm/maven") }
    }
}
rootProject.name = "mlc_chat"
include(":chatkit", ":app")
