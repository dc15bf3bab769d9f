// swift-tools-version: 6.0
import PackageDescription

let stepwell: Target.Dependency = .product(name: "Stepwell", package: "swift")
let package = Package(
    name: "Hello",
    platforms: [.macOS(.v13)],
    dependencies: [.package(path: "../../../bindings/swift")],
    targets: [
        .executableTarget(name: "Hello", dependencies: [stepwell], path: ".", exclude: ["ask", "trip", "tokens", "budget", "guard", "traced", "look", "story"], sources: ["Hello.swift"]),
        .executableTarget(name: "Ask", dependencies: [stepwell], path: "ask"),
        .executableTarget(name: "Trip", dependencies: [stepwell], path: "trip"),
        .executableTarget(name: "Tokens", dependencies: [stepwell], path: "tokens"),
        .executableTarget(name: "Budget", dependencies: [stepwell], path: "budget"),
        .executableTarget(name: "Guard", dependencies: [stepwell], path: "guard"),
        .executableTarget(name: "Look", dependencies: [stepwell], path: "look"),
        .executableTarget(name: "Story", dependencies: [stepwell], path: "story"),
        .executableTarget(name: "Traced", dependencies: [stepwell], path: "traced"),
    ]
)
