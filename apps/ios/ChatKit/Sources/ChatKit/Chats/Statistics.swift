import Foundation
import MLCSwift

/// What is kept with an answer. Times are in seconds, speeds in tokens per second.
public struct AnswerStats: Hashable, Sendable, Codable {
    public var tokens: Int
    public var prompt: Int?
    public var cached: Int?
    public var thoughts: Int?
    public var speed: Double?
    public var prompt_speed: Double?
    /// From the request to the first token.
    public var first: Double?
    public var seconds: Double

    /// The engine's numbers come before the app's clock.
    public init(usage: CompletionUsage?, clock: AnswerClock) {
        let extra = usage?.extra
        let measured = { (value: Double?) in value == 0 ? nil : value }
        self.tokens = usage?.completion_tokens ?? clock.chunks
        self.prompt = usage?.prompt_tokens
        self.cached = usage?.prompt_tokens_details?.cached_tokens
        self.thoughts = usage?.completion_tokens_details?.reasoning_tokens
        self.speed = measured(extra?.decode_tokens_per_s) ?? clock.speed(self.tokens)
        self.prompt_speed = measured(extra?.prefill_tokens_per_s)
        self.first = extra?.ttft_s ?? clock.firstSeconds
        self.seconds = extra?.end_to_end_latency_s ?? clock.seconds
    }
}

/// The times of an answer as the app sees them, in milliseconds.
public struct AnswerClock: Hashable, Sendable, Codable {
    public var begin_ms: Double
    public var first_ms: Double?
    public var end_ms: Double
    public var chunks = 0

    public init(nowMS: Double) {
        self.begin_ms = nowMS
        self.end_ms = nowMS
    }

    public mutating func take(nowMS: Double) {
        self.first_ms = self.first_ms ?? nowMS
        self.end_ms = nowMS
        self.chunks += 1
    }

    var seconds: Double { (self.end_ms - self.begin_ms) / 1000 }
    var firstSeconds: Double? { self.first_ms.map { ($0 - self.begin_ms) / 1000 } }

    func speed(_ tokens: Int) -> Double? {
        let seconds = (self.end_ms - (self.first_ms ?? self.end_ms)) / 1000
        return tokens > 1 && seconds > 0 ? Double(tokens - 1) / seconds : nil
    }
}

/// The words of a line of statistics, each with `{}` for its number.
public struct StatsWords: Hashable, Sendable {
    public var tokens = "{} tokens"
    public var speed = "{} tokens/s"
    public var first = "first token after {} s"
    public var total = "{} s in all"
    public var prompt = "prompt {} tokens"
    public var cached = "{} of them cached"
    public var thoughts = "{} tokens of thoughts"
    public var cut = "cut at the limit"
    public var stopped = "stopped"
    public var locale = Locale(identifier: "en_US")

    public init() {}
}

extension AnswerStats {
    /// "42 tokens · 35.1 tokens/s · first token after 0.21 s · 1.4 s in all · prompt 300 tokens".
    public func line(finish: String?, model: String = "", words: StatsWords = StatsWords())
        -> String
    {
        let count = { (pattern: String, value: Int?) in
            value.map { Self.fill(pattern, Double($0), 0, words.locale) }
        }
        let decimal = { (pattern: String, value: Double?, digits: Int) in
            value.map { Self.fill(pattern, $0, digits, words.locale) }
        }
        let isShown = { (value: Int?) in value == 0 ? nil : value }
        var parts: [String?] = [
            count(words.tokens, self.tokens), decimal(words.speed, self.speed, 1),
            decimal(words.first, self.first, 2),
            self.seconds > 0 ? decimal(words.total, self.seconds, 1) : nil,
            count(words.prompt, self.prompt), count(words.cached, isShown(self.cached)),
            count(words.thoughts, isShown(self.thoughts)),
        ]
        if finish == "length" { parts.append(words.cut) }
        if finish == "stopped" { parts.append(words.stopped) }
        if !model.isEmpty { parts.append(model) }
        return parts.compactMap { $0 }.joined(separator: " · ")
    }

    private static func fill(
        _ pattern: String, _ value: Double, _ digits: Int, _ locale: Locale
    ) -> String {
        let style = FloatingPointFormatStyle<Double>(locale: locale)
            .precision(.fractionLength(digits)).rounded(rule: .toNearestOrAwayFromZero)
        let text = value.formatted(style)
        return pattern.replacingOccurrences(of: "{}", with: text)
    }
}

/// Sizes for people, in decimal units.
public enum Bytes {
    public static func text(_ bytes: Int) -> String {
        switch bytes {
        case ..<1000: "\(bytes) B"
        case ..<1_000_000: "\(self.whole(bytes, 1000)) KB"
        case ..<999_500_000: "\(self.whole(bytes, 1_000_000)) MB"
        default: String(format: "%.2f GB", Double(bytes) / 1e9)
        }
    }

    private static func whole(_ bytes: Int, _ unit: Int) -> Int { (bytes + unit / 2) / unit }
}
