pluginManagement {
    repositories {
        google()
        mavenCentral()
        gradlePluginPortal()
    }
}

dependencyResolutionManagement {
    repositoriesMode = RepositoriesMode.FAIL_ON_PROJECT_REPOS
    repositories {
        google()
        mavenCentral()
    }
    versionCatalogs {
        create("libs") { from(files("../../bindings/android/gradle/libs.versions.toml")) }
    }
}

rootProject.name = "stepwell-chat"
include(":app")

// Stepwell from this repository; an app of your own takes `dev.stepwell:stepwell-android` from Maven.
includeBuild("../../bindings/android") {
    dependencySubstitution {
        substitute(module("dev.stepwell:stepwell-android")).using(project(":stepwell"))
    }
}
