import Foundation
import Observation

/// The list of models: those of the app's config, and those that the user added.
@MainActor @Observable
public final class ModelCatalog {
    public struct Row: Hashable, Sendable, Identifiable {
        public let entry: ModelEntry
        /// Its weights are in the app's bundle.
        public let isBundled: Bool
        public let isAdded: Bool
        public var download: DownloadSnapshot

        public var id: String { self.entry.modelID }
    }

    public private(set) var rows: [Row] = []
    public private(set) var bad: [BadEntry] = []
    /// The libraries that are in the app; an added model needs one of them.
    public private(set) var libraries: [String] = []

    private let bundle: URL
    private let storage: URL
    private let settings: DownloadSettings
    private let slots = TransferSlots()
    public let transfers: BackgroundTransfers
    private var downloads: [String: ModelDownload] = [:]
    private var listeners: [String: Task<Void, Never>] = [:]
    private var added: [ModelEntry] = []
    /// The names of models whose files are being copied.
    private var copying: Set<String> = []

    private var models: URL { self.storage.appendingPathComponent("models") }
    private var addedFile: URL { self.storage.appendingPathComponent("added.json") }
    /// The downloads that the system goes on with; it survives the app.
    private var givenFile: URL { self.storage.appendingPathComponent("given.json") }

    /// - Parameters:
    ///   - config: the text of `mlc-app-config.json`.
    ///   - bundle: the folder in which bundled models are.
    ///   - storage: where the app keeps what it downloads.
    public init(
        config: String, bundle: URL, storage: URL, settings: DownloadSettings = DownloadSettings(),
        transfers: BackgroundTransfers? = nil
    ) throws {
        self.transfers =
            transfers ?? BackgroundTransfers(models: storage.appendingPathComponent("models"))
        self.bundle = bundle
        self.storage = storage
        self.settings = settings
        let list = try AppConfig(text: config)
        self.bad = list.bad
        for model in list.models where !self.libraries.contains(model.modelLib) {
            self.libraries.append(model.modelLib)
        }
        try FileManager.default.createDirectory(at: self.models, withIntermediateDirectories: true)
        Self.excludeFromBackup(self.models)
        ModelFolder.clean(self.models)
        for model in list.models { self.show(model, isAdded: false) }
        self.added = self.readAdded().filter { self.row($0.modelID) == nil }
        for model in self.added { self.show(model, isAdded: true) }
    }

    /// A backup takes what cannot be downloaded again (Apple, "Optimizing your app's data for iCloud
    /// backup"). Other systems have no such mark.
    private static func excludeFromBackup(_ folder: URL) {
        #if canImport(Darwin)
            var folder = folder
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            try? folder.setResourceValues(values)
        #endif
    }

    /// Whether files are coming or will come: the device must not sleep.
    public var isDownloading: Bool { self.rows.contains { $0.download.state.isActive } }

    public func row(_ id: String) -> Row? { self.rows.first { $0.id == id } }

    /// Adds a repository of the hub that the user typed. Returns its name in the list.
    @discardableResult
    public func add(_ typed: String, modelLib: String, hub: String = Address.hub) throws -> String {
        let (url, id) = try Address.typed(typed, hub: hub)
        try self.check(id, modelLib)
        try self.keep(ModelEntry(modelID: id, modelLib: modelLib, url: url))
        return id
    }

    /// Copies a model from a folder of the device.
    @discardableResult
    public func add(folder: URL, modelLib: String) async throws -> String {
        let id = folder.lastPathComponent
        try self.check(id, modelLib)
        self.copying.insert(id)
        defer { self.copying.remove(id) }
        let target = ModelFolder(self.models.appendingPathComponent(id))
        do {
            try await Task.detached { try target.copy(from: folder) }.value
        } catch {
            try? target.delete()
            throw error
        }
        try self.keep(ModelEntry(modelID: id, modelLib: modelLib, path: id))
        return id
    }

    /// Removes an added model from the list, with its files.
    public func remove(_ id: String) async throws {
        await self.downloads[id]?.delete()
        guard self.row(id)?.isAdded == true else { return }
        self.listeners.removeValue(forKey: id)?.cancel()
        self.downloads[id] = nil
        self.rows.removeAll { $0.id == id }
        self.added.removeAll { $0.modelID == id }
        try self.writeAdded()
    }

