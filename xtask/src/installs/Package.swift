// swift-tools-version: 6.0
import PackageDescription

let package = Package(
    name: "Hello",
    platforms: [.macOS(.v13)],
    dependencies: [
        // dependency
    ],
    targets: [
        .executableTarget(
            name: "Hello",
            dependencies: [.product(name: "Stepwell", package: "stepwell-swift")]
        )
    ]
)
