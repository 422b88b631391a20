// An agent with tools: it answers a question about the files of a folder. You approve each call.
//
// Agent MODEL_FOLDER MODEL_LIBRARY FOLDER "What does the license say?"
import Foundation
import MLCSwift

struct FileName: Decodable { let name: String }
struct Nothing: Decodable {}

let arguments = CommandLine.arguments
let folder = arguments[3]

let listFiles = try ModelTool(name: "list_files", description: "Lists the names of all files.") {
    (_: Nothing) in
    let names = FileManager.default.subpaths(atPath: folder) ?? []
    return names.sorted().prefix(100).joined(separator: "\n")
}
let readFile = try ModelTool(name: "read_file", description: "Reads the first lines of a file.") {
    (file: FileName) in
    guard !file.name.contains(".."),
        let text = try? String(contentsOfFile: "\(folder)/\(file.name)", encoding: .utf8)
    else { return "There is no file \(file.name)." }
    return text.split(separator: "\n").prefix(40).joined(separator: "\n")
}

let engine = MLCEngine()
try await engine.load(model: arguments[1], modelLib: arguments[2])
// The first answer must call a tool: a small model seldom does that by itself.
let request = ChatCompletionRequest(
    messages: [ChatCompletionMessage(role: .user, content: arguments[4])], max_tokens: 400,
    temperature: 0, tool_choice: .mode(.required), parallel_tool_calls: false)
let run = try await engine.chat.completions.runTools(
    [listFiles, readFile], request, maxCalls: 6,
    approve: { call in
        print("Call \(call.function.name)(\(call.function.arguments))? [y/n]")
        return readLine() == "y"
    })
print(run.content ?? "", "(\(run.numCalls) calls)")
