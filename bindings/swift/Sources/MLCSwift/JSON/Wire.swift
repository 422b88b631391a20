/// A value with a JSON form. The generated types consist of such values.
public protocol WireValue: Sendable {
    init(jsonValue: JSONValue) throws(WireFault)
    var jsonValue: JSONValue { get }
}

/// A generated type. It is `Codable` for any encoder; `jsonValue` is faster and keeps the order.
public protocol WireObject: WireValue, Codable, Hashable {}

/// An enum to which a newer engine may add words: an unknown word is kept. A literal is a value, so
/// `choice.finish_reason == "length"` compares.
public protocol WireEnum: WireObject, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The words that this version knows.
    static var allKnown: [Self] { get }
    init(rawValue: String)
    /// The word as it stands in JSON.
    var rawValue: String { get }
}

/// What is wrong with a JSON value, and the path to it. The words are the core's.
public struct WireFault: Error, Hashable, Sendable {
    /// Such as `choices[0].index`; empty for the value itself.
    public private(set) var path = ""
    /// Such as `invalidType`.
    public let reason: MLCError.Reason
    public var code: String { self.reason.rawValue }
    private let prefix: String
    private let suffix: String

    public var message: String {
        self.prefix + (self.path.isEmpty ? "the JSON value" : "'\(self.path)'") + self.suffix
    }

    static func wrongType(_ got: JSONValue, expected: String) -> WireFault {
        let end = ": expected \(expected), but got \(describe(got)) instead."
        return WireFault(reason: .invalidType, prefix: "Invalid type for ", suffix: end)
    }

    static func missing(_ key: String) -> WireFault {
        WireFault(
            reason: .missingRequiredParameter, prefix: "Missing required parameter: ", suffix: "."
        )
        .within(key)
    }

    static func notSupported(_ got: String, supported: String) -> WireFault {
        let end = ": '\(got)'. Supported values are: '\(supported)'."
        return WireFault(reason: .invalidValue, prefix: "Invalid value for ", suffix: end)
    }

    static func unknownMember(_ key: String) -> WireFault {
        WireFault(reason: .unknownParameter, prefix: "Unrecognized parameter: ", suffix: ".")
            .within(key)
    }

    static func wrongKey(_ key: String) -> WireFault {
        let end = ": expected a non-negative integer, but got '\(key)' instead."
        return WireFault(reason: .invalidValue, prefix: "Invalid key in ", suffix: end)
    }

    func within(_ key: String) -> WireFault {
        var outer = self
        let needsDot = !self.path.isEmpty && !self.path.hasPrefix("[")
        outer.path = key + (needsDot ? "." : "") + self.path
        return outer
    }

    private static func describe(_ value: JSONValue) -> String {
        switch value {
        case .null: "null"
        case .bool: "a boolean"
        case .int: "an integer"
        case .double: "a decimal"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

/// Reads the members of an object. Members that nobody asks for are ignored.
struct WireReader {
    private let object: JSONObject

    init(_ value: JSONValue) throws(WireFault) {
        guard case .object(let object) = value else {
            throw .wrongType(value, expected: "an object")
        }
        self.object = object
    }

    func required<T: WireValue>(_ key: String) throws(WireFault) -> T {
        guard let value = self.object[key] else { throw .missing(key) }
        return try self.read(value, key)
    }

    func optional<T: WireValue>(_ key: String) throws(WireFault) -> T? {
        guard let value = self.object[key], value != .null else { return nil }
        return try self.read(value, key)
    }

    func defaulted<T: WireValue>(_ key: String, _ fallback: T) throws(WireFault) -> T {
        try self.optional(key) ?? fallback
    }

    func constant(_ key: String, _ value: String) throws(WireFault) {
        let got: String = try self.required(key)
        if got != value { throw WireFault.notSupported(got, supported: value).within(key) }
    }

    /// The word by which a union of objects tells them apart.
    func tag(_ key: String) throws(WireFault) -> String {
        try self.required(key)
    }

    func onlyKnown(_ keys: Set<String>) throws(WireFault) {
        for member in self.object.members where !keys.contains(member.key) {
            throw .unknownMember(member.key)
        }
    }

    private func read<T: WireValue>(_ value: JSONValue, _ key: String) throws(WireFault) -> T {
        do throws(WireFault) {
            return try T(jsonValue: value)
        } catch {
            throw error.within(key)
        }
    }
}

/// Builds an object, members in the order of the calls.
struct WireWriter {
    private var object = JSONObject()

    var jsonValue: JSONValue { .object(self.object) }

    mutating func required(_ key: String, _ value: some WireValue) {
        self.object.members.append(JSONObject.Member(key, value.jsonValue))
    }

    mutating func optional(_ key: String, _ value: (some WireValue)?) {
        if let value { self.required(key, value) }
    }

    /// Writes null for nothing.
    mutating func always(_ key: String, _ value: (some WireValue)?) {
        self.object.members.append(JSONObject.Member(key, value?.jsonValue ?? .null))
    }

    mutating func constant(_ key: String, _ value: String) {
        self.required(key, value)
    }
}
