/// The events that the core sends for a request, in order. The last one is a result, the end or a
/// failure.
enum Event: Sendable {
    case chunk([UInt8])
    case result([UInt8])
    case done
    case failure(MLCError)

    var isLast: Bool {
        if case .chunk = self { false } else { true }
    }
}

/// The queue between the core's callback thread and the task that reads an answer.
///
/// The callback thread serves all requests of an engine, so it must never wait here: unread events
/// are kept as bytes. Their size is limited by the length of the answer, some 300 bytes per token,
/// and so by the request's `max_tokens`. When the reader leaves, they are freed at once.
final class EventQueue: Sendable {
    private struct State {
        var events: [Event] = []
        var readCount = 0  // of `events`
        var readers: [CheckedContinuation<Event?, Never>] = []
        var hasEnded = false  // the last event came, or the reader left

        mutating func take() -> Event? {
            guard self.readCount < self.events.count else { return nil }
            let event = self.events[self.readCount]
            self.events[self.readCount] = .done  // frees the bytes
            self.readCount += 1
            if self.readCount * 2 > self.events.count {
                self.events.removeFirst(self.readCount)
                self.readCount = 0
            }
            return event
        }
    }

    private let state = Locked(State())

    /// Called on the callback thread.
    func push(_ event: Event) {
        let reader: CheckedContinuation<Event?, Never>? = self.state.with { state in
            guard !state.hasEnded else { return nil }
            state.hasEnded = event.isLast
            if !state.readers.isEmpty { return state.readers.removeFirst() }
            state.events.append(event)
            return nil
        }
        reader?.resume(returning: event)
        if event.isLast { self.wakeAll() }
    }

    /// The next event; nil after the last one, and when the reader has left.
    func next() async -> Event? {
        await withCheckedContinuation { reader in
            let event: Event?? = self.state.with { state in
                if let event = state.take() { return .some(event) }
                if state.hasEnded { return .some(nil) }
                state.readers.append(reader)
                return nil
            }
            if let event { reader.resume(returning: event) }
        }
    }

    /// The reader leaves: unread events are dropped. Returns whether the request was still running.
    func close() -> Bool {
        let wasOpen = self.state.with { state in
            defer {
                state.hasEnded = true
                state.events = []
                state.readCount = 0
            }
            return !state.hasEnded
        }
        self.wakeAll()
        return wasOpen
    }

    private func wakeAll() {
        let readers = self.state.with { state in
            defer { state.readers = [] }
            return state.readers
        }
        for reader in readers { reader.resume(returning: nil) }
    }
}
