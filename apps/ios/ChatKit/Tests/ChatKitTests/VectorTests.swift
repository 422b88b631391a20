import Foundation
import MLCSwift
import Testing

@testable import ChatKit

/// Decisions about what Android alone says.
private let ofAndroid: Set = ["trim_levels"]

/// What ChatKit answers to a case, by its kind.
private let answers: [String: @Sendable (JSONValue) throws -> JSONValue] = [
    "app_config": ModelVectors.appConfig, "address": ModelVectors.address,
    "files": ModelVectors.files, "index": ModelVectors.index, "plan": ModelVectors.plan,
    "estimate": ModelVectors.estimate,
    "request": DownloadVectors.request, "answer": DownloadVectors.answer,
    "verify": DownloadVectors.verify, "retry": DownloadVectors.retry,
    "body": DownloadVectors.body, "tries": DownloadVectors.tries,
    "reasons": DownloadVectors.reasons, "relaunch": DownloadVectors.relaunch,
    "rate": DownloadVectors.rate, "state": DownloadVectors.state,
    "context": ChatVectors.context, "title": ChatVectors.title, "search": ChatVectors.search,
    "markdown": ChatVectors.markdown, "file_name": ChatVectors.fileName,
    "messages": ChatVectors.messages, "edit": ChatVectors.edit,
    "open_calls": ChatVectors.openCalls, "export": ChatVectors.export,
    "import": ChatVectors.read, "statistics": ChatVectors.statistics,
    "pictures": ChatVectors.pictures, "blocks": ChatVectors.blocks,
    "calculator": ToolVectors.calculator, "tool": ToolVectors.tool,
    "refusal": ToolVectors.refusal, "clock": ToolVectors.clock,
    "benchmark": ToolVectors.benchmark, "bytes": ToolVectors.bytes,
    "warnings": ModelVectors.warnings,
]

@Suite struct VectorTests {
    @Test func everyCaseOfEveryFileHasTheSameAnswer() throws {
        let files = try FileManager.default.contentsOfDirectory(
            at: Vectors.folder, includingPropertiesForKeys: nil)
        var numCases = 0
        for file in files where file.pathExtension == "json" {
            for one in try Vectors.cases(of: file) where !ofAndroid.contains(one.kind) {
                let answer = try #require(answers[one.kind], "\(one.kind)")
                numCases += 1
                let found = try answer(one.input)
                let text = try found.jsonText()
                #expect(
                    Vectors.areAlike(found, one.output),
                    "\(file.lastPathComponent): \(one.name): \(text)")
            }
        }
        #expect(numCases > 600)
    }

    @Test func theComparisonFindsDifferences() {
        #expect(Vectors.areAlike(["a": 1, "b": .null], ["a": 1.0]))
        #expect(!Vectors.areAlike(["a": 1], ["a": 2]))
        #expect(!Vectors.areAlike(["a": 1], [:]))
        #expect(!Vectors.areAlike([1, 2], [1]))
    }
}
