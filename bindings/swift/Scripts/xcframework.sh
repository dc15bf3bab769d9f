#!/usr/bin/env bash
# Builds StepwellFFI.xcframework for devices, simulators and Macs, beside Package.swift. Needs a Mac with Xcode, and
# rustup. `cargo xtask bindings swift` has generated the header and the module map before.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$(cd ../.. && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

export IPHONEOS_DEPLOYMENT_TARGET=16.0 MACOSX_DEPLOYMENT_TARGET=13.0
triples=(aarch64-apple-ios aarch64-apple-ios-sim x86_64-apple-ios aarch64-apple-darwin x86_64-apple-darwin)
rustup target add "${triples[@]}"
for triple in "${triples[@]}"; do
  cargo rustc --manifest-path "$root/bindings/Cargo.toml" --profile shipped --lib --crate-type staticlib \
    --target "$triple" "$@"
done

built() { echo "$target/$1/shipped/libstepwell_ffi.a"; }
mkdir -p "$out"/{device,simulator,mac}
strip -S -o "$out/device/libstepwell_ffi.a" "$(built aarch64-apple-ios)"
lipo -create "$(built aarch64-apple-ios-sim)" "$(built x86_64-apple-ios)" -output "$out/simulator/libstepwell_ffi.a"
lipo -create "$(built aarch64-apple-darwin)" "$(built x86_64-apple-darwin)" -output "$out/mac/libstepwell_ffi.a"
strip -S "$out/simulator/libstepwell_ffi.a" "$out/mac/libstepwell_ffi.a"

# In a folder of its own: Xcode copies the headers of all static frameworks to one place.
headers=$out/headers/StepwellFFI
mkdir -p "$headers"
cp Sources/StepwellFFI/StepwellFFI.h Sources/StepwellFFI/module.modulemap "$headers"
rm -rf StepwellFFI.xcframework
xcodebuild -create-xcframework \
  -library "$out/device/libstepwell_ffi.a" -headers "$out/headers" \
  -library "$out/simulator/libstepwell_ffi.a" -headers "$out/headers" \
  -library "$out/mac/libstepwell_ffi.a" -headers "$out/headers" \
  -output StepwellFFI.xcframework
