import Foundation
import MLCSwift
import Testing

@testable import ChatKit

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The loopback hub of `tests/apps/model_hub.py`, which the test run has started.
enum Hub {
    static let address = ProcessInfo.processInfo.environment["CHATKIT_HUB"]
    static let shardBytes = (0..<5).map { 64 * 1024 + $0 }

    /// An entry whose repository no other test asks for.
    static func entry(_ mood: String) throws -> ModelEntry {
        let address = try #require(Self.address)
        let name = "m" + UUID().uuidString.prefix(8)
        return ModelEntry(modelID: name, modelLib: "lib", url: "\(address)/\(mood)/\(name)")
    }

    /// What was asked for: paths and ranges.
    static func log(_ entry: ModelEntry) async throws -> [(path: String, range: String?)] {
        let url = try #require(entry.url)
        let log = url.replacingOccurrences(
            of: try #require(Self.address), with: try #require(Self.address) + "/log")
        let (data, _) = try await URLSession.shared.data(from: try #require(URL(string: log)))
        return try JSONDecoder().decode([[String?]].self, from: data).map { ($0[0] ?? "", $0[1]) }
    }
}

/// A folder that is removed with its owner.
final class TemporaryFolder: Sendable {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)

    init() throws {
        try FileManager.default.createDirectory(at: self.url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: self.url) }
}

/// A download from the hub into a folder of its own.
struct Download {
    let folder: TemporaryFolder
    let entry: ModelEntry
    let model: ModelDownload

    init(
        _ mood: String, slots: TransferSlots = TransferSlots(), stallSeconds: Double = 30,
        freeBytes: Int? = nil
    ) throws {
        self.folder = try TemporaryFolder()
        self.entry = try Hub.entry(mood)
        self.model = Self.model(
            self.entry, self.folder, slots: slots, stallSeconds: stallSeconds,
            freeBytes: freeBytes)
    }

    private static func model(
        _ entry: ModelEntry, _ folder: TemporaryFolder, slots: TransferSlots, stallSeconds: Double,
        freeBytes: Int?
    ) -> ModelDownload {
        var settings = DownloadSettings()
        settings.stallSeconds = stallSeconds
        settings.waitScale = 0.01
        settings.tickSeconds = 0.02
        if let freeBytes { settings.freeBytes = { _ in freeBytes } }
        return ModelDownload(
            entry: entry, folder: ModelFolder(folder.url.appendingPathComponent(entry.modelID)),
            slots: slots, settings: settings)
    }

    /// The same folder after the app was started again.
    func relaunched() -> ModelDownload {
        Self.model(
            self.entry, self.folder, slots: TransferSlots(), stallSeconds: 30, freeBytes: nil)
    }

    /// Starts, and gives the states up to one of these.
    func run(
        to ends: Set<DownloadState> = [.ready, .failed]
    ) async -> (states: [DownloadState], last: DownloadSnapshot) {
        await Self.run(self.model, to: ends)
    }

    static func run(
        _ model: ModelDownload, to ends: Set<DownloadState> = [.ready, .failed]
    ) async -> (states: [DownloadState], last: DownloadSnapshot) {
        let updates = await model.updates()
        await model.start()
        var states: [DownloadState] = []
        var last = DownloadSnapshot(state: .absent)
        for await snapshot in updates {
            last = snapshot
            if states.last != snapshot.state { states.append(snapshot.state) }
            // The first snapshot is from before the start.
            if states.count > 1, ends.contains(snapshot.state) { break }
        }
        return (states, last)
    }

    var path: URL { self.folder.url.appendingPathComponent(self.entry.modelID) }

    func size(_ name: String) -> Int? {
        ModelFolder(self.path).size(self.path.appendingPathComponent(name))
    }

    /// Whether all shards are there, byte by byte: their hashes were checked by another program.
    var isWhole: Bool {
        Hub.shardBytes.indices.allSatisfy {
            self.size("params_shard_\($0).bin") == Hub.shardBytes[$0]
        }
            && ModelFolder(self.path).isReady
    }
}
