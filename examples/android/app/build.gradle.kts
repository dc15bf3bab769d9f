plugins {
    alias(libs.plugins.android.application)
    alias(libs.plugins.compose)
}

android {
    namespace = "dev.stepwell.example"
    compileSdk = 36

    defaultConfig {
        applicationId = "dev.stepwell.example.chat"
        minSdk = 26
        targetSdk = 36
        versionCode = 1
        versionName = "1.0"
        // The agent to talk to: `stepwell serve` on the machine that runs the emulator, unless -Pagent=URL says another.
        val agent = providers.gradleProperty("agent").getOrElse("http://10.0.2.2:8000/agent")
        buildConfigField("String", "AGENT", "\"$agent\"")
    }

    buildTypes {
        release {
            isMinifyEnabled = true
            proguardFiles(getDefaultProguardFile("proguard-android-optimize.txt"))
            signingConfig = signingConfigs.getByName("debug")
        }
    }

    // What needs no Android lies apart, and is tested on the JVM by `cargo xtask test kotlin`.
    sourceSets.getByName("main") {
        kotlin.directories += rootDir.resolve("chat/src/main/kotlin").path
    }

    buildFeatures {
        buildConfig = true
        compose = true
    }

    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_17
        targetCompatibility = JavaVersion.VERSION_17
    }
}

dependencies {
    implementation("dev.stepwell:stepwell-android")
    implementation(platform(libs.compose.bom))
    implementation(libs.activity.compose)
    implementation(libs.compose.material3)
    implementation(libs.lifecycle.process)
    implementation(libs.lifecycle.runtime)
    implementation(libs.lifecycle.viewmodel)
    implementation(libs.okhttp)
}
