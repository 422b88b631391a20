import Foundation

/// How a model's download is now.
public struct DownloadSnapshot: Hashable, Sendable {
    public var state: DownloadState
    public var doneBytes = 0
    /// Nil until the index is there.
    public var totalBytes: Int?
    public var rate = RateMeter.Rate()
    /// Why it failed, or why it waits.
    public var reason: StopReason?
    /// More about the reason, such as the file.
    public var detail: String?

    public init(state: DownloadState) {
        self.state = state
    }

    /// From 0 to 1.
    public var fraction: Double? {
        guard let totalBytes, totalBytes > 0 else { return nil }
        return min(Double(self.doneBytes) / Double(totalBytes), 1)
    }
}

/// What a download needs to know of its surroundings.
public struct DownloadSettings: Sendable {
    /// A connection that is silent for so long counts as lost.
    public var stallSeconds = 30.0
    /// Waits before another try are multiplied by it; tests make it small.
    public var waitScale = 1.0
    /// How often the progress is told.
    public var tickSeconds = 0.25
    /// The free bytes of the volume of a folder; nil when unknown.
    public var freeBytes: @Sendable (URL) -> Int? = DownloadSettings.systemFreeBytes

    public init() {}

    public static func systemFreeBytes(_ folder: URL) -> Int? {
        let attributes = try? FileManager.default.attributesOfFileSystem(forPath: folder.path)
        return (attributes?[.systemFreeSize] as? NSNumber)?.intValue
    }
}
