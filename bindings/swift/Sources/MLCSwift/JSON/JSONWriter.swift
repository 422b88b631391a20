/// Writes compact JSON text, members in order.
struct JSONWriter {
    private(set) var text = ""
    /// The path of a number that JSON cannot write: NaN or an infinity.
    private(set) var fault: String?

    mutating func write(_ value: JSONValue, at path: String = "") {
        switch value {
        case .null: self.text += "null"
        case .bool(let flag): self.text += flag ? "true" : "false"
        case .int(let number): self.text += String(number)
        case .double(let number): self.write(number, at: path)
        case .string(let string): self.write(string)
        case .array(let items): self.write(items, at: path)
        case .object(let object): self.write(object, at: path)
        }
    }

    private mutating func write(_ number: Double, at path: String) {
        if !number.isFinite { self.fault = self.fault ?? path }
        self.text += number.isFinite ? number.description : "null"
    }

    private mutating func write(_ items: [JSONValue], at path: String) {
        self.text += "["
        for (index, item) in items.enumerated() {
            if index > 0 { self.text += "," }
            self.write(item, at: path + "[\(index)]")
        }
        self.text += "]"
    }

    private mutating func write(_ object: JSONObject, at path: String) {
        self.text += "{"
        for (index, member) in object.members.enumerated() {
            if index > 0 { self.text += "," }
            self.write(member.key)
            self.text += ":"
            self.write(member.value, at: path.isEmpty ? member.key : "\(path).\(member.key)")
        }
        self.text += "}"
    }

    private mutating func write(_ string: String) {
        self.text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": self.text += "\\\""
            case "\\": self.text += "\\\\"
            case "\n": self.text += "\\n"
            case "\r": self.text += "\\r"
            case "\t": self.text += "\\t"
            case "\0"..<" ": self.text += Self.escape(scalar)
            default: self.text.unicodeScalars.append(scalar)
            }
        }
        self.text += "\""
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        let hex = String(scalar.value, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
    }
}

extension JSONValue {
    /// Reads JSON text.
    public init(jsonText: String) throws(MLCError) {
        try self.init(utf8: Array(jsonText.utf8))
    }

    init(utf8: [UInt8]) throws(MLCError) {
        do throws(JSONSyntaxError) {
            self = try JSONParser.parse(utf8)
        } catch {
            throw MLCError(
                .invalidJson, "invalid JSON at byte \(error.offset): \(error.reason)")
        }
    }

    /// Compact JSON text. A number that is not finite is an error: JSON cannot write it.
    public func jsonText() throws(MLCError) -> String {
        var writer = JSONWriter()
        writer.write(self)
        if let path = writer.fault {
            throw MLCError(
                .invalidJson, "'\(path)' is not a finite number, and JSON has no other",
                param: path)
        }
        return writer.text
    }
}
