/// JSON text that cannot be read, with the number of bytes before the error.
struct JSONSyntaxError: Error, Equatable {
    let reason: String
    let offset: Int
}

/// Reads JSON text. We wrote our own parser because a chunk must be read in microseconds and the
/// order of members must be kept; Foundation's decoder does neither. It accepts RFC 8259, limits the
/// depth, and reads bytes that are not UTF-8 as U+FFFD.
struct JSONParser {
    static let maxDepth = 128

    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    private var depth = 0

    private init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    static func parse(_ bytes: [UInt8]) throws(JSONSyntaxError) -> JSONValue {
        let parsed: Result<JSONValue, JSONSyntaxError> = bytes.withUnsafeBufferPointer { buffer in
            var parser = JSONParser(buffer)
            do throws(JSONSyntaxError) {
                return .success(try parser.document())
            } catch {
                return .failure(error)
            }
        }
        return try parsed.get()
    }

    private mutating func document() throws(JSONSyntaxError) -> JSONValue {
        let value = try self.value()
        self.skipSpace()
        if self.position < self.bytes.count { throw self.fault("text follows the value") }
        return value
    }

    private func fault(_ reason: String) -> JSONSyntaxError {
        JSONSyntaxError(reason: reason, offset: self.position)
    }

    /// The byte at the position. At the end it is 0, which valid JSON never has.
    private var next: UInt8 {
        self.position < self.bytes.count ? self.bytes[self.position] : 0
    }

    private mutating func skipSpace() {
        while self.position < self.bytes.count {
            switch self.bytes[self.position] {
            case 0x20, 0x0A, 0x0D, 0x09: self.position += 1
            default: return
            }
        }
    }

    private mutating func skip(_ byte: UInt8) -> Bool {
        guard self.next == byte else { return false }
        self.position += 1
        return true
    }

    private mutating func value() throws(JSONSyntaxError) -> JSONValue {
        self.skipSpace()
        switch self.next {
        case UInt8(ascii: "{"): return .object(try self.object())
        case UInt8(ascii: "["): return .array(try self.array())
        case UInt8(ascii: "\""): return .string(try self.string())
        case UInt8(ascii: "t"): return try self.word("true", .bool(true))
        case UInt8(ascii: "f"): return try self.word("false", .bool(false))
        case UInt8(ascii: "n"): return try self.word("null", .null)
        default: return try self.number()
        }
    }

    private mutating func word(
        _ word: StaticString, _ value: JSONValue
    ) throws(JSONSyntaxError) -> JSONValue {
        for index in 0..<word.utf8CodeUnitCount {
            guard self.skip(word.utf8Start[index]) else { throw self.fault("not a JSON value") }
        }
        return value
    }

    private mutating func enter() throws(JSONSyntaxError) {
        self.depth += 1
        self.position += 1
        if self.depth > Self.maxDepth { throw self.fault("deeper than \(Self.maxDepth) levels") }
    }

    private mutating func object() throws(JSONSyntaxError) -> JSONObject {
        try self.enter()
        defer { self.depth -= 1 }
        var members: [JSONObject.Member] = []
        self.skipSpace()
        if self.skip(UInt8(ascii: "}")) { return JSONObject() }
        while true {
            self.skipSpace()
            guard self.next == UInt8(ascii: "\"") else { throw self.fault("a key is missing") }
            let key = try self.string()
            self.skipSpace()
            guard self.skip(UInt8(ascii: ":")) else { throw self.fault("':' is missing") }
            members.append(JSONObject.Member(key, try self.value()))
            self.skipSpace()
            if self.skip(UInt8(ascii: "}")) { return JSONObject(members) }
            guard self.skip(UInt8(ascii: ",")) else { throw self.fault("',' or '}' is missing") }
        }
    }

    private mutating func array() throws(JSONSyntaxError) -> [JSONValue] {
        try self.enter()
        defer { self.depth -= 1 }
        var items: [JSONValue] = []
        self.skipSpace()
        if self.skip(UInt8(ascii: "]")) { return items }
        while true {
            items.append(try self.value())
            self.skipSpace()
            if self.skip(UInt8(ascii: "]")) { return items }
            guard self.skip(UInt8(ascii: ",")) else { throw self.fault("',' or ']' is missing") }
        }
    }

