import Foundation

/// What memory warnings lead to: the first one trims, a second one within a minute unloads.
public struct MemoryWarnings: Hashable, Sendable {
    public enum Action: Hashable, Sendable { case trim, unload }

    private static let windowSeconds = 60.0
    private var last: Date?

    public init() {}

    public mutating func take(now: Date) -> Action {
        let isSecond = self.last.map { now.timeIntervalSince($0) < Self.windowSeconds } ?? false
        self.last = isSecond ? nil : now
        return isSecond ? .unload : .trim
    }
}
