/// How a file of which a part may be there is asked for.
public enum TransferStart: Hashable, Sendable {
    /// `from`: the first byte that is asked for by `Range`; 0 asks for the whole file.
    case fetch(from: Int)
    /// All bytes are there.
    case verify
    /// More bytes are there than the file has: they are dropped, and it begins again.
    case restart

    public init(localBytes: Int, expectedBytes: Int?) {
        switch expectedBytes {
        case let expected? where localBytes > expected: self = .restart
        case let expected? where localBytes == expected: self = .verify
        default: self = .fetch(from: localBytes)
        }
    }
}

/// What to do when bytes of an answer come, and when it ends.
public enum TransferBody: Hashable, Sendable {
    case take
    /// There are more than the file has.
    case refuse
    case complete
    /// It ended too early.
    case cut

    /// A file of unknown size is not larger: no tokenizer and no config is.
    static let mostUnknownBytes = 1 << 28

    /// - Parameters:
    ///   - bytes: those of the file, with what has come.
    ///   - announcedBytes: how many the answer's length makes.
    public init(bytes: Int, expectedBytes: Int?, announcedBytes: Int?, isOver: Bool) {
        if bytes > expectedBytes ?? Self.mostUnknownBytes {
            self = .refuse
        } else if !isOver {
            self = .take
        } else {
            self = bytes < expectedBytes ?? announcedBytes ?? bytes ? .cut : .complete
        }
    }
}

/// What to do with the hub's answer.
public enum TransferAnswer: Hashable, Sendable {
    public enum Refusal: String, Hashable, Sendable { case size, range }

    /// Writes the body to an empty file.
    case write
    /// Writes it behind the part that is there.
    case append
    /// Drops the part and writes the body.
    case restart
    /// Drops the part and asks again without `Range`.
    case discard
    /// The hub sends another file.
    case refuse(Refusal)
    /// The status is an error; ``Retry`` decides whether to ask again.
    case status

    public init(
        localBytes: Int, expectedBytes: Int?, status: Int, contentRange: String?,
        contentLength: Int?
    ) {
        switch status {
        case 200:
            if let expectedBytes, let contentLength, expectedBytes != contentLength {
                self = .refuse(.size)
            } else {
                self = localBytes > 0 ? .restart : .write
            }
        case 206:
            self = Self.part(ContentRange(contentRange), localBytes, expectedBytes)
        case 416:
            self = localBytes > 0 ? .discard : .refuse(.range)
        default:
            self = .status
        }
    }

    private static func part(
        _ range: ContentRange?, _ localBytes: Int, _ expectedBytes: Int?
    ) -> Self {
        guard let range, range.first == localBytes else {
            return localBytes > 0 ? .discard : .refuse(.range)
        }
        if let expectedBytes {
            let isTotalRight = range.total == nil || range.total == expectedBytes
            guard isTotalRight, range.last < expectedBytes else { return .refuse(.size) }
        }
        return localBytes > 0 ? .append : .write
    }
}

/// `bytes 40-99/100`; the total may be `*`.
struct ContentRange: Hashable {
    let first: Int
    let last: Int
    let total: Int?

    init?(_ text: String?) {
        let words = #/bytes\s+([0-9]+)-([0-9]+)/([0-9]+|\*)/#.ignoresCase()
        guard let found = text?.trimmed.wholeMatch(of: words)?.output,
            let first = Int(found.1), let last = Int(found.2), last >= first,
            found.3 == "*" || Int(found.3) != nil
        else { return nil }
        self.first = first
        self.last = last
        self.total = Int(found.3)
    }
}

/// What to do with a file that was fetched.
public enum Verification: Hashable, Sendable {
    public enum Reason: String, Hashable, Sendable { case size, hash }

    case keep
    /// Asks for the rest.
    case continueFetch
    /// Drops it and begins again.
    case fetchAgain(Reason)
    /// The third corrupt file: the hub is not to be trusted.
    case fail(Reason)

    static let mostCorrupt = 3

    public init(
        bytes: Int, expectedBytes: Int?, md5: String, expectedMD5: String?, earlierCorrupt: Int
    ) {
        let again: (Reason) -> Self = {
            earlierCorrupt + 1 < Self.mostCorrupt ? .fetchAgain($0) : .fail($0)
        }
        if let expectedBytes, bytes < expectedBytes {
            self = .continueFetch
        } else if bytes == 0 || bytes > expectedBytes ?? bytes {
            self = again(.size)
        } else if let expectedMD5, expectedMD5 != md5 {
            self = again(.hash)
        } else {
            self = .keep
        }
    }
}
