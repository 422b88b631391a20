/// A JSON value. Objects keep the order of their members, since a model reads the schemas of its
/// tools in that order; integers stay exact.
///
///     let parameters: JSONObject = ["type": "object", "required": ["city"]]
public enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case int(Int)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// The kinds of JSON values.
    public enum Kind: String, Sendable {
        case null, boolean, number, string, array, object
    }

    public var kind: Kind {
        switch self {
        case .null: .null
        case .bool: .boolean
        case .int, .double: .number
        case .string: .string
        case .array: .array
        case .object: .object
        }
    }

    /// The member of an object; nil when there is none, or when this is no object.
    public subscript(key: String) -> JSONValue? {
        if case .object(let object) = self { object[key] } else { nil }
    }

    /// The element of an array; nil when there is none, or when this is no array.
    public subscript(index: Int) -> JSONValue? {
        if case .array(let items) = self, items.indices.contains(index) {
            items[index]
        } else {
            nil
        }
    }

    public var stringValue: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The number; nil when this is not a number.
    public var doubleValue: Double? {
        switch self {
        case .int(let number): Double(number)
        case .double(let number): number
        default: nil
        }
    }

    /// The integer; nil when this is not a whole number that fits.
    public var intValue: Int? {
        switch self {
        case .int(let number): number
        case .double(let number): Int(exactly: number)
        default: nil
        }
    }
}

/// A JSON object whose members keep their order. A key occurs once when it is set through the
/// subscript. If a text has equal keys, the last one is used.
public struct JSONObject: Hashable, Sendable {
    public struct Member: Hashable, Sendable {
        public var key: String
        public var value: JSONValue

        public init(_ key: String, _ value: JSONValue) {
            self.key = key
            self.value = value
        }
    }

    public var members: [Member]

    public init(_ members: [Member] = []) {
        self.members = members
    }

    public subscript(key: String) -> JSONValue? {
        get { self.members.last { $0.key == key }?.value }
        set {
            let found = self.members.lastIndex { $0.key == key }
            switch (found, newValue) {
            case (let index?, let value?): self.members[index].value = value
            case (let index?, nil): self.members.remove(at: index)
            case (nil, let value?): self.members.append(Member(key, value))
            case (nil, nil): break
            }
        }
    }

    public var keys: [String] { self.members.map(\.key) }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringInterpolation,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(nilLiteral: ()) { self = .null }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int) { self = .int(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(JSONObject(elements.map { JSONObject.Member($0.0, $0.1) }))
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(elements.map { Member($0.0, $0.1) })
    }
}
