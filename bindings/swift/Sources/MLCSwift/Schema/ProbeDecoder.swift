/// The values that a type requested from its decoder.
final class ProbeNode {
    /// The schema of a single value or of an array, not of an object.
    var whole: JSONValue?
    private var properties = JSONObject()
    private var required: [JSONValue] = []

    var schema: JSONValue {
        self.whole ?? [
            "type": "object", "properties": .object(self.properties),
            "required": .array(self.required), "additionalProperties": false,
        ]
    }

    func add(_ key: any CodingKey, _ schema: JSONValue, isRequired: Bool) {
        let isNew = self.properties[key.stringValue] == nil
        self.properties[key.stringValue] = schema
        if isRequired, isNew { self.required.append(.string(key.stringValue)) }
    }
}

/// A decoder without data. See ``SchemaProbe``.
struct ProbeDecoder: Decoder {
    let probe: SchemaProbe
    let node = ProbeNode()
    let codingPath: [any CodingKey] = []
    let userInfo: [CodingUserInfoKey: Any] = [:]

    init(_ probe: SchemaProbe) { self.probe = probe }

    func run<T: Decodable>(_ type: T.Type) throws -> T {
        do {
            return try T(from: self)
        } catch let error as MLCError {
            throw error
        } catch {
            throw undescribable(type, "it does not decode from empty values (\(error))")
        }
    }

    /// A value with which decoding can continue, and its schema.
    func value<T: Decodable>(_ type: T.Type) throws -> (JSONValue, T) {
        let (schema, value) = try self.probe.describe(type)
        guard let value else { throw undescribable(type, "it contains itself") }
        return (schema, value)
    }

    func container<Key>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(KeyedProbe<Key>(decoder: self))
    }

    func unkeyedContainer() -> any UnkeyedDecodingContainer { UnkeyedProbe(decoder: self) }
    func singleValueContainer() -> any SingleValueDecodingContainer { SingleProbe(decoder: self) }
}

private struct KeyedProbe<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: ProbeDecoder
    let codingPath: [any CodingKey] = []
    let allKeys: [Key] = []

    func contains(_ key: Key) -> Bool { true }
    func decodeNil(forKey key: Key) -> Bool { false }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        let (schema, value) = try self.decoder.value(type)
        self.decoder.node.add(key, schema, isRequired: true)
        return value
    }

    func optional<T: Decodable>(_ type: T.Type, _ key: Key) throws -> T? {
        let schema = try self.decoder.probe.describe(type).schema
        self.decoder.node.add(key, schema, isRequired: false)
        return nil
    }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        try self.optional(type, key)
    }

    // The protocol requires each of these functions.
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        try self.optional(type, key)
    }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try self.optional(type, key)
    }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try self.optional(type, key)
    }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
        try self.optional(type, key)
    }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
        try self.optional(type, key)
    }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? {
        try self.optional(type, key)
    }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? {
        try self.optional(type, key)
    }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? {
        try self.optional(type, key)
    }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
        try self.optional(type, key)
    }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? {
        try self.optional(type, key)
    }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? {
        try self.optional(type, key)
    }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
        try self.optional(type, key)
    }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
        try self.optional(type, key)
    }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? {
        try self.optional(type, key)
    }

    func nestedContainer<Nested>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        throw undescribable(type, "it decodes from a nested container")
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        throw undescribable(Key.self, "it decodes from a nested container")
    }

    func superDecoder() throws -> any Decoder {
        throw undescribable(Key.self, "it decodes a superclass")
    }

    func superDecoder(forKey key: Key) throws -> any Decoder { try self.superDecoder() }
}

/// An array that a type reads element by element: the first element's schema is used for all.
private struct UnkeyedProbe: UnkeyedDecodingContainer {
    let decoder: ProbeDecoder
    let codingPath: [any CodingKey] = []
    var currentIndex = 0
    var count: Int? { nil }
    var isAtEnd: Bool { self.currentIndex > 0 }

    init(decoder: ProbeDecoder) {
        self.decoder = decoder
        decoder.node.whole = ["type": "array"]
    }

    mutating func decodeNil() -> Bool { false }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let (schema, value) = try self.decoder.value(type)
        guard self.currentIndex == 0 else { throw undescribable(type, "it is one of a tuple") }
        self.decoder.node.whole = ["type": "array", "items": schema]
        self.currentIndex += 1
        return value
    }

    mutating func nestedContainer<Nested>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        throw undescribable(type, "it decodes from a nested container")
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        throw undescribable(Self.self, "it decodes from a nested container")
    }

    mutating func superDecoder() throws -> any Decoder {
        throw undescribable(Self.self, "it decodes a superclass")
    }
}

/// A type with a single value of another type, such as a wrapper around a String.
private struct SingleProbe: SingleValueDecodingContainer {
    let decoder: ProbeDecoder
    let codingPath: [any CodingKey] = []

    func decodeNil() -> Bool { false }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let (schema, value) = try self.decoder.value(type)
        self.decoder.node.whole = schema
        return value
    }
}
