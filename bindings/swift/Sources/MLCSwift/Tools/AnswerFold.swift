/// Joins the chunks of an answer to the same value as an answer without streaming.
package struct AnswerFold {
    private struct Call {
        var id = ""
        var name = ""
        var arguments = ""

        mutating func add(_ piece: ChoiceDeltaToolCall) {
            self.id += piece.id ?? ""
            self.name += piece.function?.name ?? ""
            self.arguments += piece.function?.arguments ?? ""
        }

        var whole: ChatCompletionMessageToolCall {
            ChatCompletionMessageToolCall(
                id: self.id, function: FunctionCall(name: self.name, arguments: self.arguments))
        }
    }

    private struct Answer {
        private var content = ""
        private var reasoning = ""
        private var refusal = ""
        private var finishReason = FinishReason.error
        private var calls: [Int: Call] = [:]
        private var logprobs: ChoiceLogprobs?

        mutating func add(_ choice: ChatCompletionChunkChoice) {
            self.content += choice.delta.content ?? ""
            self.reasoning += choice.delta.reasoning_content ?? ""
            self.refusal += choice.delta.refusal ?? ""
            self.finishReason = choice.finish_reason ?? self.finishReason
            for piece in choice.delta.tool_calls ?? [] {
                self.calls[piece.index, default: Call()].add(piece)
            }
            if let more = choice.logprobs { self.add(more) }
        }

        private mutating func add(_ more: ChoiceLogprobs) {
            var sum = self.logprobs ?? ChoiceLogprobs()
            if let tokens = more.content { sum.content = (sum.content ?? []) + tokens }
            if let tokens = more.refusal { sum.refusal = (sum.refusal ?? []) + tokens }
            self.logprobs = sum
        }

        func whole(_ index: Int) -> ChatCompletionChoice {
            let calls = self.calls.sorted { $0.key < $1.key }.map(\.value.whole)
            let message = ChatCompletionResponseMessage(
                content: self.content.isEmpty && !calls.isEmpty ? nil : self.content,
                refusal: self.refusal.isEmpty ? nil : self.refusal,
                reasoning_content: self.reasoning.isEmpty ? nil : self.reasoning,
                tool_calls: calls.isEmpty ? nil : calls)
            return ChatCompletionChoice(
                index: index, message: message, logprobs: self.logprobs,
                finish_reason: self.finishReason)
        }
    }

    private var last: ChatCompletionChunk?
    private var usage: CompletionUsage?
    private var answers: [Int: Answer] = [:]

    package init() {}

    package mutating func add(_ chunk: ChatCompletionChunk) {
        self.last = chunk
        self.usage = chunk.usage ?? self.usage
        for choice in chunk.choices { self.answers[choice.index, default: Answer()].add(choice) }
    }

    package var completion: ChatCompletion {
        let answers = self.answers.isEmpty ? [0: Answer()] : self.answers
        return ChatCompletion(
            id: self.last?.id ?? "", created: self.last?.created ?? 0,
            model: self.last?.model ?? "",
            choices: answers.sorted { $0.key < $1.key }.map { $0.value.whole($0.key) },
            usage: self.usage, system_fingerprint: self.last?.system_fingerprint)
    }
}
