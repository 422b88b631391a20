import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// One request for a file, or for its rest. The bytes go to the part's file as they come.
final class FileTransfer: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    struct Order: Sendable {
        let url: URL
        /// The part's file; its folder is there.
        let partial: URL
        let expectedBytes: Int?
        let stallSeconds: Double
    }

    enum Outcome: Hashable, Sendable {
        case complete
        /// The part was dropped; ask again.
        case again
        case failed(TransferFailure)
        case refused(TransferAnswer.Refusal)
        case cancelled
    }

    /// A file of unknown size is not larger: no tokenizer and no config is.
    static let mostUnknownBytes = 256 << 20

    private struct State {
        var outcome: Outcome?
        var handle: FileHandle?
        var bytes: Int
        var lastByte = Date()
        var continuation: CheckedContinuation<Outcome, Never>?
    }

    private let order: Order
    private let localBytes: Int
    private let received: @Sendable (Int) -> Void
    private let state: Locked<State>

    /// - Parameter received: called with the number of bytes that came, on the session's queue.
    init(_ order: Order, localBytes: Int, received: @escaping @Sendable (Int) -> Void) {
        self.order = order
        self.localBytes = localBytes
        self.received = received
        self.state = Locked(State(bytes: localBytes))
    }

    /// Cancelling the task ends the request; what came stays.
    func run() async -> Outcome {
        var request = URLRequest(url: self.order.url)
        if self.localBytes > 0 {
            request.setValue("bytes=\(self.localBytes)-", forHTTPHeaderField: "Range")
        }
        // A compressed body has other sizes and ranges than the file.
        request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
        defer { session.finishTasksAndInvalidate() }
        let task = session.dataTask(with: request)
        let watch = Task { await self.watch(task) }
        defer { watch.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.state.with { $0.continuation = continuation }
                task.resume()
                if Task.isCancelled { task.cancel() }
            }
        } onCancel: {
            task.cancel()
        }
    }

    /// Ends a connection over which nothing comes.
    private func watch(_ task: URLSessionDataTask) async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(self.order.stallSeconds / 4))
            let silence = Date().timeIntervalSince(self.state.with { $0.lastByte })
            guard silence > self.order.stallSeconds, !Task.isCancelled else { continue }
            return self.end(task, .failed(.stalled))
        }
    }

    /// The first outcome holds.
    private func end(_ task: URLSessionTask, _ outcome: Outcome) {
        self.state.with { $0.outcome = $0.outcome ?? outcome }
        task.cancel()
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        self.state.with { $0.lastByte = Date() }
        let outcome = self.outcome(of: response)
        self.state.with { $0.outcome = $0.outcome ?? outcome }
        completionHandler(outcome == nil ? .allow : .cancel)
    }

    /// Opens the part's file as the answer needs it; nil when the body is wanted.
    private func outcome(of response: URLResponse) -> Outcome? {
        guard let response = response as? HTTPURLResponse else { return .failed(.network) }
        let status = response.statusCode
        let header = { (name: String) in response.value(forHTTPHeaderField: name) }
        let answer = TransferAnswer(
            localBytes: self.localBytes, expectedBytes: self.order.expectedBytes, status: status,
            contentRange: header("Content-Range"),
            contentLength: header("Content-Length").flatMap(Int.init))
        switch answer {
        case .write, .append: return self.open(keepsPart: true)
        case .restart: return self.open(keepsPart: false)
        case .discard:
            try? FileManager.default.removeItem(at: self.order.partial)
            return .again
        case .refuse(let why): return .refused(why)
        case .status: return .failed(.status(status, retryAfter: header("Retry-After")))
        }
    }

    private func open(keepsPart: Bool) -> Outcome? {
        let path = self.order.partial.path
        if !FileManager.default.fileExists(atPath: path) {
            guard FileManager.default.createFile(atPath: path, contents: nil) else {
                return .failed(.disk)
            }
        }
        do {
            let handle = try FileHandle(forWritingTo: self.order.partial)
            if keepsPart {
                try handle.seekToEnd()
            } else {
                try handle.truncate(atOffset: 0)
            }
            self.state.with { state in
                state.handle = handle
                state.bytes = keepsPart ? state.bytes : 0
            }
            return nil
        } catch {
            return .failed(Self.failure(of: error))
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let (handle, bytes, isOver) = self.state.with { state in
            state.lastByte = Date()
            state.bytes += data.count
            return (state.handle, state.bytes, state.outcome != nil)
        }
        guard let handle, !isOver else { return }
        guard bytes <= self.order.expectedBytes ?? Self.mostUnknownBytes else {
            return self.end(dataTask, .refused(.size))
        }
        do {
            try handle.write(contentsOf: data)
            self.received(data.count)
        } catch {
            self.end(dataTask, .failed(Self.failure(of: error)))
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
        let (outcome, continuation, handle) = self.state.with { state in
            let found = state.outcome ?? Self.outcome(of: error)
            defer { (state.continuation, state.handle) = (nil, nil) }
            return (found, state.continuation, state.handle)
        }
        try? handle?.close()
        continuation?.resume(returning: outcome)
    }

    /// A redirect keeps the range, and never leaves TLS.
    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
        completionHandler: @escaping (URLRequest?) -> Void
    ) {
        let isSafe = self.order.url.scheme != "https" || request.url?.scheme == "https"
        var request = request
        if self.localBytes > 0 {
            request.setValue("bytes=\(self.localBytes)-", forHTTPHeaderField: "Range")
        }
        completionHandler(isSafe ? request : nil)
    }

    private static func outcome(of error: (any Error)?) -> Outcome {
        guard let error else { return .complete }
        return (error as? URLError)?.code == .cancelled ? .cancelled : .failed(.network)
    }

    /// Of an error while the part was written.
    static func failure(of error: any Error) -> TransferFailure {
        let error = error as NSError
        let inner = error.userInfo[NSUnderlyingErrorKey] as? NSError
        let isFull = [error, inner].compactMap { $0 }.contains { one in
            (one.domain == NSPOSIXErrorDomain && one.code == Int(ENOSPC))
                || (one.domain == NSCocoaErrorDomain
                    && one.code == CocoaError.Code.fileWriteOutOfSpace.rawValue)
        }
        return isFull ? .diskFull : .disk
    }
}
