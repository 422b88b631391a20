import MLCSwift

/// A model that the app can use: from `mlc-app-config.json`, or added by the user.
public struct ModelEntry: Hashable, Sendable, Codable, Identifiable {
    /// Its name, and its folder in the app's storage.
    public let modelID: String
    /// The name of its compiled library.
    public let modelLib: String
    /// The folder with its weights, inside the app's bundle.
    public let path: String?
    /// The address of its repository.
    public let url: String?
    public let estimatedBytes: Int?

    public var id: String { self.modelID }

    public init(
        modelID: String, modelLib: String, path: String? = nil, url: String? = nil,
        estimatedBytes: Int? = nil
    ) {
        self.modelID = modelID
        self.modelLib = modelLib
        self.path = path
        self.url = url
        self.estimatedBytes = estimatedBytes
    }

    enum CodingKeys: String, CodingKey {
        case modelID = "model_id"
        case modelLib = "model_lib"
        case path, url
        case estimatedBytes = "estimated_vram_bytes"
    }
}

/// An entry of the list that cannot be used.
public struct BadEntry: Hashable, Sendable {
    public let index: Int
    public let modelID: String?
    public let fault: Fault
}

/// The list of models in `mlc-app-config.json`.
public struct AppConfig: Hashable, Sendable {
    public private(set) var models: [ModelEntry] = []
    public private(set) var bad: [BadEntry] = []

    /// Reads the file's text. Throws if it has no list at all; bad entries are in `bad`.
    public init(text: String) throws(Fault) {
        guard let config = try? JSONValue(jsonText: text) else {
            throw Fault("", "mlc-app-config.json is not JSON")
        }
        guard case .array(let entries)? = config["model_list"] else {
            throw Fault("model_list", "must be a list of models")
        }
        for (index, entry) in entries.enumerated() { self.read(entry, at: index) }
    }

    private mutating func read(_ entry: JSONValue, at index: Int) {
        do throws(Fault) {
            let model = try EntryReader(entry).model()
            if self.models.contains(where: { $0.modelID == model.modelID }) {
                throw Fault("model_id", "is used twice")
            }
            self.models.append(model)
        } catch {
            let place = "model_list[\(index)]"
            let field = error.field.isEmpty ? place : "\(place).\(error.field)"
            self.bad.append(
                BadEntry(
                    index: index, modelID: entry["model_id"]?.stringValue,
                    fault: Fault(field, error.why)))
        }
    }
}

/// Reads one entry; the first fault is thrown.
private struct EntryReader {
    private let entry: JSONValue

    init(_ entry: JSONValue) throws(Fault) {
        guard entry.kind == .object else { throw Fault("", "must be an object") }
        self.entry = entry
    }

    func model() throws(Fault) -> ModelEntry {
        let id = try self.modelID()
        guard let library = self.entry["model_lib"]?.stringValue, !library.isEmpty else {
            throw Fault("model_lib", "must be a text that is not empty")
        }
        let (path, url) = try self.place()
        return ModelEntry(
            modelID: id, modelLib: library, path: path, url: url, estimatedBytes: try self.bytes())
    }

    private func modelID() throws(Fault) -> String {
        guard let id = self.entry["model_id"]?.stringValue, Names.isName(id) else {
            throw Fault("model_id", "must be a name of letters, digits, '.', '_' and '-'")
        }
        return id
    }

    private func place() throws(Fault) -> (path: String?, url: String?) {
        let path = self.entry["model_path"] ?? .null
        let url = self.entry["model_url"] ?? .null
        switch (path, url) {
        case (.null, .null):
            throw Fault("model_url", "is missing; give model_url or model_path")
        case (_, .null):
            guard let text = path.stringValue, Names.isInside(text) else {
                throw Fault("model_path", "must be a folder inside the app's bundle")
            }
            return (text, nil)
        case (.null, _):
            guard let text = url.stringValue, let found = Address.ofConfig(text) else {
                throw Fault(
                    "model_url", "must be https://host/owner/repository or HF://owner/repository")
            }
            return (nil, found)
        default:
            throw Fault("model_url", "give model_url or model_path, not both")
        }
    }

    private func bytes() throws(Fault) -> Int? {
        guard let value = self.entry["estimated_vram_bytes"], value != .null else { return nil }
        guard let bytes = value.intValue, bytes >= 0 else {
            throw Fault("estimated_vram_bytes", "must be a whole number of bytes")
        }
        return bytes
    }
}
