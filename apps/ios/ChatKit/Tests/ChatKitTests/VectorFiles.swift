import Foundation
import MLCSwift
import Testing

@testable import ChatKit

/// A case of `apps/vectors`.
struct VectorCase: Sendable {
    let name: String
    let kind: String
    let input: JSONValue
    let output: JSONValue
}

enum Vectors {
    static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().appendingPathComponent("../../../../vectors")
        .standardizedFileURL

    static func cases(of file: URL) throws -> [VectorCase] {
        let value = try JSONValue(jsonText: String(contentsOf: file, encoding: .utf8))
        guard case .array(let cases)? = value["cases"] else { throw Fault("cases", "are missing") }
        return try cases.map { one in
            VectorCase(
                name: try #require(one["name"]?.stringValue),
                kind: try #require(one["kind"]?.stringValue),
                input: try #require(one["input"]), output: try #require(one["output"]))
        }
    }

    /// Objects with the same members; null is absent, numbers agree to 12 digits.
    static func areAlike(_ one: JSONValue, _ other: JSONValue) -> Bool {
        switch (one, other) {
        case (.object(let left), .object(let right)):
            let keys = Set(left.keys + right.keys)
            return keys.allSatisfy { self.areAlike(left[$0] ?? .null, right[$0] ?? .null) }
        case (.array(let left), .array(let right)):
            return left.count == right.count && zip(left, right).allSatisfy(self.areAlike)
        default:
            guard let left = one.doubleValue, let right = other.doubleValue else {
                return one == other
            }
            return abs(left - right) <= 1e-12 * max(abs(left), abs(right))
        }
    }
}

extension JSONValue {
    /// The value of a type that JSON describes.
    func read<T: Decodable>(_ type: T.Type) throws -> T {
        try JSONDecoder().decode(type, from: Data(try self.jsonText().utf8))
    }

    static func of(_ value: some Encodable) throws -> JSONValue {
        try JSONValue(
            jsonText: String(decoding: try JSONEncoder().encode(value), as: UTF8.self))
    }

    func text(_ key: String) throws -> String { try #require(self[key]?.stringValue, "\(key)") }
    func int(_ key: String) -> Int? { self[key]?.intValue }
    func number(_ key: String) throws -> Int { try #require(self[key]?.intValue, "\(key)") }

    static func int(_ value: Int?) -> JSONValue { value.map { .int($0) } ?? .null }
    static func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
    static func fault(_ fault: Fault) -> JSONValue {
        ["error": ["field": .string(fault.field), "why": .string(fault.why)]]
    }
}
