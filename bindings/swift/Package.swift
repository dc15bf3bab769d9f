// swift-tools-version: 6.0
import Foundation
import PackageDescription

// On Apple's systems the library comes as an XCFramework: that of `Scripts/xcframework.sh` if it is here, else the
// release's. On Linux, and with STEPWELL_SYSTEM_LIBRARY set, it is linked where it was built:
// `-Xlinker -L../../target/debug`.
let version = "0.1.0"
// `cargo xtask package swift` writes it for a release.
let checksum = ""

#if os(Linux)
let isSystemLibrary = true
#else
let isSystemLibrary = Context.environment["STEPWELL_SYSTEM_LIBRARY"] != nil
#endif
let built = "StepwellFFI.xcframework"
let privacy = "PrivacyInfo.xcprivacy"
let isBuilt = FileManager.default.fileExists(atPath: Context.packageDirectory + "/" + built)
let release = "https://github.com/stepwell/stepwell/releases/download/v\(version)/\(built).zip"
let library: Target =
    isSystemLibrary
    ? .systemLibrary(name: "StepwellFFI")
    : isBuilt || checksum.isEmpty
    ? .binaryTarget(name: "StepwellFFI", path: built)
    : .binaryTarget(name: "StepwellFFI", url: release, checksum: checksum)

// Apple's FoundationModels with its `LanguageModelExecutor` comes with Swift 6.4. Linux has declarations of our own instead,
// for the compiler and the tests.
#if os(Linux)
let bridges: [Target] = [
    .target(name: "FoundationModelsStandIn"),
    .target(name: "StepwellFoundationModels", dependencies: ["Stepwell", "FoundationModelsStandIn"]),
]
#elseif compiler(>=6.4)
let bridges: [Target] = [.target(name: "StepwellFoundationModels", dependencies: ["Stepwell"])]
#else
let bridges: [Target] = []
#endif
let bridgeProducts: [Product] =
    bridges.isEmpty ? [] : [.library(name: "StepwellFoundationModels", targets: ["StepwellFoundationModels"])]
let bridgesTested = bridges.map { Target.Dependency(stringLiteral: $0.name) }

let package = Package(
    name: "Stepwell",
    platforms: [.iOS(.v16), .macOS(.v13)],
    products: [
        .library(name: "Stepwell", targets: ["Stepwell"]),
        .library(name: "StepwellMachine", targets: ["StepwellMachine"]),
        .library(name: "StepwellTesting", targets: ["StepwellTesting"]),
    ] + bridgeProducts,
    targets: [
        library,
        // What uniffi generates: no product.
        .target(
            name: "StepwellBindings",
            dependencies: ["StepwellFFI"],
            linkerSettings: (isSystemLibrary ? [.linkedLibrary("stepwell_ffi")] : []) + [
                .linkedFramework("Security", .when(platforms: [.iOS, .macOS])),
                .linkedFramework("SystemConfiguration", .when(platforms: [.iOS, .macOS])),
            ]
        ),
        .target(
            name: "Stepwell",
            dependencies: ["StepwellBindings"],
            // What the library asks of Apple's systems, for the App Store; elsewhere it would be a bundle for nothing.
            exclude: isSystemLibrary ? [privacy] : [],
            resources: isSystemLibrary ? [] : [.copy(privacy)]
        ),
        // The machine without IO, for an app with a loop of its own.
        .target(name: "StepwellMachine", dependencies: ["StepwellBindings"]),
        .target(name: "StepwellTesting", dependencies: ["StepwellBindings"]),
        .testTarget(
            name: "StepwellTests", dependencies: ["Stepwell", "StepwellMachine", "StepwellTesting"] + bridgesTested),
    ] + bridges,
    swiftLanguageModes: [.v6]
)
