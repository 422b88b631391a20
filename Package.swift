// swift-tools-version: 6.0
// For an app that adds this repository by its URL: SwiftPM reads the manifest of its root only. The
// package itself, with its tests, is bindings/swift.
import PackageDescription

let package = Package(
    name: "mlc_llm",
    platforms: [.macOS(.v13), .iOS(.v16)],
    products: [.library(name: "MLCSwift", targets: ["MLCSwift"])],
    targets: [
        .systemLibrary(name: "CMLCLLM", path: "bindings/swift/Sources/CMLCLLM"),
        .target(
            name: "MLCSwift", dependencies: ["CMLCLLM"], path: "bindings/swift/Sources/MLCSwift"),
    ],
    swiftLanguageModes: [.v6]
)
