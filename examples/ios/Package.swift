// swift-tools-version: 6.0
import PackageDescription

// The turn, without any user interface: it compiles and is tested on Linux too. The app itself is in `Sources/Chat`,
// and is made by XcodeGen of `project.yml`.
let package = Package(
    name: "ChatTurn",
    platforms: [.iOS(.v17), .macOS(.v14)],
    products: [.library(name: "ChatTurn", targets: ["ChatTurn"])],
    dependencies: [.package(path: "../../bindings/swift")],
    targets: [
        .target(
            name: "ChatTurn",
            dependencies: [
                .product(name: "Stepwell", package: "swift"), .product(name: "StepwellMachine", package: "swift"),
            ]),
        .testTarget(name: "ChatTurnTests", dependencies: ["ChatTurn"]),
    ]
)
