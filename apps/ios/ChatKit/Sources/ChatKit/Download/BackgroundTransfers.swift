import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Files that come while the app is suspended: the system fetches them by itself (Apple, "Downloading
/// files in the background"). Each task fetches the rest of one file. What came is put behind its
/// part; the next start of the download checks it, as always.
public final class BackgroundTransfers: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    public static let identifier = "ai.mlc.chat.downloads"

    /// What a task is for. The system keeps it, in the task's description, over the end of the app.
    struct Order: Codable, Hashable, Sendable {
        /// In the folder of the models, whose own place changes with each installation.
        let partial: String
        let localBytes: Int
        let expectedBytes: Int?
    }

    private struct State {
        var session: URLSession?
        var running = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
        var told: CheckedContinuation<Void, Never>?
    }

    private let models: URL
    private let configuration: URLSessionConfiguration
    private let state = Locked(State())

    /// - Parameter configuration: nil for the system's own session, which only Apple's systems have.
    public init(models: URL, configuration: URLSessionConfiguration? = nil) {
        self.models = models
        self.configuration = configuration ?? Self.ofTheSystem()
        super.init()
    }

    private static func ofTheSystem() -> URLSessionConfiguration {
        #if canImport(Darwin)
            let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
            configuration.sessionSendsLaunchEvents = true
            configuration.isDiscretionary = false
            return configuration
        #else
            return .ephemeral
        #endif
    }

    /// With the first call the system tells what happened while the app was not there.
    private var session: URLSession {
        self.state.with { state in
            if let session = state.session { return session }
            let session = URLSession(
                configuration: self.configuration, delegate: self, delegateQueue: nil)
            state.session = session
            return session
        }
    }

    func begin(_ url: URL, _ order: Order) {
        guard let description = try? JSONEncoder().encode(order) else { return }
        var request = URLRequest(url: url)
        if order.localBytes > 0 {
            request.setValue("bytes=\(order.localBytes)-", forHTTPHeaderField: "Range")
        }
        request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        let task = self.session.downloadTask(with: request)
        task.taskDescription = String(decoding: description, as: UTF8.self)
        self.state.with { $0.running += 1 }
        task.resume()
    }

    /// Waits until all that this process began has ended.
    func finished() async {
        await withCheckedContinuation { continuation in
            let isOver = self.state.with { state in
                if state.running > 0 { state.waiting.append(continuation) }
                return state.running == 0
            }
            if isOver { continuation.resume() }
        }
    }

    #if canImport(Darwin)
        /// Waits until the system has told all that happened while the app was suspended.
        public func eventsAreTold() async {
            await withCheckedContinuation { continuation in
                self.state.with { $0.told = continuation }
                _ = self.session
            }
        }

        public func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
            let told = self.state.with { state in
                defer { state.told = nil }
                return state.told
            }
            told?.resume()
        }
    #endif

    /// Ends what has not come yet. What an earlier process of the app began is ended too.
    func cancel() async {
        let tasks = await withCheckedContinuation { continuation in
            self.session.getAllTasks { continuation.resume(returning: $0) }
        }
        for task in tasks { task.cancel() }
        await self.finished()
    }

    public func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    ) {
        guard let text = downloadTask.taskDescription,
            let order = try? JSONDecoder().decode(Order.self, from: Data(text.utf8)),
            let response = downloadTask.response as? HTTPURLResponse
        else { return }
        let header = { (name: String) in response.value(forHTTPHeaderField: name) }
        let answer = TransferAnswer(
            localBytes: order.localBytes, expectedBytes: order.expectedBytes,
            status: response.statusCode, contentRange: header("Content-Range"),
            contentLength: header("Content-Length").flatMap(Int.init))
        switch answer {
        case .write, .append: self.put(location, behind: order.localBytes, order)
        case .restart: self.put(location, behind: 0, order)
        // The next start of the download asks again, and says what is wrong.
        case .discard, .refuse, .status: break
        }
    }

    /// A part that has changed meanwhile stays as it is.
    private func put(_ file: URL, behind bytes: Int, _ order: Order) {
        let partial = self.models.appendingPathComponent(order.partial)
        let manager = FileManager.default
        let size = { (url: URL) in
            (try? manager.attributesOfItem(atPath: url.path)[.size] as? NSNumber)?.intValue ?? 0
        }
        let body = TransferBody(
            bytes: bytes + size(file), expectedBytes: order.expectedBytes, announcedBytes: nil,
            isOver: false)
        guard body == .take, size(partial) == order.localBytes else { return }
        do {
            if bytes == 0 {
                try? manager.removeItem(at: partial)
                try manager.moveItem(at: file, to: partial)
                return
            }
            let source = try FileHandle(forReadingFrom: file)
            let target = try FileHandle(forWritingTo: partial)
            defer {
                try? source.close()
                try? target.close()
            }
            try target.seekToEnd()
            while let block = try source.read(upToCount: 1 << 20), !block.isEmpty {
                try target.write(contentsOf: block)
            }
        } catch {
            return  // a full disk: the download says it at its next start
        }
    }

    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
        let waiting = self.state.with { state in
            state.running = max(state.running - 1, 0)
            guard state.running == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
