import MLCSwift

/// The demo of structured answers: a text becomes a value of a type of the app's own.
public struct TripIdea: Decodable, Hashable, Sendable {
    public enum Season: String, Decodable, CaseIterable, Sendable {
        case spring, summer, autumn, winter
    }

    public let city: String
    public let season: Season
    public let days: Int
}

extension EngineHost {
    /// A trip that suits a wish. The grammar of the answer comes from ``TripIdea``.
    public func tripIdea(for wish: String, maxTokens: Int = 200) async throws -> TripIdea {
        let prompt =
            "Suggest one trip for this wish: \(wish)\nAnswer with the city, season and days."
        return try await self.value(
            TripIdea.self,
            ChatCompletionRequest(
                messages: [ChatCompletionMessage(role: .user, content: prompt)],
                max_tokens: maxTokens, temperature: 0))
    }
}
