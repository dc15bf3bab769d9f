#!/usr/bin/env bash
# Builds StepwellC.xcframework for iPhones, simulators and Macs, for both podspecs. Needs a Mac with Xcode, and rustup.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$(cd ../.. && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
version=$(sed -n 's/^version: //p' pubspec.yaml)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

export IPHONEOS_DEPLOYMENT_TARGET=13.0 MACOSX_DEPLOYMENT_TARGET=11.0
triples=(aarch64-apple-ios aarch64-apple-ios-sim x86_64-apple-ios aarch64-apple-darwin x86_64-apple-darwin)
rustup target add "${triples[@]}"
for triple in "${triples[@]}"; do
  cargo rustc --manifest-path "$root/bindings/c/Cargo.toml" --profile small --lib --crate-type cdylib --target "$triple"
done

# framework PLACE MINIMUM PLATFORM TRIPLE...: a framework of these architectures.
framework() {
  local folder=$out/$1/StepwellC.framework minimum=$2 platform=$3
  shift 3
  mkdir -p "$folder"
  local libraries=()
  for triple in "$@"; do libraries+=("$target/$triple/small/libstepwell_c.dylib"); done
  lipo -create "${libraries[@]}" -output "$folder/StepwellC"
  strip -x "$folder/StepwellC"
  install_name_tool -id @rpath/StepwellC.framework/StepwellC "$folder/StepwellC"
  # What the library asks of Apple's systems, for the App Store.
  cp "$root/bindings/swift/Sources/Stepwell/PrivacyInfo.xcprivacy" "$folder"
  cat > "$folder/Info.plist" <<PLIST
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>CFBundleExecutable</key><string>StepwellC</string>
  <key>CFBundleIdentifier</key><string>dev.stepwell.StepwellC</string>
  <key>CFBundleName</key><string>StepwellC</string>
  <key>CFBundlePackageType</key><string>FMWK</string>
  <key>CFBundleShortVersionString</key><string>$version</string>
  <key>CFBundleVersion</key><string>$version</string>
  <key>CFBundleSupportedPlatforms</key><array><string>$platform</string></array>
  <key>MinimumOSVersion</key><string>$minimum</string>
</dict>
</plist>
PLIST
}
framework device 13.0 iPhoneOS aarch64-apple-ios
framework simulator 13.0 iPhoneSimulator aarch64-apple-ios-sim x86_64-apple-ios
framework mac 11.0 MacOSX aarch64-apple-darwin x86_64-apple-darwin
# A Mac's framework has its files in a version, and links to them.
mac=$out/mac/StepwellC.framework
mkdir -p "$mac/Versions/A/Resources"
mv "$mac/StepwellC" "$mac/Versions/A/StepwellC"
mv "$mac/Info.plist" "$mac/PrivacyInfo.xcprivacy" "$mac/Versions/A/Resources"
ln -s A "$mac/Versions/Current"
ln -s Versions/Current/StepwellC "$mac/StepwellC"
ln -s Versions/Current/Resources "$mac/Resources"

rm -rf ios/StepwellC.xcframework macos/StepwellC.xcframework
xcodebuild -create-xcframework -framework "$out/device/StepwellC.framework" \
  -framework "$out/simulator/StepwellC.framework" -output ios/StepwellC.xcframework
xcodebuild -create-xcframework -framework "$mac" -output macos/StepwellC.xcframework
