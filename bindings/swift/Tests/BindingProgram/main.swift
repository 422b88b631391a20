// The program that tests/bindings/README.md describes.
import Foundation
import MLCSwift

let commands: [String: @Sendable (Options) async throws -> JSONObject] = [
    "stream": stream,
    "complete": complete,
    "embed": embed, "rerank": rerank, "continue": continueText, "cancel": cancel,
    "parallel": parallel,
    "adapter": adapter,
    "load-error": loadError,
    "order": order,
    "tools": tools,
    "run-tools": runTools,
    "bench": bench,
    "vectors": vectors,
]

do {
    let arguments = CommandLine.arguments.dropFirst()
    guard let name = arguments.first, let command = commands[name] else {
        throw UsageError("commands: \(commands.keys.sorted().joined(separator: ", "))")
    }
    let options = try Options(Array(arguments.dropFirst()), positional: name == "vectors")
    print(try JSONValue.object(try await command(options)).jsonText())
} catch {
    FileHandle.standardError.write(Data("binding-program: \(error)\n".utf8))
    exit(1)
}
