import Foundation

/// The chats in the app's storage: a file each, so that a damaged one loses no other.
public actor ChatStore {
    private let folder: URL

    /// - Parameter folder: made when it is not there.
    public init(folder: URL) {
        self.folder = folder
    }

    /// All chats, the newest first, and the names of the files that cannot be read.
    public func load() throws -> (chats: [SavedChat], unreadable: [String]) {
        try self.makeFolder()
        let names = try FileManager.default.contentsOfDirectory(atPath: self.folder.path).sorted()
        var chats: [SavedChat] = []
        var unreadable: [String] = []
        for name in names where name.hasSuffix(".json") {
            let file = self.folder.appendingPathComponent(name)
            if let data = try? Data(contentsOf: file),
                let chat = try? JSONDecoder().decode(SavedChat.self, from: data),
                chat.version == SavedChat.currentVersion
            {
                chats.append(chat)
            } else {
                unreadable.append(name)
            }
        }
        return (chats.sorted { $0.updated > $1.updated }, unreadable)
    }

    public func save(_ chat: SavedChat) throws {
        try self.makeFolder()
        try JSONEncoder().encode(chat).write(to: try self.file(of: chat.id), options: .atomic)
    }

    public func delete(_ id: String) throws {
        let file = try self.file(of: id)
        guard FileManager.default.fileExists(atPath: file.path) else { return }
        try FileManager.default.removeItem(at: file)
    }

    private func makeFolder() throws {
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
    }

    /// An id of an imported chat may be any text.
    private func file(of id: String) throws(Fault) -> URL {
        guard Names.isName(id) else { throw Fault("id", "must be a name of letters and digits") }
        return self.folder.appendingPathComponent(id + ".json")
    }
}
