import Foundation
import MLCSwift
import Testing

@testable import ChatKit

enum ToolVectors {
    static func calculator(_ input: JSONValue) throws -> JSONValue {
        let expression = try input.text("expression")
        do throws(ToolMistake) {
            return ["result": .double(try Calculator.evaluate(expression))]
        } catch {
            return ["error": .string(error.why)]
        }
    }

    static func tool(_ input: JSONValue) throws -> JSONValue {
        let text = BuiltInTool.run(
            name: try input.text("name"), arguments: try input.text("arguments"))
        return try JSONValue(jsonText: text)
    }

    static func refusal(_ input: JSONValue) throws -> JSONValue {
        try JSONValue(jsonText: BuiltInTool.refusal)
    }

    static func clock(_ input: JSONValue) throws -> JSONValue {
        let zone = try #require(TimeZone(identifier: try input.text("own_zone")))
        let now = Date(timeIntervalSince1970: Double(try input.number("now_ms")) / 1000)
        let text = BuiltInTool.run(
            name: "clock", arguments: try input.text("arguments"), now: now, ownZone: zone)
        return try JSONValue(jsonText: text)
    }

    static func benchmark(_ input: JSONValue) throws -> JSONValue {
        ["text": .string(try input.read(BenchmarkReport.self).text)]
    }

    static func bytes(_ input: JSONValue) throws -> JSONValue {
        ["text": .string(Bytes.text(try input.number("bytes")))]
    }
}
