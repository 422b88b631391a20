/// How fast bytes arrive, and how long the rest takes.
public struct RateMeter: Hashable, Sendable {
    public struct Rate: Hashable, Sendable {
        public var bytesPerSecond: Int?
        public var secondsLeft: Int?
    }

    private struct Sample: Hashable, Sendable {
        let timeMS: Int
        let bytes: Int
    }

    static let windowMS = 5000
    static let shortestMS = 500
    private var samples: [Sample] = []

    public init() {}

    /// `bytes`: all that are there at this time.
    public mutating func add(timeMS: Int, bytes: Int) {
        if let last = self.samples.last, bytes < last.bytes { self.samples.removeAll() }
        self.samples.append(Sample(timeMS: timeMS, bytes: bytes))
        // Only the newest of those before the window is needed.
        let before = self.samples.prefix { $0.timeMS <= timeMS - Self.windowMS }.count
        if before > 1 { self.samples.removeFirst(before - 1) }
    }

    public func rate(nowMS: Int, totalBytes: Int?) -> Rate {
        guard self.samples.count > 1, let last = self.samples.last else { return Rate() }
        let old = self.samples.last { $0.timeMS <= nowMS - Self.windowMS }
        let base = old ?? self.samples[0]
        let span = nowMS - base.timeMS
        guard span >= Self.shortestMS else { return Rate() }
        let rate = (last.bytes - base.bytes) * 1000 / span
        guard let totalBytes, rate > 0 else { return Rate(bytesPerSecond: rate) }
        let left = max(totalBytes - last.bytes, 0)
        return Rate(bytesPerSecond: rate, secondsLeft: (left + rate - 1) / rate)
    }
}
