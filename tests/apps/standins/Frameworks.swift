// Names of other frameworks that MLCChat uses: of Foundation where Linux lacks them, of
// UniformTypeIdentifiers, CoreTransferable, PhotosUI and AppKit.

public struct UTType: Sendable {
    public static let folder = UTType(), data = UTType()
}
extension String {
    public init(localized key: LocalizedStringKey) { self = "" }
}
extension AttributedString {
    public struct MarkdownParsingOptions {
        public enum InterpretedSyntax { case inlineOnlyPreservingWhitespace }
        public init(interpretedSyntax: InterpretedSyntax) {}
    }
    public init(markdown: String, options: MarkdownParsingOptions) throws { self.init(markdown) }
}
extension ProcessInfo {
    public enum ThermalState: Int, Sendable { case nominal, fair, serious, critical }
    public var thermalState: ThermalState { .nominal }
    public static let thermalStateDidChangeNotification = Notification.Name("thermal")
}
extension URL {
    public func startAccessingSecurityScopedResource() -> Bool { true }
    public func stopAccessingSecurityScopedResource() {}
}

public protocol TransferRepresentation: Sendable {}
public protocol Transferable: Sendable {
    associatedtype Representation: TransferRepresentation
    static var transferRepresentation: Representation { get }
}
extension Data: Transferable {
    public static var transferRepresentation: FileRepresentation<Data> { fatalError() }
}
public struct SentTransferredFile: Sendable { public init(_ file: URL) {} }
public struct FileRepresentation<Item: Transferable>: TransferRepresentation {
    public init(
        exportedContentType: UTType,
        exporting: @escaping @Sendable (Item) async throws -> SentTransferredFile
    ) {}
}
public struct SharePreview: Sendable { public init(_ title: Text) {} }
public struct ShareLink<Item: Transferable, L: View>: Primitive {
    public init(item: Item, preview: SharePreview, @ViewBuilder label: () -> L) {}
}

public struct PhotosPickerItem: Equatable, Sendable {
    public func loadTransferable<T: Transferable>(type: T.Type) async throws -> T? { nil }
}
public struct PHPickerFilter: Sendable { public static let images = PHPickerFilter() }
public struct PhotosPicker<L: View>: Primitive {
    public init(
        selection: Binding<PhotosPickerItem?>, matching: PHPickerFilter?,
        @ViewBuilder label: () -> L
    ) {}
}

@MainActor public final class NSPasteboard {
    public enum PasteboardType { case string }
    public static let general = NSPasteboard()
    @discardableResult public func clearContents() -> Int { 0 }
    @discardableResult public func setString(_ text: String, forType: PasteboardType) -> Bool {
        true
    }
}
