// The Gradle build for users: `core` for the JVM, `android` for an AAR. Not run by this repository's
// own tests, which build the same sources by build.py.
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
    }
}
rootProject.name = "mlc_llm"
include(":core", ":android")
