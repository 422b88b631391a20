// The conformance vectors: tests/bindings/vectors/README.md.
import Foundation
import MLCSwift

/// What did not come out as it should.
struct Difference: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// A case, as JSON.
struct Case {
    let json: JSONObject

    subscript(_ name: String) -> JSONValue { self.json[name] ?? nil }
    func text(_ name: String) -> String { self[name].stringValue ?? "" }

    func items(_ name: String) -> [JSONValue] {
        if case .array(let items) = self[name] { items } else { [] }
    }

    func members(_ name: String) -> [JSONObject.Member] {
        if case .object(let object) = self[name] { object.members } else { [] }
    }

    func type() throws -> any WireObject.Type {
        // The language's way to a struct by its name; so a new type needs no line here.
        let name = self.text("type")
        guard let type = _typeByName("8MLCSwift\(name.utf8.count)\(name)V") as? any WireObject.Type
        else { throw Difference("no type \(name)") }
        return type
    }
}

@Sendable func vectors(_ options: Options) async throws -> JSONObject {
    let engine = try await options.loadedEngine()
    var passed = 0
    var failures: [JSONValue] = []
    for vector in try readCases(options.folder) {
        do {
            try await run(vector, engine)
            passed += 1
        } catch {
            failures.append(["name": .string(vector.text("name")), "why": .string("\(error)")])
        }
    }
    return ["passed": .int(passed), "failed": .int(failures.count), "failures": .array(failures)]
}

private func readCases(_ folder: String) throws -> [Case] {
    let url = URL(fileURLWithPath: folder)
    let inner = url.appendingPathComponent("cases")
    let place = FileManager.default.fileExists(atPath: inner.path) ? inner : url
    let files = try FileManager.default.contentsOfDirectory(atPath: place.path).sorted()
    return try files.filter { $0.hasSuffix(".json") }.flatMap { file in
        let text = try String(contentsOf: place.appendingPathComponent(file), encoding: .utf8)
        guard case .array(let cases)? = try JSONValue(jsonText: text)["cases"] else {
            throw UsageError("\(file) has no cases")
        }
        return try cases.map { Case(json: try JSONObject(jsonValue: $0)) }
    }
}

private func run(_ vector: Case, _ engine: MLCEngine) async throws {
    switch vector.text("kind") {
    case "value": try checkValue(vector)
    case "invalid": try checkInvalid(vector)
    case "stream": try checkStream(vector)
    case "error": try checkError(vector, MLCError(event: Array(try vector["json"].jsonText().utf8)))
    case "fault": try await checkFault(vector, engine)
    case "answer": try await checkAnswer(vector, engine)
    case "build": try checkBuild(vector)
    case "tools": try await checkTools(vector)
    case let kind: throw Difference("no such kind: \(kind)")
    }
}

func expect(_ got: JSONValue, _ wanted: JSONValue, _ what: String) throws {
    guard got.means(wanted) else {
        throw Difference("\(what): \(try got.jsonText()), expected \(try wanted.jsonText())")
    }
}

/// A typed value as JSON; of no value null.
func json(_ value: Any?) throws -> JSONValue {
    guard let value, let present = present(value) else { return .null }
    guard let wire = present as? any WireValue else {
        throw Difference("\(type(of: present)) is no value of the protocol")
    }
    return wire.jsonValue
}

func expectEqual(_ vector: Case, _ value: any WireObject, _ wanted: JSONValue) throws {
    // Through the text, and through Codable too: they must say the same.
    let text = try JSONValue(jsonText: try value.jsonText())
    let data = try JSONEncoder().encode(value)
    let coded = try JSONDecoder().decode(JSONValue.self, from: data)
    var (got, other, expected) = (text, coded, wanted)
    for path in vector.items("ignore") {
        let path = try steps(path.stringValue ?? "")[...]
        got = got.removing(path)
        other = other.removing(path)
        expected = expected.removing(path)
    }
    try expect(got, expected, "encoded")
    try expect(other, expected, "encoded by JSONEncoder")
}

private func checkValue(_ vector: Case) throws {
    let value = try vector.type().init(jsonText: try vector["json"].jsonText())
    try expectEqual(vector, value, vector["canonical"])
    try checkFields(vector, value)
    for member in vector.members("variants") {
        let union = try typedValue(value, at: member.key).flatMap(present)
        let name = union.flatMap { Mirror(reflecting: $0).children.first?.label } ?? ""
        let wanted = (member.value.stringValue ?? "").split(separator: "_").joined()
        guard name.lowercased() == wanted.lowercased() else {
            throw Difference("\(member.key) holds \(name), not \(wanted)")
        }
    }
    for path in vector.items("unknown_words") {
        let word = try typedValue(value, at: path.stringValue ?? "").flatMap(present)
        guard let word = word as? any WireEnum, !isKnown(word) else {
            throw Difference("\(path) is no unknown word")
        }
    }
}

private func isKnown<Word: WireEnum>(_ word: Word) -> Bool {
    Word.allKnown.contains(word)
}

private func checkFields(_ vector: Case, _ value: Any) throws {
    for member in vector.members("fields") {
        try expect(try json(try typedValue(value, at: member.key)), member.value, member.key)
    }
}

private func checkInvalid(_ vector: Case) throws {
    let text = try vector["json"].jsonText()
    if let value = try? vector.type().init(jsonText: text) { throw Difference("decoded: \(value)") }
}

private func checkStream(_ vector: Case) throws {
    let chunks = try vector.items("chunks").map {
        try ChatCompletionChunk(jsonText: try $0.jsonText())
    }
    var answers = Answers()
    for chunk in chunks { answers.add(chunk) }
    try answers.check(vector)
    try expect(answers.usage?.jsonValue ?? nil, vector["usage"], "usage")
    try checkFields(vector, chunks)
}

func checkError(_ vector: Case, _ error: MLCError) throws {
    let got: [(String, String?)] = [
        ("message", error.message), ("type", error.type), ("param", error.param),
        ("code", error.code), ("status", error.status?.rawValue),
    ]
    for (name, value) in got {
        try expect(value.map(JSONValue.string) ?? .null, vector["error"][name] ?? .null, name)
    }
    try expect(.string("\(error.kind)"), vector["class"]["swift"] ?? .null, "class")
}

private func checkFault(_ vector: Case, _ engine: MLCEngine) async throws {
    do {
        try await engine.submit(route: vector.text("route"), body: vector.text("body"))
    } catch {
        return try checkError(vector, error)
    }
    throw Difference("it was taken")
}

private func checkBuild(_ vector: Case) throws {
    guard let build = builders[vector.text("name")] else { throw Difference("no such function") }
    try expectEqual(vector, build(), vector["json"])
}
