import Foundation

/// Names that become folders and files.
enum Names {
    /// A single name: of a model, an owner or a repository.
    static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, text.utf8.count <= 128 else { return false }
        return isLetterOrDigit(first)
            && text.utf8.allSatisfy { isLetterOrDigit($0) || "._-".utf8.contains($0) }
    }

    /// A relative path that stays in its folder.
    static func isInside(_ path: String) -> Bool {
        let isPlain = path.unicodeScalars.allSatisfy { $0 != "\\" && $0 != ":" && $0.value >= 32 }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        return isPlain && parts.allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}

/// The address of a model's repository.
public enum Address {
    public static let hub = "https://huggingface.co"
    private static let prefix = "HF://"

    /// The repository that a user typed: `owner/repository`, `HF://...`, or a page of it.
    public static func typed(
        _ text: String, hub: String = hub
    ) throws(Fault) -> (url: String, modelID: String) {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        let isAddress = text.contains("://") && !text.hasPrefix(prefix)
        let repository = text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text
        let found =
            isAddress
            ? self.repository(in: text, morePartsAllowed: true)
            : self.repository(of: repository, at: hub)
        guard let found, let name = found.split(separator: "/").last else {
            throw Fault(
                "model_url",
                "must be owner/repository, HF://owner/repository or https://host/owner/repository")
        }
        return (found, String(name))
    }

    /// The address in an app's config; nil when it is none.
    static func ofConfig(_ text: String) -> String? {
        text.hasPrefix(prefix)
            ? self.repository(of: String(text.dropFirst(prefix.count)), at: hub)
            : self.repository(in: text, morePartsAllowed: false)
    }

    private static func repository(of text: String, at hub: String) -> String? {
        let names = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard names.count == 2, names.allSatisfy(Names.isName) else { return nil }
        return "\(hub)/\(names[0])/\(names[1])"
    }

    private static func repository(in address: String, morePartsAllowed: Bool) -> String? {
        guard let parts = URLComponents(string: address), let host = parts.host, !host.isEmpty
        else { return nil }
        let isHere = host == "127.0.0.1" || host == "localhost"
        guard parts.scheme == "https" || (parts.scheme == "http" && isHere) else { return nil }
        var names = parts.path.split(separator: "/").map(String.init)
        guard names.count == 2 || (morePartsAllowed && names.count > 2) else { return nil }
        if names[1].hasSuffix(".git") { names[1].removeLast(4) }
        let port = parts.port.map { ":\($0)" } ?? ""
        return self.repository(
            of: "\(names[0])/\(names[1])", at: "\(parts.scheme ?? "")://\(host)\(port)")
    }
}
