import MLCSwift

/// A file of a model, and what is known of it before the download.
public struct ModelFile: Hashable, Sendable, Codable {
    public let path: String
    public let bytes: Int?
    public let md5: String?

    public init(path: String, bytes: Int? = nil, md5: String? = nil) {
        self.path = path
        self.bytes = bytes
        self.md5 = md5
    }
}

/// The files of a model, in the order of the download.
public struct ModelFiles: Hashable, Sendable {
    public static let config = "mlc-chat-config.json"
    public static let indexes = ["tensor-cache.json", "ndarray-cache.json"]
    /// The part of a file that has arrived is kept under the file's name with this ending.
    static let partial = ".partial"
    /// So that the sum of all shards is a number.
    static let mostBytes = 1 << 40
    static let noIndex = Fault(
        "model_url", "has no tensor-cache.json: this is no model in MLC's format")

    public private(set) var files: [ModelFile]
    /// The sizes that the index names.
    public var knownBytes: Int { self.files.reduce(0) { $0 + ($1.bytes ?? 0) } }

    /// Reads the config and the index of a repository.
    public init(config: JSONValue, index: JSONValue, indexName: String) throws(Fault) {
        self.files = [ModelFile(path: Self.config), ModelFile(path: indexName)]
        try self.addTokenizer(config["tokenizer_files"] ?? .null)
        guard case .array(let records)? = index["records"], !records.isEmpty else {
            throw Fault("records", "must be a list of shards that is not empty")
        }
        var names: Set<String> = []
        for (at, record) in records.enumerated() {
            let shard = try Self.shard(record, "records[\(at)]")
            guard names.insert(shard.path).inserted else {
                throw Fault("records[\(at)].dataPath", "is used twice")
            }
            self.files.append(shard)
        }
    }

    /// Which name of the index is asked for next, from the statuses so far; nil: no further one.
    static func nextIndex(_ statuses: [String: Int]) -> (next: String?, index: String?) {
        for name in Self.indexes {
            guard let status = statuses[name] else { return (name, nil) }
            if status == 200 { return (nil, name) }
        }
        return (nil, nil)
    }

    private mutating func addTokenizer(_ names: JSONValue) throws(Fault) {
        if names == .null { return }
        guard case .array(let names) = names else {
            throw Fault("tokenizer_files", "must be a list of names")
        }
        for (at, name) in names.enumerated() {
            let path = try Self.path(name, "tokenizer_files[\(at)]")
            if !self.files.contains(where: { $0.path == path }) {
                self.files.append(ModelFile(path: path))
            }
        }
    }

    private static func shard(_ record: JSONValue, _ place: String) throws(Fault) -> ModelFile {
        guard record.kind == .object else { throw Fault(place, "must be an object") }
        let path = try self.path(record["dataPath"] ?? .null, "\(place).dataPath")
        guard let bytes = record["nbytes"]?.intValue, (1...Self.mostBytes).contains(bytes)
        else {
            throw Fault(
                "\(place).nbytes", "must be a number of bytes from 1 to \(Self.mostBytes)")
        }
        guard let sum = record["md5sum"], sum != .null else {
            return ModelFile(path: path, bytes: bytes)
        }
        guard let text = sum.stringValue?.lowercased(), text.utf8.count == 32,
            text.utf8.allSatisfy({ "0123456789abcdef".utf8.contains($0) })
        else {
            throw Fault("\(place).md5sum", "must be an MD5 sum of 32 hexadecimal digits")
        }
        return ModelFile(path: path, bytes: bytes, md5: text)
    }

    private static func path(_ value: JSONValue, _ place: String) throws(Fault) -> String {
        guard let path = value.stringValue, Names.isInside(path), !path.hasSuffix(Self.partial)
        else { throw Fault(place, "must be the name of a file inside the model's folder") }
        return path
    }
}