    public func start(_ id: String) async { await self.downloads[id]?.start() }
    public func pause(_ id: String) async { await self.downloads[id]?.pause() }
    public func delete(_ id: String) async { await self.downloads[id]?.delete() }

    /// The app is about to be suspended: the system goes on with what runs.
    public func enterBackground() async {
        var given: [String] = []
        for (id, download) in self.downloads where await download.handOver(to: self.transfers) {
            given.append(id)
        }
        guard !given.isEmpty else { return }
        try? JSONEncoder().encode(given).write(to: self.givenFile, options: .atomic)
    }

    /// The app is seen again, or begins: it goes on itself with what it had given to the system.
    public func enterForeground() async {
        guard let data = try? Data(contentsOf: self.givenFile),
            let given = try? JSONDecoder().decode([String].self, from: data)
        else { return }
        try? FileManager.default.removeItem(at: self.givenFile)
        await self.transfers.cancel()
        for id in given { await self.start(id) }
    }

    /// Removes every download, and the models that the user added.
    public func clear() async throws {
        for row in self.rows where !row.isBundled {
            if row.isAdded { try await self.remove(row.id) } else { await self.delete(row.id) }
        }
    }

    /// Whether a model seems too large for this device, by what its package says.
    public func estimate(_ id: String) -> MemoryEstimate {
        MemoryEstimate(
            estimatedBytes: self.row(id)?.entry.estimatedBytes,
            availableBytes: AvailableMemory.bytes())
    }

    /// The engine found a model's weights damaged.
    public func reportCorrupt(_ id: String, detail: String) async {
        await self.downloads[id]?.reportCorrupt(detail)
    }

    /// What the engine loads. Throws when the model is not ready.
    public func source(_ id: String) throws(ChatKitError) -> EngineHost.Source {
        guard let row = self.row(id) else { throw .noSuchModel(id) }
        let folder = self.folder(of: row.entry, isAdded: row.isAdded)
        guard row.isBundled || ModelFolder(folder).isReady else { throw .modelNotReady(id) }
        return EngineHost.Source(
            modelID: id, folder: folder.path, modelLib: row.entry.modelLib)
    }

    private func folder(of entry: ModelEntry, isAdded: Bool) -> URL {
        if let path = entry.path, !isAdded { return self.bundle.appendingPathComponent(path) }
        return self.models.appendingPathComponent(entry.modelID)
    }

    private func check(_ id: String, _ modelLib: String) throws {
        if self.row(id) != nil || self.copying.contains(id) {
            throw Fault("model_id", "'\(id)' is in the list already")
        }
        guard Names.isName(id) else {
            throw Fault("model_id", "must be a name of letters, digits, '.', '_' and '-'")
        }
        guard self.libraries.contains(modelLib) else { throw ChatKitError.noSuchLibrary(modelLib) }
    }

    private func keep(_ entry: ModelEntry) throws {
        self.added.append(entry)
        try self.writeAdded()
        self.show(entry, isAdded: true)
    }

    private func show(_ entry: ModelEntry, isAdded: Bool) {
        let isBundled = entry.path != nil && !isAdded
        let folder = ModelFolder(self.folder(of: entry, isAdded: isAdded))
        let state: DownloadState = isBundled || folder.isReady ? .ready : .absent
        self.rows.append(
            Row(
                entry: entry, isBundled: isBundled, isAdded: isAdded,
                download: DownloadSnapshot(state: state)))
        if isBundled { return }
        let download = ModelDownload(
            entry: entry, folder: folder, slots: self.slots, settings: self.settings)
        self.downloads[entry.modelID] = download
        self.listeners[entry.modelID] = Task { [weak self] in
            for await snapshot in await download.updates() {
                self?.take(snapshot, of: entry.modelID)
            }
        }
    }

    private func take(_ snapshot: DownloadSnapshot, of id: String) {
        guard let at = self.rows.firstIndex(where: { $0.id == id }) else { return }
        self.rows[at].download = snapshot
    }

    /// Written by ``writeAdded``; a damaged file is the same as none.
    private func readAdded() -> [ModelEntry] {
        guard let data = try? Data(contentsOf: self.addedFile) else { return [] }
        return (try? JSONDecoder().decode([ModelEntry].self, from: data)) ?? []
    }

    private func writeAdded() throws {
        try JSONEncoder().encode(self.added).write(to: self.addedFile, options: .atomic)
    }
}