    private mutating func string() throws(JSONSyntaxError) -> String {
        self.position += 1
        let start = self.position
        while self.position < self.bytes.count {
            switch self.bytes[self.position] {
            case UInt8(ascii: "\""):
                self.position += 1
                let utf8 = UnsafeBufferPointer(rebasing: self.bytes[start..<self.position - 1])
                return String(decoding: utf8, as: UTF8.self)
            case UInt8(ascii: "\\"):
                return try self.escapedString(from: start)
            case 0..<0x20:
                throw self.fault("a control character in a string")
            default:
                self.position += 1
            }
        }
        throw self.fault("a string has no end")
    }

    /// Copies the rest of a string with an escape, piece by piece.
    private mutating func escapedString(from start: Int) throws(JSONSyntaxError) -> String {
        var utf8 = Array(self.bytes[start..<self.position])
        while self.position < self.bytes.count {
            let byte = self.bytes[self.position]
            self.position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: utf8, as: UTF8.self)
            case UInt8(ascii: "\\"): try self.escape(into: &utf8)
            case 0..<0x20: throw self.fault("a control character in a string")
            default: utf8.append(byte)
            }
        }
        throw self.fault("a string has no end")
    }

    private mutating func escape(into utf8: inout [UInt8]) throws(JSONSyntaxError) {
        let byte = self.next
        self.position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): utf8.append(byte)
        case UInt8(ascii: "b"): utf8.append(0x08)
        case UInt8(ascii: "f"): utf8.append(0x0C)
        case UInt8(ascii: "n"): utf8.append(0x0A)
        case UInt8(ascii: "r"): utf8.append(0x0D)
        case UInt8(ascii: "t"): utf8.append(0x09)
        case UInt8(ascii: "u"): utf8.append(contentsOf: String(try self.scalar()).utf8)
        default: throw self.fault("an unknown escape")
        }
    }

    /// Reads a code point after `\u`. It may be written as two surrogates.
    private mutating func scalar() throws(JSONSyntaxError) -> Character {
        var code = try self.hex4()
        if (0xD800..<0xDC00).contains(code),
            self.skip(UInt8(ascii: "\\")), self.skip(UInt8(ascii: "u"))
        {
            let low = try self.hex4()
            guard (0xDC00..<0xE000).contains(low) else { throw self.fault("half a surrogate pair") }
            code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(code) else { throw self.fault("half a surrogate pair") }
        return Character(scalar)
    }

    private mutating func hex4() throws(JSONSyntaxError) -> UInt32 {
        var code: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = Character(Unicode.Scalar(self.next)).hexDigitValue else {
                throw self.fault("an escape needs four hexadecimal digits")
            }
            code = code << 4 | UInt32(digit)
            self.position += 1
        }
        return code
    }

    private mutating func number() throws(JSONSyntaxError) -> JSONValue {
        let start = self.position
        _ = self.skip(UInt8(ascii: "-"))
        if !self.skip(UInt8(ascii: "0")) { try self.digits() }
        var isWhole = true
        if self.skip(UInt8(ascii: ".")) {
            isWhole = false
            try self.digits()
        }
        if self.skip(UInt8(ascii: "e")) || self.skip(UInt8(ascii: "E")) {
            isWhole = false
            _ = self.skip(UInt8(ascii: "+")) || self.skip(UInt8(ascii: "-"))
            try self.digits()
        }
        let text = String(decoding: self.bytes[start..<self.position], as: UTF8.self)
        // An integer that does not fit becomes a decimal, as in the core.
        if isWhole, let whole = Int(text) { return .int(whole) }
        guard let decimal = Double(text), decimal.isFinite else {
            throw self.fault("a number is too large")
        }
        return .double(decimal)
    }

    private mutating func digits() throws(JSONSyntaxError) {
        let start = self.position
        while case UInt8(ascii: "0")...UInt8(ascii: "9") = self.next { self.position += 1 }
        if self.position == start { throw self.fault("not a JSON value") }
    }
}
