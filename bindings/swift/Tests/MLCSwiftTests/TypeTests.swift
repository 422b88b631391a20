import Foundation
import Testing

@testable import MLCSwift

@Test func wordsCompareWithLiteralsAndUnknownOnesAreKept() throws {
    let known: FinishReason = "tool_calls"
    #expect(known == .toolCalls)
    #expect(FinishReason.length == "length")
    let later = FinishReason(rawValue: "ran_away")
    #expect(later == .unknown("ran_away"))
    #expect(later.rawValue == "ran_away" && "\(later)" == "ran_away")
    #expect(try later.jsonText() == #""ran_away""#)
    for word in FinishReason.allKnown { #expect(FinishReason(rawValue: word.rawValue) == word) }
}

@Test func theAbsenceOfAChoiceIsNotTheWordNone() {
    let request = ChatCompletionRequest(
        messages: user("Hi"), tool_choice: .mode(.none_), reasoning_effort: .none_)
    #expect(request.jsonValue["tool_choice"] == "none")
    #expect(request.jsonValue["reasoning_effort"] == "none")
}

@Test func whatANewerEngineAddsIsNoError() throws {
    let chunk = try ChatCompletionChunk(
        jsonText: """
            {"id": "1", "object": "chat.completion.chunk", "created": 1.0, "model": "m",
             "future": {"x": [1]}, "usage": null,
             "choices": [{"index": 0, "delta": {"role": "oracle", "mood": 3},
                          "finish_reason": "ran_away"}]}
            """)
    #expect(chunk.choices[0].delta.role == .unknown("oracle"))
    #expect(chunk.choices[0].finish_reason == "ran_away")
    let part = try ChatCompletionContentPart(jsonText: #"{"type": "smell", "smell": "of rain"}"#)
    #expect(part == .unknown(["type": "smell", "smell": "of rain"]))
    #expect(try part.jsonText() == #"{"type":"smell","smell":"of rain"}"#)
}

@Test(arguments: [
    ("[]", "", "Invalid type for the JSON value: expected an object, but got an array instead."),
    (
        #"{"messages": 3}"#, "messages",
        "Invalid type for 'messages': expected an array, but got an integer instead."
    ),
    (
        #"{"messages": [{"role": "user"}, {}]}"#, "messages[1].role",
        "Missing required parameter: 'messages[1].role'."
    ),
    (
        #"{"messages": [{"role": "user", "content": 5}]}"#, "messages[0].content",
        "Invalid type for 'messages[0].content': expected one of a string or an array, but got an "
            + "integer instead."
    ),
    (
        #"{"messages": [], "n": 1.5}"#, "n",
        "Invalid type for 'n': expected an integer, but got a decimal instead."
    ),
    (
        #"{"messages": [], "logit_bias": {"-1": 2}}"#, "logit_bias",
        "Invalid key in 'logit_bias': expected a non-negative integer, but got '-1' instead."
    ),
])
func faultsNameTheirPlaceInTheWordsOfTheCore(text: String, path: String, message: String) {
    #expect { try ChatCompletionRequest(jsonText: text) } throws: { error in
        (error as? MLCError)?.param == path && (error as? MLCError)?.message == message
    }
}

@Test func constantsAndClosedObjectsAreChecked() {
    #expect(throws: MLCError.self) {
        try ChatCompletionTool(jsonText: #"{"type": "hammer", "function": {"name": "f"}}"#)
    }
    #expect { try EngineConfig(jsonText: #"{"max_num_sequences": 3}"#) } throws: {
        ($0 as? MLCError)?.param == "max_num_sequences"
    }
}

@Test func foundationsCodersReadAndWriteTheSame() throws {
    let request = ChatCompletionRequest(
        messages: [
            ChatCompletionMessage(role: .user, content: .parts([])),
            ChatCompletionMessage(role: .assistant, content: "Hi"),
        ],
        logit_bias: [17: 0.5], stop: ["a", "b"],
        tools: [ChatCompletionTool(function: FunctionDefinition(name: "f", parameters: ["a": 1]))])
    let data = try JSONEncoder().encode(request)
    #expect(try JSONDecoder().decode(ChatCompletionRequest.self, from: data) == request)
    #expect(try ChatCompletionRequest(jsonText: try request.jsonText()) == request)
    #expect(throws: DecodingError.self) {
        try JSONDecoder().decode(ChatCompletionRequest.self, from: Data("{}".utf8))
    }
}

@Test func textsStandForUnionsThatMayHoldOne() {
    let name = "Zoë"
    let message = ChatCompletionMessage(role: .user, content: "Hi \(name)")
    #expect(message.content == .text("Hi Zoë"))
    #expect(message.content?.asText() == "Hi Zoë")
    let parts: ChatCompletionMessageContent = [
        .text(ChatCompletionContentPartText(text: "a")),
        .imageUrl(ChatCompletionContentPartImage(image_url: "data:,")),
        .text(ChatCompletionContentPartText(text: "b")),
    ]
    #expect(parts.asText() == "ab")
    #expect(ChatCompletionMessage(role: .assistant).content == nil)
}

@Test func typesAreSendableAndHashable() {
    func take<T: Sendable & Hashable & Codable>(_: T.Type) {}
    take(ChatCompletionRequest.self)
    take(ChatCompletionChunk.self)
    take(JSONValue.self)
    #expect(Set([user("a")[0], user("a")[0], user("b")[0]]).count == 2)
}
