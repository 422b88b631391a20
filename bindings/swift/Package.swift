// swift-tools-version: 6.0
import Foundation
import PackageDescription

// Where libmlc_llm is: MLC_LLM_LIBRARY_DIR, else what `./dev build` made in this working tree.
let root = "\(Context.packageDirectory)/../.."
let libraryDirectory = Context.environment["MLC_LLM_LIBRARY_DIR"] ?? "\(root)/build/dev/core"
let framework = "Binaries/CMLCLLM.xcframework"

// An app takes the core as a binary when there is one, else the library of the system it runs on.
let hasFramework = FileManager.default.fileExists(
    atPath: "\(Context.packageDirectory)/\(framework)")
let core: Target =
    hasFramework
    ? .binaryTarget(name: "CMLCLLM", path: framework)
    : .systemLibrary(name: "CMLCLLM")

// Flags for the linker may be given in a working tree only, not in a package that an app fetches.
let hasLibrary = FileManager.default.fileExists(atPath: libraryDirectory)
let linker: [LinkerSetting] =
    !hasFramework && hasLibrary
    ? [
        .unsafeFlags([
            "-L", libraryDirectory, "-Xlinker", "-rpath", "-Xlinker", libraryDirectory,
        ])
    ]
    : []

let package = Package(
    name: "MLCSwift",
    platforms: [.macOS(.v13), .iOS(.v16)],
    products: [.library(name: "MLCSwift", targets: ["MLCSwift"])],
    targets: [
        core,
        .target(name: "MLCSwift", dependencies: ["CMLCLLM"], linkerSettings: linker),
        .testTarget(name: "MLCSwiftTests", dependencies: ["MLCSwift"]),
        .executableTarget(
            name: "binding-program", dependencies: ["MLCSwift"], path: "Tests/BindingProgram"),
    ],
    swiftLanguageModes: [.v6]
)
