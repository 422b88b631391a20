/// A request in the core. It is aborted when its reader's task is cancelled, and when nobody refers
/// to it any more: a loop that was left drops its stream, and the stream this.
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
        self.abort()
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
