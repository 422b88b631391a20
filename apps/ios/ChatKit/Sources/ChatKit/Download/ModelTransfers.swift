import Foundation
import MLCSwift

extension ModelDownload {
    private static let mostDiscards = 2

    /// The files of the repository, from its config and its index. Both are kept.
    func list() async throws(DownloadEnd) -> ModelFiles {
        try await self.transferIfMissing(ModelFiles.config)
        var statuses: [String: Int] = [:]
        while true {
            let (next, index) = ModelFiles.nextIndex(statuses)
            if let index { return try self.files(index) }
            guard let next else { throw .stopped(.model, ModelFiles.noIndex.description) }
            do throws(DownloadEnd) {
                try await self.transferIfMissing(next)
                statuses[next] = 200
            } catch {
                guard case .failed(.status(404, _), _) = error else { throw error }
                statuses[next] = 404
            }
        }
    }

    private func files(_ index: String) throws(DownloadEnd) -> ModelFiles {
        do throws(Fault) {
            return try ModelFiles(
                config: try self.folder.json(ModelFiles.config),
                index: try self.folder.json(index), indexName: index)
        } catch {
            throw .stopped(.model, error.description)
        }
    }

    private func transferIfMissing(_ path: String) async throws(DownloadEnd) {
        guard self.folder.size(self.folder.place(path)) == nil else { return }
        try await self.transfer(ModelFile(path: path))
    }

    /// Fetches one file, or its rest, and gives it its name.
    func transfer(_ file: ModelFile) async throws(DownloadEnd) {
        let partial = self.folder.partial(file.path)
        var numDiscards = 0
        do {
            try self.folder.makeFolder(for: file.path)
        } catch {
            throw .failed(FileTransfer.failure(of: error), file.path)
        }
        while true {
            let local = self.folder.size(partial) ?? 0
            switch TransferStart(localBytes: local, expectedBytes: file.bytes) {
            case .verify: return try self.name(file)
            case .restart: try? FileManager.default.removeItem(at: partial)
            case .fetch(let from):
                if try await self.ask(for: file, from: from) { return try self.name(file) }
                numDiscards += 1
                if numDiscards > Self.mostDiscards { throw .stopped(.range, file.path) }
            }
        }
    }

    private func name(_ file: ModelFile) throws(DownloadEnd) {
        do {
            try self.folder.finish(file.path)
        } catch {
            throw .failed(FileTransfer.failure(of: error), file.path)
        }
    }

    private func address(of file: ModelFile) -> URL? {
        guard let base = self.entry.url else { return nil }
        return URL(string: "\(base)/resolve/main/\(file.path.escaped)")
    }

    /// Pauses, and gives what is missing to the system, which goes on while the app is suspended.
    /// False when nothing ran.
    func handOver(to transfers: BackgroundTransfers) async -> Bool {
        guard self.current.state.isActive else { return false }
        await self.pause()
        for file in self.folder.knownFiles where self.folder.size(of: file) == nil {
            let local = self.folder.size(self.folder.partial(file.path)) ?? 0
            guard let url = self.address(of: file),
                case .fetch(let from) = TransferStart(
                    localBytes: local, expectedBytes: file.bytes),
                (try? self.folder.makeFolder(for: file.path)) != nil
            else { continue }
            let partial = "\(self.folder.url.lastPathComponent)/\(file.path)\(ModelFiles.partial)"
            transfers.begin(
                url, .init(partial: partial, localBytes: from, expectedBytes: file.bytes))
        }
        return true
    }

    /// Sends one request; false when the part was dropped and the file must be asked for again.
    private func ask(for file: ModelFile, from: Int) async throws(DownloadEnd) -> Bool {
        guard let url = self.address(of: file) else {
            throw .stopped(.model, "the model has no address")
        }
        let order = FileTransfer.Order(
            url: url, partial: self.folder.partial(file.path), expectedBytes: file.bytes,
            stallSeconds: self.settings.stallSeconds)
        switch await FileTransfer(order, localBytes: from).run() {
        case .complete: return true
        case .again: return false
        case .failed(let failure): throw .failed(failure, file.path)
        case .refused(let why): throw .stopped(why == .size ? .size : .range, file.path)
        case .cancelled: throw .cancelled
        }
    }
}

extension String {
    /// As a path of an address.
    fileprivate var escaped: String {
        self.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? self
    }
}
