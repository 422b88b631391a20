import Foundation

#if canImport(CryptoKit)
    import CryptoKit
#endif

/// The MD5 sum of a file: the hash that MLC's index has. It finds damage, not attacks.
enum MD5 {
    private static let chunkBytes = 1 << 20

    /// As 32 hexadecimal digits. Throws a `CancellationError` when the task is cancelled.
    static func hex(of file: URL) throws -> String {
        let handle = try FileHandle(forReadingFrom: file)
        defer { try? handle.close() }
        var hash = Hash()
        while let chunk = try handle.read(upToCount: self.chunkBytes), !chunk.isEmpty {
            try Task.checkCancellation()
            hash.update(chunk)
        }
        return hash.finish().map { String(format: "%02x", $0) }.joined()
    }

    #if canImport(CryptoKit)
        private struct Hash {
            private var hash = Insecure.MD5()
            mutating func update(_ data: Data) { self.hash.update(data: data) }
            func finish() -> [UInt8] { Array(self.hash.finalize()) }
        }
    #else
        typealias Hash = PortableMD5
    #endif
}

/// MD5 as RFC 1321 describes it, where the system has none.
struct PortableMD5 {
    private static let shifts: [UInt32] = [
        7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21,
    ]
    private static let sines: [UInt32] = (0..<64).map {
        UInt32(truncatingIfNeeded: Int64(abs(sin(Double($0 + 1))) * 4_294_967_296))
    }
    private var state: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476]
    private var rest: [UInt8] = []
    private var numBytes: UInt64 = 0

    mutating func update(_ data: Data) {
        self.numBytes += UInt64(data.count)
        self.rest.append(contentsOf: data)
        let whole = self.rest.count / 64 * 64
        let rest = self.rest
        rest.withUnsafeBytes { bytes in
            for start in stride(from: 0, to: whole, by: 64) { self.add(bytes, at: start) }
        }
        self.rest.removeFirst(whole)
    }

    mutating func finish() -> [UInt8] {
        let numBits = self.numBytes &* 8
        let zeros = (119 - Int(self.numBytes % 64)) % 64
        let length = (0..<8).map { UInt8(truncatingIfNeeded: numBits >> (8 * UInt64($0))) }
        self.update(Data([0x80] + [UInt8](repeating: 0, count: zeros) + length))
        return self.state.flatMap { word in
            (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * UInt32($0))) }
        }
    }

    private mutating func add(_ bytes: UnsafeRawBufferPointer, at start: Int) {
        var (a, b, c, d) = (self.state[0], self.state[1], self.state[2], self.state[3])
        for round in 0..<64 {
            let (mix, word) = Self.mix(round, b, c, d)
            let input = bytes.loadUnaligned(fromByteOffset: start + 4 * word, as: UInt32.self)
            let sum = a &+ mix &+ Self.sines[round] &+ UInt32(littleEndian: input)
            let shift = Self.shifts[round / 16 * 4 + round % 4]
            (a, d, c) = (d, c, b)
            b = b &+ (sum << shift | sum >> (32 - shift))
        }
        for (index, word) in [a, b, c, d].enumerated() { self.state[index] &+= word }
    }

    private static func mix(
        _ round: Int, _ b: UInt32, _ c: UInt32, _ d: UInt32
    ) -> (UInt32, word: Int) {
        switch round / 16 {
        case 0: (b & c | ~b & d, round)
        case 1: (d & b | ~d & c, (5 * round + 1) % 16)
        case 2: (b ^ c ^ d, (3 * round + 5) % 16)
        default: (c ^ (b | ~d), 7 * round % 16)
        }
    }
}
