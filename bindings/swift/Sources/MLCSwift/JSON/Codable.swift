// For `JSONEncoder` and other encoders of the language: every value is converted to a JSONValue.

private struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension JSONValue: Codable {
    /// A decoder does not give the order of an object's members, so they are sorted.
    public init(from decoder: any Decoder) throws {
        if let object = try? decoder.container(keyedBy: AnyKey.self) {
            let keys = object.allKeys.sorted { $0.stringValue < $1.stringValue }
            self = .object(
                JSONObject(
                    try keys.map {
                        JSONObject.Member($0.stringValue, try object.decode(Self.self, forKey: $0))
                    }))
        } else if var items = try? decoder.unkeyedContainer() {
            var array: [JSONValue] = []
            while !items.isAtEnd { array.append(try items.decode(Self.self)) }
            self = .array(array)
        } else {
            self = try Self(scalar: try decoder.singleValueContainer())
        }
    }

    private init(scalar: any SingleValueDecodingContainer) throws {
        if scalar.decodeNil() {
            self = .null
        } else if let value = try? scalar.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? scalar.decode(Int.self) {
            self = .int(value)
        } else if let value = try? scalar.decode(Double.self) {
            self = .double(value)
        } else {
            self = .string(try scalar.decode(String.self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let object):
            var container = encoder.container(keyedBy: AnyKey.self)
            for member in object.members {
                try container.encode(member.value, forKey: AnyKey(stringValue: member.key))
            }
        case .array(let items):
            var container = encoder.unkeyedContainer()
            for item in items { try container.encode(item) }
        default:
            try self.encodeScalar(to: encoder)
        }
    }

    private func encodeScalar(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .bool(let value): try container.encode(value)
        case .int(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .null, .array, .object: try container.encodeNil()
        }
    }
}

extension JSONObject: Codable {
    public init(from decoder: any Decoder) throws {
        let value = try JSONValue(from: decoder)
        do {
            try self.init(jsonValue: value)
        } catch {
            throw error.asDecodingError(decoder.codingPath)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        try JSONValue.object(self).encode(to: encoder)
    }
}

extension WireObject {
    public init(from decoder: any Decoder) throws {
        let value = try JSONValue(from: decoder)
        do {
            try self.init(jsonValue: value)
        } catch {
            throw error.asDecodingError(decoder.codingPath)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        try self.jsonValue.encode(to: encoder)
    }

    /// Reads JSON text.
    public init(jsonText: String) throws(MLCError) {
        try self.init(utf8: Array(jsonText.utf8))
    }

    init(utf8: [UInt8]) throws(MLCError) {
        let value = try JSONValue(utf8: utf8)
        do throws(WireFault) {
            try self.init(jsonValue: value)
        } catch {
            throw MLCError(error.reason, error.message, param: error.path)
        }
    }

    /// Compact JSON text, members in the schema's order.
    public func jsonText() throws(MLCError) -> String {
        try self.jsonValue.jsonText()
    }
}

extension WireEnum {
    public init(jsonValue: JSONValue) throws(WireFault) {
        self.init(rawValue: try String(jsonValue: jsonValue))
    }

    public var jsonValue: JSONValue { .string(self.rawValue) }
    public init(stringLiteral value: String) { self.init(rawValue: value) }
    public var description: String { self.rawValue }
}

extension WireFault {
    fileprivate func asDecodingError(_ path: [any CodingKey]) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: path, debugDescription: self.message))
    }
}
