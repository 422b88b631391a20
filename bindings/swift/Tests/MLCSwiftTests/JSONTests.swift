import Foundation
import Testing

@testable import MLCSwift

@Test(arguments: [
    (#"{"b": 1, "a": [true, null, -2.5e2]}"#, #"{"b":1,"a":[true,null,-250.0]}"#),
    (#""\ud83d\ude4d\u00e9\n\"\\\/\u0001""#, "\"🙍é\\n\\\"\\\\/\\u0001\""),
    (" [ ] ", "[]"),
    ("{ }", "{}"),
    ("9223372036854775807", "9223372036854775807"),
    ("9223372036854775808", "9.223372036854776e+18"),
    ("-0", "0"),
    ("0.1", "0.1"),
    ("1E-7", "1e-07"),
    (#"{"a":1,"a":2}"#, #"{"a":1,"a":2}"#),
])
func textIsReadAndWritten(text: String, again: String) throws {
    let value = try JSONValue(jsonText: text)
    #expect(try value.jsonText() == again)
    #expect(try JSONValue(jsonText: again) == value)
}

@Test(arguments: [
    "", "{", "[1,]", "{\"a\"}", "{\"a\":1,}", "01", "1.", ".5", "+1", "1e", "nul", "\"a", "\"\\x\"",
    "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\u{1}\"", "1 2", "{1:2}", "NaN", "1e999",
    "\"\\u12g4\"",
])
func whatIsNoJSONIsRefused(text: String) {
    #expect { try JSONValue(jsonText: text) } throws: { ($0 as? MLCError)?.code == "invalid_json" }
}

@Test func depthIsBounded() throws {
    func nested(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    _ = try JSONValue(jsonText: nested(128))
    #expect(throws: MLCError.self) { try JSONValue(jsonText: nested(129)) }
    #expect(throws: MLCError.self) { try JSONValue(jsonText: nested(1_000_000)) }
}

@Test func bytesThatAreNotTextAreRepaired() throws {
    #expect(try JSONValue(utf8: [0x22, 0xFF, 0x22]) == "\u{FFFD}")
}

@Test func equalKeysOfWhichTheLastCounts() throws {
    let object = try JSONValue(jsonText: #"{"a": 1, "a": 2}"#)
    #expect(object["a"] == 2)
}

@Test func numbersThatJSONCannotWriteAreAnErrorWithTheirPlace() {
    let request = ChatCompletionRequest(messages: user("Hi"), temperature: .nan)
    #expect { try request.jsonText() } throws: { ($0 as? MLCError)?.param == "temperature" }
    let value: JSONValue = ["a": [1, .double(.infinity)]]
    #expect { try value.jsonText() } throws: {
        ($0 as? MLCError)?.param == "a[1]" && ($0 as? MLCError)?.reason == .invalidJson
    }
}

@Test func objectsKeepTheirOrderAndCanBeChanged() throws {
    var object: JSONObject = ["z": 1, "a": 2]
    object["m"] = [1, "two"]
    object["z"] = nil
    object["a"] = 3
    #expect(try object.jsonValue.jsonText() == #"{"a":3,"m":[1,"two"]}"#)
    #expect(object.keys == ["a", "m"])
    #expect(object["m"]?[1]?.stringValue == "two")
    #expect(object["m"]?[2] == nil)
}
