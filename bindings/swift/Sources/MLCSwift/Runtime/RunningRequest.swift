/// A request in the core. It is aborted when its reader's task is cancelled, and when the last
/// reference is gone: when a program leaves a loop, the stream is freed, and with it this object.
final class RunningRequest: Sendable {
    private let core: CoreEngine
    private let id: UInt64
    private let events: EventQueue

    init(core: CoreEngine, id: UInt64, events: EventQueue) {
        self.core = core
        self.id = id
        self.events = events
    }

    deinit {
        self.core.silent.with { $0[self.id] = nil }
        self.abort()
    }

    /// A reset of the engine drops what is unread.
    func endsSilentlyOnReset() {
        self.core.silent.with { $0[self.id] = self.events }
    }

    /// The next event; nil after the last one, and when the request was aborted here.
    func next() async -> Event? {
        await withTaskCancellationHandler {
            await self.events.next()
        } onCancel: {
            self.abort()
        }
    }

    func abort() {
        if self.events.close() { self.core.abort(self.id) }
    }
}
