import Foundation

/// A part of an answer that stands for itself. Marks inside of its lines are left to the system's
/// reader. The Android app and the server's page cut answers in the same way (`vectors/markdown.json`).
public struct MarkdownBlock: Hashable, Sendable {
    public enum Kind: String, Sendable, Codable {
        case paragraph, heading, item, quote, code, table, rule
    }

    public let kind: Kind
    public var text = ""
    /// Of a heading from 1 to 6; of an item and a quote how far it is moved in.
    public var level = 0
    /// Of code its language, of an item its mark ("•", "2.").
    public var label = ""
    /// Of a table, its rows; the first one is the head.
    public var rows: [[String]] = []

    /// The blocks of a text. No text is lost: what is not closed yet stays as it is written.
    public static func blocks(_ text: String) -> [MarkdownBlock] {
        var reader = MarkdownReader(text)
        return reader.read()
    }
}

private struct MarkdownReader {
    private let lines: [Substring]
    private var at = 0
    private var found: [MarkdownBlock] = []

    init(_ text: String) {
        let unix = text.replacingOccurrences(of: "\r\n", with: "\n")
        self.lines = unix.split(separator: "\n", omittingEmptySubsequences: false)
    }

    mutating func read() -> [MarkdownBlock] {
        while self.at < self.lines.count { self.block() }
        return self.found
    }

    private mutating func block() {
        let line = self.lines[self.at]
        if line.isBlank {
            self.at += 1
        } else if let (mark, language) = line.fence {
            self.code(mark, language)
        } else if let (level, title) = line.heading {
            self.add(MarkdownBlock(kind: .heading, text: title, level: level))
        } else if line.isRule {
            self.add(MarkdownBlock(kind: .rule))
        } else if line.quoted != nil {
            self.quote()
        } else if let (indent, mark, words) = line.item {
            self.item(indent, mark, words)
        } else if self.isTable {
            self.table()
        } else {
            self.paragraph()
        }
    }

    private mutating func add(_ block: MarkdownBlock) {
        self.found.append(block)
        self.at += 1
    }

    private mutating func code(_ mark: Substring, _ language: String) {
        var body: [Substring] = []
        self.at += 1
        while self.at < self.lines.count, !self.lines[self.at].closes(mark) {
            body.append(self.lines[self.at])
            self.at += 1
        }
        self.add(MarkdownBlock(kind: .code, text: body.joined(separator: "\n"), label: language))
    }

    private mutating func quote() {
        var body: [Substring] = []
        while self.at < self.lines.count, let words = self.lines[self.at].quoted {
            body.append(words)
            self.at += 1
        }
        self.at -= 1
        let text = body.joined(separator: "\n").trimmingCharacters(in: .whitespacesAndNewlines)
        self.add(MarkdownBlock(kind: .quote, text: text, level: 1))
    }

    private mutating func item(_ indent: Int, _ mark: String, _ words: Substring) {
        var body = [words]
        while let next = self.next, next.hasPrefix("  "), !next.isBlank, !next.startsBlock {
            body.append(next.drop { $0.isWhitespace })
            self.at += 1
        }
        let text = body.map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: "\n")
        self.add(
            MarkdownBlock(kind: .item, text: text, level: min(indent / 2, 6), label: mark))
    }

    private var next: Substring? {
        self.at + 1 < self.lines.count ? self.lines[self.at + 1] : nil
    }

    private var isTable: Bool {
        guard let next, next.contains("-"), next.allSatisfy({ " \t|:-".contains($0) }) else {
            return false
        }
        let head = self.lines[self.at]
        return head.contains("|") && head.cells.count == next.cells.count
    }

    private mutating func table() {
        var rows = [self.lines[self.at].cells]
        self.at += 2
        while self.at < self.lines.count, self.lines[self.at].contains("|") {
            let cells = self.lines[self.at].cells
            rows.append(rows[0].indices.map { $0 < cells.count ? cells[$0] : "" })
            self.at += 1
        }
        self.at -= 1
        let text = rows.map { $0.joined(separator: " | ") }.joined(separator: "\n")
        self.add(MarkdownBlock(kind: .table, text: text, rows: rows))
    }

    private mutating func paragraph() {
        var body = [self.lines[self.at]]
        while let next = self.next, !next.isBlank, !next.startsBlock {
            body.append(next)
            self.at += 1
        }
        let text = body.map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: "\n")
        self.add(MarkdownBlock(kind: .paragraph, text: text))
    }
}

extension Substring {
    fileprivate var isBlank: Bool { self.allSatisfy(\.isWhitespace) }

    fileprivate var startsBlock: Bool {
        self.fence != nil || self.heading != nil || self.isRule || self.quoted != nil
            || self.item != nil
    }

    /// Without up to three spaces before it; nil when there are more.
    private var inner: Substring? {
        let spaces = self.prefix { $0 == " " }.count
        return spaces > 3 ? nil : self.dropFirst(spaces)
    }

    /// The mark of a fence that begins here, and the language.
    fileprivate var fence: (Substring, String)? {
        guard let inner, let mark = inner.first, mark == "`" || mark == "~" else { return nil }
        let marks = inner.prefix { $0 == mark }
        let rest = inner.dropFirst(marks.count)
        guard marks.count >= 3, !rest.contains("`") else { return nil }
        let word = rest.split(whereSeparator: \.isWhitespace).first
        return (marks, word.map(String.init) ?? "")
    }

    fileprivate func closes(_ mark: Substring) -> Bool {
        let text = self.trimmingCharacters(in: .whitespaces)
        return text.count >= mark.count && text.allSatisfy { $0 == mark.first }
    }

    fileprivate var heading: (Int, String)? {
        guard let inner else { return nil }
        let marks = inner.prefix { $0 == "#" }.count
        let rest = inner.dropFirst(marks)
        guard (1...6).contains(marks), rest.first?.isWhitespace ?? true else { return nil }
        var title = rest.trimmingCharacters(in: .whitespaces)[...]
        while let last = title.last, last == "#" || last.isWhitespace { title.removeLast() }
        return (marks, String(title))
    }

    fileprivate var isRule: Bool {
        let marks = self.filter { !$0.isWhitespace }
        guard let mark = marks.first, marks.count > 2, "-*_".contains(mark) else { return false }
        return marks.allSatisfy { $0 == mark }
    }

    fileprivate var quoted: Substring? {
        guard let inner, inner.first == ">" else { return nil }
        let rest = inner.dropFirst()
        return rest.first == " " ? rest.dropFirst() : rest
    }

    /// How far it is moved in, its mark, and what it says.
    fileprivate var item: (Int, String, Substring)? {
        let words = self.drop { $0.isWhitespace }
        let indent = self.count - words.count
        if let mark = words.first, "-+*".contains(mark), words.dropFirst().first?.isBlank == true {
            return (indent, "•", words.dropFirst(2).drop { $0.isWhitespace })
        }
        let digits = words.prefix { $0.isASCII && $0.isNumber }
        let rest = words.dropFirst(digits.count)
        guard (1...9).contains(digits.count), let point = rest.first, point == "." || point == ")",
            rest.dropFirst().first?.isBlank == true
        else { return nil }
        return (indent, "\(digits)\(point)", rest.dropFirst(2).drop { $0.isWhitespace })
    }

    fileprivate var cells: [String] {
        var line = self.trimmingCharacters(in: .whitespaces)[...]
        if line.first == "|" { line.removeFirst() }
        if line.last == "|" { line.removeLast() }
        return line.split(separator: "|", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }
}

extension Character {
    fileprivate var isBlank: Bool { self == " " || self == "\t" }
}
