import Foundation

/// A value that ChatKit refuses: which one, and what it must be.
public struct Fault: Error, Hashable, Sendable, Codable {
    /// Such as `model_list[0].model_url`; empty for the whole text.
    public let field: String
    public let why: String

    public init(_ field: String, _ why: String) {
        self.field = field
        self.why = why
    }
}

extension Fault: CustomStringConvertible, LocalizedError {
    public var description: String {
        self.field.isEmpty ? self.why : "\(self.field): \(self.why)"
    }
    public var errorDescription: String? { self.description }
}
