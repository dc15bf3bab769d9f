// The sources are those of bindings/kotlin: what is here is how they are packed for Android.
plugins {
    alias(libs.plugins.android.library)
    alias(libs.plugins.kotlin.serialization)
    `maven-publish`
}

group = "dev.stepwell"
version = providers.gradleProperty("stepwell.version").get()

val kotlinBindings = rootDir.resolve("../kotlin/src")

android {
    namespace = "dev.stepwell"
    compileSdk = 36

    defaultConfig {
        minSdk = 26
        consumerProguardFiles("consumer-rules.pro")
        ndk {
            // What build-natives.sh builds, and JNA has its own library for.
            abiFilters += listOf("arm64-v8a", "armeabi-v7a", "x86_64")
        }
    }

    sourceSets.getByName("main") {
        kotlin.directories += kotlinBindings.resolve("main/kotlin").path
        // By `cargo xtask bindings kotlin`.
        kotlin.directories += kotlinBindings.resolve("generated/kotlin").path
        // By build-natives.sh.
        jniLibs.directories += projectDir.resolve("src/main/jniLibs").path
    }

    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_17
        targetCompatibility = JavaVersion.VERSION_17
    }

    publishing {
        singleVariant("release") {
            withSourcesJar()
        }
    }
}

dependencies {
    api(libs.coroutines)
    api(libs.serialization.json)
    // For apps that bring it along: `OkHttpTransport`.
    compileOnly(libs.okhttp)
    // The AAR has JNA's own native library for each ABI; the plain jar has none for Android.
    implementation(libs.jna) { artifact { type = "aar" } }
}

publishing {
    publications {
        register<MavenPublication>("release") {
            artifactId = "stepwell-android"
            afterEvaluate { from(components["release"]) }
            pom {
                name = "Stepwell for Android"
                description = "The loop between a user, a language model and tools on the user's own device, for Android."
                url = "https://github.com/stepwell/stepwell"
                licenses {
                    license {
                        name = "MIT"
                        url = "https://opensource.org/license/mit"
                    }
                    license {
                        name = "Apache-2.0"
                        url = "https://www.apache.org/licenses/LICENSE-2.0"
                    }
                }
            }
        }
    }
    repositories {
        maven {
            name = "package"
            url = uri(rootDir.resolve("../../target/package/android"))
        }
    }
}
