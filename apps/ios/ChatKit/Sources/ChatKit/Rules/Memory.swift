import MLCSwift

/// The numbers of the engine's plan that decide, in bytes.
public struct MemoryNeed: Hashable, Sendable, Codable {
    public var parameter_bytes: Int
    public var temporary_bytes: Int
    public var total_bytes: Int
    public var available_bytes: Int
    public var kv_bytes_per_token: Int
    /// In tokens.
    public var context_window_size: Int
    public var fits: Bool

    public init(_ plan: Plan) {
        self.parameter_bytes = plan.parameter_bytes
        self.temporary_bytes = plan.temporary_bytes
        self.total_bytes = plan.total_bytes
        self.available_bytes = plan.available_bytes
        self.kv_bytes_per_token = plan.kv_bytes_per_token
        self.context_window_size = plan.context_window_size
        self.fits = plan.fits
    }
}

/// Whether a model is loaded.
public enum MemoryDecision: Hashable, Sendable {
    case load
    /// It fits with a smaller context.
    case offer(contextTokens: Int, needsBytes: Int, hasBytes: Int)
    case refuse(needsBytes: Int, hasBytes: Int)

    static let leastContext = 512
    static let contextStep = 256
    static let sharePercent = 85

    /// The share of the free bytes that the app counts on.
    static func usable(_ availableBytes: Int) -> Int {
        let (hundreds, rest) = availableBytes.quotientAndRemainder(dividingBy: 100)
        return hundreds * self.sharePercent + rest * self.sharePercent / 100
    }

    public init(_ need: MemoryNeed) {
        if need.fits {
            self = .load
            return
        }
        let has = Self.usable(need.available_bytes)
        let free = has - need.parameter_bytes - need.temporary_bytes
        let tokens = need.kv_bytes_per_token > 0 && free > 0 ? free / need.kv_bytes_per_token : 0
        let context = min(tokens / Self.contextStep * Self.contextStep, need.context_window_size)
        self =
            context >= Self.leastContext
            ? .offer(contextTokens: context, needsBytes: need.total_bytes, hasBytes: has)
            : .refuse(needsBytes: need.total_bytes, hasBytes: has)
    }
}

/// A warning before a download.
public enum MemoryEstimate: Hashable, Sendable {
    case ok
    case warn(needsBytes: Int, hasBytes: Int)

    public init(estimatedBytes: Int?, availableBytes: Int?) {
        guard let estimatedBytes, let availableBytes else {
            self = .ok
            return
        }
        let has = MemoryDecision.usable(availableBytes)
        self =
            estimatedBytes <= has ? .ok : .warn(needsBytes: estimatedBytes, hasBytes: has)
    }
}
