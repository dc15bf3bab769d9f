// swift-tools-version: 6.0
import PackageDescription

let package = Package(
    name: "Hello",
    platforms: [.macOS(.v13)],
    dependencies: [.package(path: "../../../bindings/swift")],
    targets: [
        .executableTarget(
            name: "Hello",
            dependencies: [.product(name: "Stepwell", package: "swift")],
            path: ".",
            sources: ["Hello.swift"]
        )
    ]
)
