import MLCSwift

extension SavedChat {
    /// The messages that the model gets: the system prompt, and all that were not dropped.
    public var requestMessages: [ChatCompletionMessage] {
        let system = self.settings.system.trimmed
        let kept = self.messages.dropFirst(self.dropped).map(\.requestMessage)
        return system.isEmpty
            ? kept : [ChatCompletionMessage(role: .system, content: system)] + kept
    }

    /// The request for the next answer. Throws when the schema is no JSON object.
    public func request() throws(Fault) -> ChatCompletionRequest {
        let tools = BuiltInTool.allCases.filter { self.settings.tools.contains($0.rawValue) }
        var request = ChatCompletionRequest(messages: self.requestMessages)
        request.temperature = self.settings.temperature
        request.top_p = self.settings.top_p
        request.max_tokens = self.settings.max_tokens
        request.seed = self.settings.seed
        request.tools = tools.isEmpty ? nil : tools.map(\.definition)
        request.stream_options = StreamOptions(include_usage: true)
        request.usage_extra = true
        if let schema = try self.schema() {
            request.response_format = .jsonSchema(
                ResponseFormatJSONSchema(json_schema: JSONSchema(name: "answer", schema: schema)))
        }
        return request
    }

    private func schema() throws(Fault) -> JSONObject? {
        let text = self.settings.schema.trimmed
        if text.isEmpty { return nil }
        guard case .object(let schema)? = try? JSONValue(jsonText: text) else {
            throw Fault("schema", "must be a JSON Schema: a JSON object")
        }
        return schema
    }
}

extension ChatMessage {
    var requestMessage: ChatCompletionMessage {
        switch self.role {
        case .user:
            ChatCompletionMessage(role: .user, content: self.userContent)
        case .assistant:
            ChatCompletionMessage(
                role: .assistant, content: .text(self.content),
                tool_calls: self.calls.isEmpty ? nil : self.calls.map(\.requestCall))
        case .tool:
            ChatCompletionMessage(
                role: .tool, content: .text(self.content), tool_call_id: self.call)
        }
    }

    private var userContent: ChatCompletionMessageContent {
        guard let pictures = self.pictures, !pictures.isEmpty else { return .text(self.content) }
        var parts: [ChatCompletionContentPart] = pictures.map {
            .imageUrl(ChatCompletionContentPartImage(image_url: .image(ImageURL(url: $0))))
        }
        if !self.content.isEmpty {
            parts.append(.text(ChatCompletionContentPartText(text: self.content)))
        }
        return .parts(parts)
    }

    /// Adds a chunk of an answer.
    mutating func add(_ chunk: ChatCompletionChunk) {
        if !chunk.model.isEmpty { self.model = chunk.model }
        guard let choice = chunk.choices.first else { return }
        if let reason = choice.finish_reason { self.finish = reason.rawValue }
        self.content += choice.delta.content ?? ""
        self.reasoning += choice.delta.reasoning_content ?? ""
        for piece in choice.delta.tool_calls ?? [] { self.add(piece) }
    }

    private mutating func add(_ piece: ChoiceDeltaToolCall) {
        guard (0..<128).contains(piece.index) else { return }
        while self.calls.count <= piece.index { self.calls.append(ToolCall()) }
        self.calls[piece.index].id += piece.id ?? ""
        self.calls[piece.index].name += piece.function?.name ?? ""
        self.calls[piece.index].arguments += piece.function?.arguments ?? ""
    }
}

extension ToolCall {
    var requestCall: ChatCompletionMessageToolCall {
        ChatCompletionMessageToolCall(
            id: self.id, function: FunctionCall(name: self.name, arguments: self.arguments))
    }
}
