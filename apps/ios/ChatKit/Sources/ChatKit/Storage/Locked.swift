import Foundation

/// A value that only one thread at a time may use.
final class Locked<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) {
        self.value = value
    }

    /// `act` runs under the lock: it must be short, and must not call other code.
    func with<Result>(_ act: (inout Value) -> Result) -> Result {
        self.lock.lock()
        defer { self.lock.unlock() }
        return act(&self.value)
    }
}
