// The modifiers of views that MLCChat uses.

public struct Font: Sendable {
    public static let caption = Font(), caption2 = Font(), headline = Font(), callout = Font()
    public static let title2 = Font()

    public struct Weight: Sendable {
        public static let semibold = Weight(), regular = Weight()
    }
}
@MainActor public protocol ShapeStyle {}
public struct Color: ShapeStyle, Sendable {
    public func opacity(_ value: Double) -> Color { self }
}
public struct Hierarchy: ShapeStyle, Sendable {}
extension ShapeStyle where Self == Color {
    public static var red: Color { Color() }
    public static var yellow: Color { Color() }
    public static var secondary: Color { Color() }
}
extension ShapeStyle where Self == Hierarchy { public static var quaternary: Hierarchy { .init() } }
@MainActor public protocol Shape {}
public struct RoundedRectangle: Shape { public init(cornerRadius: Double) {} }
public enum TextFieldStyle { case roundedBorder }
public enum ButtonStyle { case bordered, borderedProminent }
public enum LabelStyle { case iconOnly }
public enum Edge {
    public struct Set: OptionSet, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }
        public static let leading = Set(rawValue: 1), all = Set(rawValue: 15)
    }
}
public enum TextAlignment { case leading, trailing }
public enum Selectability { case enabled }
public enum ChildBehavior { case combine, contain }
public struct KeyEquivalent: ExpressibleByExtendedGraphemeClusterLiteral, Sendable {
    public init(extendedGraphemeClusterLiteral: Character) {}
    public static let `return`: KeyEquivalent = "r"
}
public struct EventModifiers: Sendable { public static let command = EventModifiers() }

extension View {
    public func font(_ font: Font?) -> some View { self }
    public func foregroundStyle<S: ShapeStyle>(_ style: S) -> some View { self }
    public func background<S: ShapeStyle>(_ style: S) -> some View { self }
    public func background<S: ShapeStyle, T: Shape>(_ style: S, in shape: T) -> some View { self }
    public func padding(_ length: CGFloat) -> some View { self }
    public func padding(_ edges: Edge.Set = .all, _ length: CGFloat? = nil) -> some View { self }
    public func frame(maxWidth: Double?) -> some View { self }
    public func opacity(_ value: Double) -> some View { self }
    public func fontWeight(_ weight: Font.Weight?) -> some View { self }
    public func monospaced(_ isActive: Bool = true) -> some View { self }
    public func disabled(_ isDisabled: Bool) -> some View { self }
    public func tag<T: Hashable>(_ tag: T) -> some View { self }
    public func id<T: Hashable>(_ id: T) -> some View { self }
    public func lineLimit(_ limit: ClosedRange<Int>) -> some View { self }
    public func multilineTextAlignment(_ alignment: TextAlignment) -> some View { self }
    public func autocorrectionDisabled(_ isDisabled: Bool = true) -> some View { self }
    public func textSelection(_ selection: Selectability) -> some View { self }
    public func textFieldStyle(_ style: TextFieldStyle) -> some View { self }
    public func buttonStyle(_ style: ButtonStyle) -> some View { self }
    public func labelStyle(_ style: LabelStyle) -> some View { self }
    public func navigationTitle(_ text: Text) -> some View { self }
    public func accessibilityLabel(_ text: Text) -> some View { self }
    public func accessibilityElement(children: ChildBehavior) -> some View { self }
    public func keyboardShortcut(_ key: KeyEquivalent, modifiers: EventModifiers) -> some View {
        self
    }
    public func task(_ act: @escaping @MainActor @Sendable () async -> Void) -> some View { self }
    public func onAppear(perform: @escaping @MainActor () -> Void) -> some View { self }
    public func onDisappear(perform: @escaping @MainActor () -> Void) -> some View { self }
    public func onSubmit(_ act: @escaping @MainActor () -> Void) -> some View { self }
    public func onChange<V: Equatable>(
        of: V, initial: Bool = false, _ act: @escaping @MainActor (V, V) -> Void
    ) -> some View { self }
    public func searchable(text: Binding<String>, prompt: Text) -> some View { self }
    public func tabItem<V: View>(@ViewBuilder _ label: () -> V) -> some View { self }
    public func overlay<V: View>(@ViewBuilder content: () -> V) -> some View { self }
    public func contextMenu<V: View>(@ViewBuilder menuItems: () -> V) -> some View { self }
    public func swipeActions<V: View>(@ViewBuilder content: () -> V) -> some View { self }
    public func toolbar<V: View>(@ViewBuilder content: () -> V) -> some View { self }
    public func toolbar<C: ToolbarContent>(@ToolbarContentBuilder content: () -> C) -> some View {
        self
    }
    public func sheet<V: View>(
        isPresented: Binding<Bool>, @ViewBuilder content: @escaping () -> V
    ) -> some View { self }
    public func sheet<I: Identifiable, V: View>(
        item: Binding<I?>, @ViewBuilder content: @escaping (I) -> V
    ) -> some View { self }
    public func alert<A: View>(
        _ title: Text, isPresented: Binding<Bool>, @ViewBuilder actions: () -> A
    ) -> some View { self }
    public func alert<A: View, M: View>(
        _ title: Text, isPresented: Binding<Bool>, @ViewBuilder actions: () -> A,
        @ViewBuilder message: () -> M
    ) -> some View { self }
    public func fileImporter(
        isPresented: Binding<Bool>, allowedContentTypes: [UTType],
        onCompletion: @escaping @MainActor (Result<URL, any Error>) -> Void
    ) -> some View { self }
}
