import Foundation

/// A report about an answer that should not have been given. The stores ask apps with generated text
/// for one. It is a letter that the user reads and sends; the app itself sends nothing.
public enum AnswerReport {
    /// The most characters of an answer in a letter: mail programs refuse long addresses.
    public static let longestQuote = 4000

    public static func letter(to address: String, about message: ChatMessage) -> URL? {
        var parts = URLComponents()
        parts.scheme = "mailto"
        parts.path = address
        parts.queryItems = [
            URLQueryItem(name: "subject", value: "Report: \(message.model)"),
            URLQueryItem(name: "body", value: String(message.content.prefix(Self.longestQuote))),
        ]
        return parts.url
    }
}
