#!/usr/bin/env bash
# Builds the library for Android's ABIs, into android/src/main/jniLibs. Needs rustup, cargo-ndk and an NDK
# (ANDROID_NDK_HOME).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
rustup target add aarch64-linux-android armv7-linux-androideabi x86_64-linux-android
# Pages of 16 KiB: newer devices load nothing else.
export RUSTFLAGS="${RUSTFLAGS:-} -C link-arg=-Wl,-z,max-page-size=16384 -C strip=symbols"
# Small: what is alike becomes functions, and functions that are alike become one. `cargo xtask package sizes` weighs it.
RUSTFLAGS+=" -C llvm-args=-enable-machine-outliner=always -C llvm-args=-outliner-benefit-threshold=12"
RUSTFLAGS+=" -C link-arg=-Wl,--icf=all"
cargo ndk --manifest-path ../c/Cargo.toml --platform 24 -t arm64-v8a -t armeabi-v7a -t x86_64 \
  -o android/src/main/jniLibs build --profile small
