#!/bin/sh
# Builds the native library for Android's ABIs into stepwell/src/main/jniLibs, and the Kotlin sources that call it.
# Needs the Android NDK (ANDROID_NDK_HOME; r28 or later, which aligns libraries for pages of 16 KiB), cargo-ndk
# (cargo install cargo-ndk) and rustup.
set -eu

cd "$(dirname "$0")/../.."
rustup target add aarch64-linux-android armv7-linux-androideabi x86_64-linux-android
cargo ndk --platform 26 --target arm64-v8a --target armeabi-v7a --target x86_64 \
    --output-dir bindings/android/stepwell/src/main/jniLibs \
    build --profile shipped --package stepwell-ffi --lib

# The profile keeps the symbols for the generators; the copies need none.
strip=$(find "$ANDROID_NDK_HOME/toolchains/llvm/prebuilt" -name llvm-strip | head -n 1)
for library in bindings/android/stepwell/src/main/jniLibs/*/libstepwell_ffi.so; do
    "$strip" --strip-unneeded "$library"
    ls -l "$library"
done

cargo xtask bindings kotlin
