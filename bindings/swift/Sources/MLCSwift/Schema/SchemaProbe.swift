import Foundation

/// Finds the JSON Schema of a `Decodable` type. The type decodes itself from a decoder without
/// data, which records the requested values and returns empty ones.
final class SchemaProbe {
    private var definitions = JSONObject()
    private var open: [(type: ObjectIdentifier, name: String)] = []
    private var referred: Set<String> = []

    /// The schema of the whole, with `$defs` for types that contain themselves.
    static func schema<T: Decodable>(of type: T.Type) throws -> JSONObject {
        let probe = SchemaProbe()
        var schema = try JSONObject(jsonValue: try probe.describe(type).schema)
        if !probe.definitions.members.isEmpty { schema["$defs"] = .object(probe.definitions) }
        return schema
    }

    /// The schema, and a value with which decoding can continue; none for a type that is already
    /// being described.
    func describe<T: Decodable>(_ type: T.Type) throws -> (schema: JSONValue, value: T?) {
        if let schema = scalarSchemas[ObjectIdentifier(type)] {
            return (schema, scalarValues[ObjectIdentifier(type)] as? T)
        }
        if let known = type as? any Describable.Type {
            return (try known.describe(self), known.emptyValue as? T)
        }
        if let cases = try enumCases(of: type) {
            return (["enum": .array(cases.words)], cases.first)
        }
        return try self.describeByDecoding(type)
    }

    private func describeByDecoding<T: Decodable>(
        _ type: T.Type
    ) throws -> (schema: JSONValue, value: T?) {
        let identity = ObjectIdentifier(type)
        if let outer = self.open.first(where: { $0.type == identity }) {
            self.referred.insert(outer.name)
            return (["$ref": "#/$defs/\(outer.name)"], nil)
        }
        let name = String(describing: type)
        self.open.append((identity, name))
        defer { self.open.removeLast() }
        let decoder = ProbeDecoder(self)
        let value = try decoder.run(type)
        var schema = decoder.node.schema
        if let convertible = type as? any JSONSchemaConvertible.Type {
            schema = convertible.jsonSchema.jsonValue
        }
        guard self.referred.contains(name) else { return (schema, value) }
        self.definitions[name] = schema
        return (["$ref": "#/$defs/\(name)"], value)
    }
}

/// A type that gives its own schema, because decoding cannot find it.
public protocol JSONSchemaConvertible: Decodable {
    static var jsonSchema: JSONObject { get }
}

/// Why a type has no schema, and what to do.
func undescribable(_ type: Any.Type, _ why: String) -> MLCError {
    MLCError(
        .undescribableType,
        "\(type) cannot be described by a JSON Schema: \(why); conform it to JSONSchemaConvertible",
        param: "\(type)")
}

private let integer: JSONValue = ["type": "integer"]
private let natural: JSONValue = ["type": "integer", "minimum": 0]
private let number: JSONValue = ["type": "number"]

// In the form that JSONDecoder reads by default.
private let scalarSchemas: [ObjectIdentifier: JSONValue] = [
    ObjectIdentifier(Bool.self): ["type": "boolean"],
    ObjectIdentifier(String.self): ["type": "string"],
    ObjectIdentifier(Int.self): integer, ObjectIdentifier(Int8.self): integer,
    ObjectIdentifier(Int16.self): integer, ObjectIdentifier(Int32.self): integer,
    ObjectIdentifier(Int64.self): integer, ObjectIdentifier(UInt.self): natural,
    ObjectIdentifier(UInt8.self): natural, ObjectIdentifier(UInt16.self): natural,
    ObjectIdentifier(UInt32.self): natural, ObjectIdentifier(UInt64.self): natural,
    ObjectIdentifier(Double.self): number, ObjectIdentifier(Float.self): number,
    ObjectIdentifier(Decimal.self): number, ObjectIdentifier(Date.self): number,
    ObjectIdentifier(URL.self): ["type": "string", "format": "uri"],
    ObjectIdentifier(UUID.self): ["type": "string", "format": "uuid"],
    ObjectIdentifier(JSONValue.self): [:],
    ObjectIdentifier(JSONObject.self): ["type": "object"],
]

private let scalarValues: [ObjectIdentifier: any Sendable] = [
    ObjectIdentifier(Bool.self): false, ObjectIdentifier(String.self): "",
    ObjectIdentifier(Int.self): Int(0), ObjectIdentifier(Int8.self): Int8(0),
    ObjectIdentifier(Int16.self): Int16(0), ObjectIdentifier(Int32.self): Int32(0),
    ObjectIdentifier(Int64.self): Int64(0), ObjectIdentifier(UInt.self): UInt(0),
    ObjectIdentifier(UInt8.self): UInt8(0), ObjectIdentifier(UInt16.self): UInt16(0),
    ObjectIdentifier(UInt32.self): UInt32(0), ObjectIdentifier(UInt64.self): UInt64(0),
    ObjectIdentifier(Double.self): Double(0), ObjectIdentifier(Float.self): Float(0),
    ObjectIdentifier(Decimal.self): Decimal(0), ObjectIdentifier(Date.self): Date.distantPast,
    ObjectIdentifier(URL.self): URL(fileURLWithPath: "/"), ObjectIdentifier(UUID.self): UUID(),
    ObjectIdentifier(JSONValue.self): JSONValue.null,
    ObjectIdentifier(JSONObject.self): JSONObject(),
]

/// The words of an enum that lists its cases; nil for anything else.
private func enumCases<T>(of type: T.Type) throws -> (words: [JSONValue], first: T?)? {
    guard type is any RawRepresentable.Type else { return nil }
    guard let listed = type as? any CaseIterable.Type else {
        throw undescribable(type, "its cases are not known (make it CaseIterable)")
    }
    let cases = allCases(listed)
    let words = try cases.map { item -> JSONValue in
        switch (item as? any RawRepresentable)?.rawValue {
        case let word as String: return .string(word)
        case let number as Int: return .int(number)
        default: throw undescribable(type, "its raw values are neither String nor Int")
        }
    }
    return (words, cases.first as? T)
}

private func allCases<Listed: CaseIterable>(_ type: Listed.Type) -> [Any] {
    type.allCases.map { $0 }
}

/// The containers of the language: decoding does not tell enough about them.
protocol Describable {
    static var emptyValue: Any { get }
    static func describe(_ probe: SchemaProbe) throws -> JSONValue
}

extension Array: Describable where Element: Decodable {
    static var emptyValue: Any { Self() }
    static func describe(_ probe: SchemaProbe) throws -> JSONValue {
        ["type": "array", "items": try probe.describe(Element.self).schema]
    }
}

extension Set: Describable where Element: Decodable {
    static var emptyValue: Any { Self() }
    static func describe(_ probe: SchemaProbe) throws -> JSONValue {
        ["type": "array", "items": try probe.describe(Element.self).schema]
    }
}

extension Dictionary: Describable where Key == String, Value: Decodable {
    static var emptyValue: Any { Self() }
    static func describe(_ probe: SchemaProbe) throws -> JSONValue {
        ["type": "object", "additionalProperties": try probe.describe(Value.self).schema]
    }
}

extension Optional: Describable where Wrapped: Decodable {
    static var emptyValue: Any { Self.none as Any }
    static func describe(_ probe: SchemaProbe) throws -> JSONValue {
        ["anyOf": [try probe.describe(Wrapped.self).schema, ["type": "null"]]]
    }
}
