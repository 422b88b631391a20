// swift-tools-version: 6.0
import PackageDescription

// What an app with on-device chats does, without its user interface. It runs on iOS, macOS and Linux.
let package = Package(
    name: "ChatKit",
    platforms: [.macOS(.v14), .iOS(.v17)],
    products: [.library(name: "ChatKit", targets: ["ChatKit"])],
    dependencies: [.package(path: "../../../bindings/swift")],
    targets: [
        .target(name: "ChatKit", dependencies: [.product(name: "MLCSwift", package: "swift")]),
        .testTarget(name: "ChatKitTests", dependencies: ["ChatKit"]),
    ],
    swiftLanguageModes: [.v6]
)
