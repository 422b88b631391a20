// The JSON form of the language's own types.

extension Bool: WireValue {
    public init(jsonValue: JSONValue) throws(WireFault) {
        guard case .bool(let value) = jsonValue else {
            throw .wrongType(jsonValue, expected: "a boolean")
        }
        self = value
    }

    public var jsonValue: JSONValue { .bool(self) }
}

extension Int: WireValue {
    /// 3.0 is an integer too: in several languages all numbers are decimals.
    public init(jsonValue: JSONValue) throws(WireFault) {
        guard let value = jsonValue.intValue else {
            throw .wrongType(jsonValue, expected: "an integer")
        }
        self = value
    }

    public var jsonValue: JSONValue { .int(self) }
}

extension Double: WireValue {
    public init(jsonValue: JSONValue) throws(WireFault) {
        guard let value = jsonValue.doubleValue else {
            throw .wrongType(jsonValue, expected: "a number")
        }
        self = value
    }

    public var jsonValue: JSONValue { .double(self) }
}

extension String: WireValue {
    public init(jsonValue: JSONValue) throws(WireFault) {
        guard case .string(let value) = jsonValue else {
            throw .wrongType(jsonValue, expected: "a string")
        }
        self = value
    }

    public var jsonValue: JSONValue { .string(self) }
}

extension JSONValue: WireValue {
    public init(jsonValue: JSONValue) { self = jsonValue }
    public var jsonValue: JSONValue { self }
}

extension JSONObject: WireValue {
    public init(jsonValue: JSONValue) throws(WireFault) {
        guard case .object(let value) = jsonValue else {
            throw .wrongType(jsonValue, expected: "an object")
        }
        self = value
    }

    public var jsonValue: JSONValue { .object(self) }
}

extension Array: WireValue where Element: WireValue {
    public init(jsonValue: JSONValue) throws(WireFault) {
        guard case .array(let items) = jsonValue else {
            throw .wrongType(jsonValue, expected: "an array")
        }
        self.init()
        self.reserveCapacity(items.count)
        for (index, item) in items.enumerated() {
            do throws(WireFault) {
                self.append(try Element(jsonValue: item))
            } catch {
                throw error.within("[\(index)]")
            }
        }
    }

    public var jsonValue: JSONValue { .array(self.map(\.jsonValue)) }
}

/// A key of a JSON object that is used as a map.
public protocol WireKey: Hashable, Comparable, Sendable {
    init?(wireKey: String)
    var wireKey: String { get }
}

extension String: WireKey {
    public init?(wireKey: String) { self = wireKey }
    public var wireKey: String { self }
}

extension Int: WireKey {
    /// Decimal and not negative, the form that the core accepts.
    public init?(wireKey: String) {
        guard wireKey.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        self.init(wireKey)
    }

    public var wireKey: String { String(self) }
}

extension Dictionary: WireValue where Key: WireKey, Value: WireValue {
    public init(jsonValue: JSONValue) throws(WireFault) {
        self.init()
        for member in try JSONObject(jsonValue: jsonValue).members {
            guard let key = Key(wireKey: member.key) else { throw .wrongKey(member.key) }
            do throws(WireFault) {
                self[key] = try Value(jsonValue: member.value)
            } catch {
                throw error.within(member.key)
            }
        }
    }

    /// Sorted by key: equal maps are equal texts.
    public var jsonValue: JSONValue {
        let members = self.sorted { $0.key < $1.key }
        return .object(
            JSONObject(members.map { JSONObject.Member($0.key.wireKey, $0.value.jsonValue) }))
    }
}
