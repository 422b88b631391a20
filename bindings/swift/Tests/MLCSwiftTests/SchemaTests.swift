import Foundation
import Testing

@testable import MLCSwift

private enum Colour: String, Decodable, CaseIterable { case red, green }
private enum Size: Int, Codable, CaseIterable { case small = 1, large = 2 }
private enum Unlisted: String, Decodable { case a }
private enum Payload: Decodable { case a(Int) }

private struct Point: Decodable {
    let x: Double
    let label: String?
}

private struct Everything: Decodable {
    let flag: Bool
    let count: UInt8
    let points: [Point]
    let byName: [String: Int]
    let colour: Colour
    let size: Size?
    let tags: Set<String>
    let link: URL
    let anything: JSONValue
    let inner: Point

    enum CodingKeys: String, CodingKey {
        case flag, count, points
        case byName = "by_name"
        case colour, size, tags, link, anything, inner
    }
}

private struct Tree: Decodable {
    let value: Int
    let children: [Tree]
}

private final class Chain: Decodable {
    let next: Chain?
}

private struct Wrapped: Decodable {
    let text: String
    init(from decoder: any Decoder) throws {
        self.text = try decoder.singleValueContainer().decode(String.self)
    }
}

private struct Even: Decodable {
    let number: Int
    init(from decoder: any Decoder) throws {
        self.number = try decoder.singleValueContainer().decode(Int.self)
        if self.number % 2 == 0 { throw CancellationError() }
    }
}

private struct Month: JSONSchemaConvertible {
    let number: Int
    static let jsonSchema: JSONObject = ["type": "integer", "minimum": 1, "maximum": 12]
    init(from decoder: any Decoder) throws {
        self.number = try decoder.singleValueContainer().decode(Int.self)
    }
}

private struct Holder<T: Decodable>: Decodable { let it: T }

private func text<T: Decodable>(_ type: T.Type) throws -> String {
    try JSONObject.schema(of: type).jsonValue.jsonText()
}

@Test func theSchemaOfATypeIsWhatItDecodes() throws {
    let point =
        #"{"type":"object","properties":{"x":{"type":"number"},"label":{"type":"string"}},"#
        + #""required":["x"],"additionalProperties":false}"#
    #expect(try text(Point.self) == point)
    let everything = try text(Everything.self)
    let wanted =
        #"{"type":"object","properties":{"flag":{"type":"boolean"},"#
        + #""count":{"type":"integer","minimum":0},"#
        + #""points":{"type":"array","items":\#(point)},"#
        + #""by_name":{"type":"object","additionalProperties":{"type":"integer"}},"#
        + #""colour":{"enum":["red","green"]},"size":{"enum":[1,2]},"#
        + #""tags":{"type":"array","items":{"type":"string"}},"#
        + #""link":{"type":"string","format":"uri"},"anything":{},"inner":\#(point)},"#
        + #""required":["flag","count","points","by_name","colour","tags","link","anything","#
        + #""inner"],"additionalProperties":false}"#
    #expect(everything == wanted)
}

@Test func typesThatContainThemselvesRefer() throws {
    #expect(
        try text(Tree.self)
            == ##"{"$ref":"#/$defs/Tree","$defs":{"Tree":{"type":"object","properties":"##
            + ##"{"value":{"type":"integer"},"children":{"type":"array","items":"##
            + ##"{"$ref":"#/$defs/Tree"}}},"required":["value","children"],"##
            + ##""additionalProperties":false}}}"##)
    #expect(try text(Chain.self).contains(##""next":{"$ref":"#/$defs/Chain"}"##))
}

@Test func wrappersAndTypesThatSayTheirOwnSchema() throws {
    #expect(try text(Holder<Wrapped>.self).contains(#""it":{"type":"string"}"#))
    #expect(try text(Holder<Month>.self).contains(#""it":{"type":"integer","minimum":1"#))
    #expect(try text(Month.self) == #"{"type":"integer","minimum":1,"maximum":12}"#)
    #expect(
        try text(Holder<[String: [Int]]>.self)
            .contains(#"{"type":"object","additionalProperties":{"type":"array""#))
}

@Test func whatCannotBeDescribedSaysWhatToDo() {
    func refuses<T: Decodable>(_ type: T.Type, _ words: String) {
        #expect { try JSONObject.schema(of: type) } throws: { error in
            (error as? MLCError)?.kind == .unsupported
                && (error as? MLCError)?.message.contains(words) == true
        }
    }
    refuses(Holder<Unlisted>.self, "CaseIterable")
    refuses(Holder<Payload>.self, "JSONSchemaConvertible")
    refuses(Holder<Even>.self, "empty values")
}

@Test func theFormatNamesTheType() throws {
    guard case .jsonSchema(let format) = try ResponseFormat.json(Holder<Int>.self) else {
        Issue.record("another format")
        return
    }
    #expect(format.json_schema.name == "Holder_Int_" && format.json_schema.strict == true)
}

@Test func argumentsOfAToolAreATypeToo() throws {
    let function = try FunctionDefinition(name: "f", parameters: Point.self)
    #expect(function.parameters?["required"] == ["x"])
    let point = try FunctionCall(name: "f", arguments: #"{"x": 2}"#).decodeArguments(Point.self)
    #expect(point.x == 2 && point.label == nil)
}
