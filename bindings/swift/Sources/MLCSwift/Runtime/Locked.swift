import Foundation

/// A value that one thread at a time may touch.
final class Locked<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) {
        self.value = value
    }

    /// `act` must be short, and must not call out: it runs under the lock.
    func with<Result>(_ act: (inout Value) -> Result) -> Result {
        self.lock.lock()
        defer { self.lock.unlock() }
        return act(&self.value)
    }
}
