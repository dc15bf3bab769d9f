// swift-tools-version: 6.0
import PackageDescription

// What has no views: it compiles and is tested on Linux too. The app itself is in `Sources/Chat`, and is made by XcodeGen
// of `project.yml`.
let package = Package(
    name: "ChatScreen",
    platforms: [.iOS(.v17), .macOS(.v14)],
    products: [
        .library(name: "ChatScreen", targets: ["ChatScreen"]), .library(name: "ChatTurn", targets: ["ChatTurn"]),
    ],
    dependencies: [.package(path: "../../bindings/swift")],
    targets: [
        .target(name: "ChatScreen", dependencies: [.product(name: "Stepwell", package: "swift")]),
        .testTarget(name: "ChatScreenTests", dependencies: ["ChatScreen"]),
        .target(
            name: "ChatTurn",
            dependencies: [
                .product(name: "Stepwell", package: "swift"), .product(name: "StepwellMachine", package: "swift"),
            ]),
        .testTarget(name: "ChatTurnTests", dependencies: ["ChatTurn"]),
    ]
)
