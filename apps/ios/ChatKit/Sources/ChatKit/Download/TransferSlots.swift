import Foundation

/// How many files come at the same time, all models together.
public actor TransferSlots {
    private var free: Int
    private var waiting: [(id: UUID, continuation: CheckedContinuation<Bool, Never>)] = []

    public init(_ count: Int = 3) {
        self.free = count
    }

    /// Runs `act` in a slot. Throws a `CancellationError` when the task is cancelled before.
    func run<T: Sendable>(_ act: @Sendable () async throws -> T) async throws -> T {
        guard await self.take() else { throw CancellationError() }
        defer { self.give() }
        return try await act()
    }

    private func take() async -> Bool {
        if Task.isCancelled { return false }
        if self.free > 0 {
            self.free -= 1
            return true
        }
        let id = UUID()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // The handler may have run before this.
                if Task.isCancelled { return continuation.resume(returning: false) }
                self.waiting.append((id, continuation))
            }
        } onCancel: {
            Task { await self.leave(id) }
        }
    }

    private func give() {
        if self.waiting.isEmpty {
            self.free += 1
        } else {
            self.waiting.removeFirst().continuation.resume(returning: true)
        }
    }

    private func leave(_ id: UUID) {
        guard let at = self.waiting.firstIndex(where: { $0.id == id }) else { return }
        self.waiting.remove(at: at).continuation.resume(returning: false)
    }
}
