// Compatibility: what programs written for MLC-LLM's Swift package use beside the names in
// Generated/Compatibility.gen.swift.

import Foundation

extension String {
    /// The text of a delta's content.
    public func asText() -> String { self }
}

extension ChatCompletionMessageContent {
    /// The text, or the texts among the parts one after the other.
    public func asText() -> String {
        switch self {
        case .text(let text): text
        case .parts(let parts): parts.map { $0.asText() }.joined()
        }
    }

    /// Parts as dictionaries, such as `["type": "text", "text": "Hi"]`.
    @_disfavoredOverload
    public static func parts(_ parts: [[String: String]]) -> ChatCompletionMessageContent {
        .parts(parts.map { ChatCompletionContentPart($0) })
    }
}

extension ChatCompletionContentPart: ExpressibleByDictionaryLiteral {
    /// A part as a dictionary; one that is neither text nor image is kept as it is.
    public init(_ members: [String: String]) {
        switch (members["type"], members["text"], members["image_url"]) {
        case ("text", let text?, _): self = .text(ChatCompletionContentPartText(text: text))
        case ("image_url", _, let url?):
            self = .imageUrl(ChatCompletionContentPartImage(image_url: url))
        default:
            self = .unknown(.object(JSONObject(texts: members)))
        }
    }

    public init(dictionaryLiteral members: (String, String)...) {
        self.init(Dictionary(members, uniquingKeysWith: { $1 }))
    }

    /// The text of a text; nothing of an image.
    public func asText() -> String {
        if case .text(let part) = self { part.text } else { "" }
    }

    /// A member of the part, when it is a text.
    public subscript(_ member: String) -> String? {
        guard case .object(let object) = self.jsonValue, case .string(let text) = object[member]
        else { return nil }
        return text
    }
}

extension ChatCompletionMessage {
    /// A message in parts, as dictionaries.
    @_disfavoredOverload
    public init(
        role: ChatCompletionRole, content: [[String: String]]?, name: String? = nil,
        tool_calls: [ChatCompletionMessageToolCall]? = nil, tool_call_id: String? = nil
    ) {
        self.init(
            role: role, content: content.map { parts in .parts(parts) }, name: name,
            tool_calls: tool_calls, tool_call_id: tool_call_id)
    }
}

extension JSONObject {
    /// Of a dictionary, whose order is by its keys.
    fileprivate init(
        texts: [String: String], as value: (String) -> JSONValue = { .string($0) }
    ) {
        self.init(texts.sorted { $0.key < $1.key }.map { Member($0.key, value($0.value)) })
    }
}

extension FunctionDefinition {
    /// With the members of a JSON Schema object. A text that holds JSON, such as an object, is taken
    /// as that.
    @_disfavoredOverload
    public init(name: String, description: String? = nil, parameters: [String: String]) {
        self.init(
            name: name, description: description,
            parameters: JSONObject(texts: parameters, as: Self.unquoted))
    }

    private static func unquoted(_ text: String) -> JSONValue {
        switch try? JSONValue(jsonText: text) {
        case .null?, .string?, nil: .string(text)
        case let value?: value
        }
    }
}

extension ChatCompletionTool {
    /// `type` is always `function`; no other kind of tool exists.
    public init(type: String, function: FunctionDefinition) {
        self.init(function: function)
    }
}

extension FunctionCall {
    /// With the arguments as a dictionary, which become JSON text.
    @_disfavoredOverload
    public init(name: String, arguments: [String: String]? = nil) {
        let members = JSONValue.object(JSONObject(texts: arguments ?? [:]))
        self.init(name: name, arguments: (try? members.jsonText()) ?? "{}")
    }
}

extension ChatCompletionMessageToolCall {
    /// With an id of its own; `type` is always `function`.
    @_disfavoredOverload
    public init(
        id: String = UUID().uuidString, type: String = "function", function: FunctionCall
    ) {
        self.init(id: id, function: function)
    }
}

extension ResponseFormat {
    /// A JSON object, which may have to match a JSON Schema given as text.
    public init(type: String, schema: String? = nil) {
        switch type {
        case "text": self = .text(ResponseFormatText())
        case "json_object":
            self = .jsonObject(ResponseFormatJSONObject(schema: schema.map { .text($0) }))
        default: self = .unknown(["type": .string(type)])
        }
    }
}

extension CompletionUsageExtra {
    /// How much of the prompt the model read.
    public var num_prefill_tokens: Int? { self.prefill_tokens }

    /// The speeds as MLC-LLM's apps show them: `prefill: 120.5 tok/s, decode: 33.1 tok/s`.
    public func asTextLabel() -> String {
        [("prefill", self.prefill_tokens_per_s), ("decode", self.decode_tokens_per_s)]
            .compactMap { name, speed in
                speed.map { "\(name): \(String(format: "%.1f", $0)) tok/s" }
            }
            .joined(separator: ", ")
    }
}

extension ChatCompletions {
    /// MLC-LLM's function with its own types of numbers; with literals it is the other `create`.
    @_disfavoredOverload
    public func create(
        messages: [ChatCompletionMessage],
        model: String? = nil,
        frequency_penalty: Float? = nil,
        presence_penalty: Float? = nil,
        logprobs: Bool = false,
        top_logprobs: Int = 0,
        logit_bias: [Int: Float]? = nil,
        max_tokens: Int? = nil,
        n: Int = 1,
        seed: Int? = nil,
        stop: [String]? = nil,
        stream: Bool = true,
        stream_options: StreamOptions? = nil,
        temperature: Float? = nil,
        top_p: Float? = nil,
        tools: [ChatTool]? = nil,
        user: String? = nil,
        response_format: ResponseFormat? = nil
    ) async -> AsyncStream<ChatCompletionStreamResponse> {
        guard stream else {
            return .failed(.needsStream("stream"), ChatCompletionRequest(messages: messages))
        }
        return await self.create(
            ChatCompletionRequest(
                messages: messages,
                model: model,
                frequency_penalty: frequency_penalty,
                presence_penalty: presence_penalty,
                logprobs: logprobs,
                top_logprobs: top_logprobs,
                logit_bias: logit_bias,
                max_tokens: max_tokens,
                n: n,
                seed: seed,
                stop: stop,
                stream: stream,
                stream_options: stream_options,
                temperature: temperature,
                top_p: top_p,
                tools: tools,
                user: user,
                response_format: response_format))
    }
}
