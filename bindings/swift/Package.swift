// swift-tools-version: 6.0
import PackageDescription

let package = Package(
    name: "Stepwell",
    platforms: [.iOS(.v16), .macOS(.v13)],
    products: [
        .library(name: "Stepwell", targets: ["Stepwell"])
    ],
    targets: [
        .systemLibrary(name: "StepwellFFI"),
        .target(
            name: "Stepwell",
            dependencies: ["StepwellFFI"],
            linkerSettings: [.linkedLibrary("stepwell_ffi")]
        ),
        .testTarget(name: "StepwellTests", dependencies: ["Stepwell"]),
    ]
)
