import Foundation

/// Computes an arithmetic expression: + - * / % ^, brackets, a few functions and constants.
///
///     try Calculator.evaluate("2 * (3 + sqrt(16))") == 14
public enum Calculator {
    private static let longest = 1000  // UTF-16 units

    public static func evaluate(_ expression: String) throws(ToolMistake) -> Double {
        let text = expression.trimmed
        if text.isEmpty { throw ToolMistake("the expression is empty") }
        if text.utf16.count > self.longest {
            throw ToolMistake("the expression is longer than \(self.longest)")
        }
        var reader = Reader(tokens: try Tokens.read(text))
        let value = try reader.sum()
        if let token = reader.next { throw ToolMistake("'\(token.text)' is not expected here") }
        guard value.isFinite else { throw ToolMistake("the result is no finite number") }
        return value
    }
}

/// A mistake in a call of a tool; the model reads the words.
public struct ToolMistake: Error, Hashable, Sendable {
    public let why: String

    init(_ why: String) { self.why = why }
}

private enum Token: Hashable {
    case number(Double, String)
    case word(String)
    case sign(Character)

    var text: String {
        switch self {
        case .number(_, let text), .word(let text): text
        case .sign(let sign): String(sign)
        }
    }
}

private enum Tokens {
    private static let same: [Character: Character] = ["×": "*", "÷": "/", "−": "-"]

    static func read(_ text: String) throws(ToolMistake) -> [Token] {
        var rest = text[...]
        var tokens: [Token] = []
        while true {
            let start = rest
            rest = rest.drop { $0.isWhitespace }
            if rest.isEmpty { return tokens }
            guard let token = self.number(&rest) ?? self.word(&rest) ?? self.sign(&rest) else {
                throw ToolMistake("cannot read '\(start.cut(utf16: 10))'")
            }
            tokens.append(token)
        }
    }

    /// `12`, `1.5`, `5.`, `.5`, `1e3`.
    private static func number(_ rest: inout Substring) -> Token? {
        let whole = rest.prefix(while: self.isDigit)
        var end = whole.endIndex
        if rest[end...].first == "." {
            let afterPoint = rest.index(after: end)
            let fraction = rest[afterPoint...].prefix(while: self.isDigit)
            if whole.isEmpty && fraction.isEmpty { return nil }
            end = fraction.endIndex
        } else if whole.isEmpty {
            return nil
        }
        end = self.exponent(rest, end)
        let text = String(rest[..<end])
        let padded =
            (text.hasPrefix(".") ? "0" : "") + text.replacingOccurrences(of: ".e", with: ".0e")
        guard let value = Double(padded.hasSuffix(".") ? padded + "0" : padded.lowercased()) else {
            return nil
        }
        rest = rest[end...]
        return .number(value, text)
    }

    /// The end of an exponent that begins at `end`, if there is one.
    private static func exponent(_ rest: Substring, _ end: Substring.Index) -> Substring.Index {
        guard let letter = rest[end...].first, letter == "e" || letter == "E" else { return end }
        var at = rest.index(after: end)
        if let sign = rest[at...].first, sign == "+" || sign == "-" { at = rest.index(after: at) }
        let digits = rest[at...].prefix(while: self.isDigit)
        return digits.isEmpty ? end : digits.endIndex
    }

    private static func word(_ rest: inout Substring) -> Token? {
        let word = rest.prefix { $0.isASCII && $0.isLetter }
        if word.isEmpty { return nil }
        rest = rest[word.endIndex...]
        return .word(word.lowercased())
    }

    private static func sign(_ rest: inout Substring) -> Token? {
        if rest.hasPrefix("**") {
            rest = rest.dropFirst(2)
            return .sign("^")
        }
        guard let first = rest.first, "-+*/%^()×÷−".contains(first) else { return nil }
        rest = rest.dropFirst()
        return .sign(self.same[first] ?? first)
    }

    private static func isDigit(_ character: Character) -> Bool {
        character.isASCII && character.isNumber
    }
}

private struct Reader {
    private static let functions: [String: @Sendable (Double) -> Double] = [
        "sqrt": { $0.squareRoot() }, "abs": { abs($0) }, "floor": { floor($0) },
        "ceil": { ceil($0) }, "round": { floor($0 + 0.5) }, "sin": { sin($0) },
        "cos": { cos($0) }, "tan": { tan($0) }, "ln": { log($0) }, "log": { log10($0) },
        "exp": { exp($0) },
    ]
    private static let constants = ["pi": Double.pi, "e": M_E]
    private static let deepest = 200

    let tokens: [Token]
    private var at = 0
    private var depth = 0

    init(tokens: [Token]) { self.tokens = tokens }

    var next: Token? { self.at < self.tokens.count ? self.tokens[self.at] : nil }

    /// Takes the next token if it is one of these.
    private mutating func take(_ signs: Character...) -> Character? {
        guard case .sign(let sign)? = self.next, signs.contains(sign) else { return nil }
        self.at += 1
        return sign
    }

    mutating func sum() throws(ToolMistake) -> Double {
        var value = try self.product()
        while let sign = self.take("+", "-") {
            let right = try self.product()
            value = sign == "+" ? value + right : value - right
        }
        return value
    }

    private mutating func product() throws(ToolMistake) -> Double {
        var value = try self.signed()
        while let sign = self.take("*", "/", "%") {
            let right = try self.signed()
            switch sign {
            case "*": value *= right
            case "/": value /= right
            default: value = fmod(value, right)
            }
        }
        return value
    }

    private mutating func signed() throws(ToolMistake) -> Double {
        self.depth += 1
        defer { self.depth -= 1 }
        // The calls below nest; a thread's stack does not hold a thousand of them.
        guard self.depth <= Self.deepest else { throw ToolMistake("the brackets nest too deep") }
        if self.take("-") != nil { return -(try self.signed()) }
        if self.take("+") != nil { return try self.signed() }
        let base = try self.atom()
        return self.take("^") == nil ? base : pow(base, try self.signed())
    }

    private mutating func atom() throws(ToolMistake) -> Double {
        if self.take("(") != nil { return try self.bracketed() }
        guard let token = self.next else { throw ToolMistake("the expression ends too early") }
        self.at += 1
        if case .number(let value, _) = token { return value }
        if let value = Self.constants[token.text] { return value }
        guard let function = Self.functions[token.text] else {
            throw ToolMistake("'\(token.text)' is not known")
        }
        guard self.take("(") != nil else { throw ToolMistake("'\(token.text)' needs brackets") }
        return function(try self.bracketed())
    }

    private mutating func bracketed() throws(ToolMistake) -> Double {
        let value = try self.sum()
        guard self.take(")") != nil else { throw ToolMistake("a bracket is not closed") }
        return value
    }
}
